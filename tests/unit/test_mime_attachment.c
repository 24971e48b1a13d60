/*
 * mime_build: attachments arrive byte for byte, under their names and types.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/str.h"
#include "core/compose/mime_build.h"
#include "core/mime/mime_gmime.h"
#include "tests/unit/mime_sample.h"

#define X10  "xxxxxxxxxx"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10

/* Builds a message with the attachment alone; its part is "1". */
static GMimeMessage *build_one(
	const char *filename, const char *type, const char *data, size_t len, struct buf *out)
{
	_cleanup_mime_message_ struct mime_message message = {0};

	mime_sample_fill(&message);
	message.text = mem_strdup("see attachment");
	mime_sample_attach(&message, filename, type, data, len);
	return mime_sample_build(&message, out);
}

static void check_bytes(const char *type, const char *data, size_t len)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_buf_ struct buf content = BUF_INIT;
	GMimeMessage *parsed = build_one("x.bin", type, data, len, &out);

	mime_sample_content(mime_sample_part(parsed, "1"), &content);
	assert_int_equal(content.len, len);
	assert_memory_equal(buf_str(&content), data, len);
	g_object_unref(parsed);
}

static void test_bytes(void **state)
{
	static const struct {
		const char *data;
		size_t len;
	} cases[] = {
#define BYTES(text) {text, sizeof(text) - 1}
		BYTES(""),
		BYTES("\0"),
		BYTES("\n"),
		BYTES("\r\n"),
		BYTES("a\nb\r\nc\rd"),
		BYTES("no line break"),
		BYTES("From here\n.\n..\nFrom \n"),
		BYTES("\xff\xfe\0\0\x80\x7f"),
		BYTES("trailing \t \n \n"),
		BYTES("--=_\n--\n"),
		BYTES("Content-Type: text/html\n\n<p>"),
#undef BYTES
	};
	static const char *const types[] = {NULL, "text/plain", "text/html", "application/json",
		"message/rfc822", "message/delivery-status", "multipart/mixed; boundary=x",
		"text/plain; charset=utf-16"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t j = 0; j < ARRAY_SIZE(types); j++)
			if (j != 4) /* see test_embedded */
				check_bytes(types[j], cases[i].data, cases[i].len);
}

/* Every length around those of base64 lines. */
static void test_lengths(void **state)
{
	char data[260];

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)i;
	for (size_t len = 0; len <= sizeof(data); len++)
		check_bytes(NULL, data, len);
}

static void test_large(void **state)
{
	enum { LARGE = 25 * 1024 * 1024 };
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_buf_ struct buf content = BUF_INIT;
	struct attachment *attachment;
	GMimeMessage *parsed;
	char *to;

	(void)state;
	mime_sample_fill(&message);
	attachment = mime_sample_attach(&message, "x.bin", NULL, "", 0);
	to = buf_reserve(&attachment->content, LARGE);
	for (size_t i = 0; i < LARGE; i++)
		to[i] = (char)(i * 7919 >> 5);
	buf_wrote(&attachment->content, LARGE);
	parsed = mime_sample_build(&message, &out);
	mime_sample_content(mime_sample_part(parsed, "1"), &content);
	assert_int_equal(content.len, LARGE);
	assert_memory_equal(content.data, attachment->content.data, LARGE);
	g_object_unref(parsed);
}

static void test_filenames(void **state)
{
	static const char *const names[] = {"x.pdf", "two words.pdf", "quo\"te.pdf",
		"back\\slash.pdf", "semi;colon=.pdf", "a'b%20.pdf", "Größe.pdf",
		"日本語のファイル.pdf", "😀.png", "../../etc/passwd", X10 X10 X10 X10 X10 X10,
		X10 X10 X10 X10 X10 X10 "x", X100 X100 X100, "tab\t.pdf",
		"日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語.pdf",
		"é" X100 "é" X100, " blanks ", "."};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;
		GMimeMessage *parsed = build_one(names[i], NULL, "x", 1, &out);
		GMimeObject *part = mime_sample_part(parsed, "1");
		const char *name = g_mime_object_get_content_type_parameter(part, "name");
		char *decoded = g_mime_utils_header_decode_text(NULL, name);

		assert_string_equal(
			g_mime_object_get_content_disposition_parameter(part, "filename"),
			names[i]);
		assert_string_equal(decoded, names[i]);
		assert_string_equal(g_mime_object_get_disposition(part), "attachment");
		g_free(decoded);
		g_object_unref(parsed);
	}
}

/* GMime would decode this one whatever stands around it; others would not. */
static void test_filename_like_word(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	g_object_unref(build_one("=?utf-8?q?x?=", NULL, "x", 1, &out));
	assert_non_null(strstr(out.data, " filename*=UTF-8''%3D%3Futf-8%3Fq%3Fx%3F%3D\n"));
}

static void test_no_filename(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	GMimeMessage *parsed = build_one("", NULL, "x", 1, &out);
	GMimeObject *part = mime_sample_part(parsed, "1");

	(void)state;
	assert_null(g_mime_object_get_content_disposition_parameter(part, "filename"));
	assert_null(g_mime_object_get_content_type_parameter(part, "name"));
	g_object_unref(parsed);
}

static void test_types(void **state)
{
	static const struct {
		const char *filename, *given;
		const char *type; /* how it must stand in the message */
	} cases[] = {
		{"x.pdf", NULL, "application/pdf"},
		{"x.PDF", "", "application/pdf"},
		{"x.tar.gz", NULL, "application/gzip"},
		{"x", NULL, "application/octet-stream"},
		{"x.", NULL, "application/octet-stream"},
		{"x.unknown", NULL, "application/octet-stream"},
		{"pdf", NULL, "application/octet-stream"},
		{"x.pdf", "image/png", "image/png"},
		{"x", "IMAGE/Png", "image/png"},
		{"x", "application/vnd.a+b.c-d_e", "application/vnd.a+b.c-d_e"},
		{"x", " text/csv ; charset=utf-8 ; header=present",
			"text/csv; charset=utf-8; header=present"},
		{"x", "text/plain;", "text/plain"},
		{"x", "text/plain; charset=\"utf-8\"", "text/plain; charset=\"utf-8\""},
		{"x", "text/plain; a=\"b; c=\\\"d\\\"\"", "text/plain; a=\"b; c=\\\"d\\\"\""},
		{"x", "text/calendar; method=REQUEST", "text/calendar; method=REQUEST"},
		{"x", "text/plain; name=other.txt; NAME*=x", "text/plain"},
		{"x", "multipart/mixed; boundary=b", "application/octet-stream"},
		{"x", "message/partial; id=x", "application/octet-stream"},
		{"x", "Message/External-Body", "application/octet-stream"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;
		_cleanup_free_ char *wanted = mem_printf(
			"\nContent-Type: %s; name=\"%s\"\n", cases[i].type, cases[i].filename);

		g_object_unref(build_one(cases[i].filename, cases[i].given, "x", 1, &out));
		if (strstr(out.data, wanted) == NULL)
			fail_msg("%s", out.data);
	}
}

static void test_bad_types(void **state)
{
	static const char *const types[] = {"pdf", "/", "a/", "/b", "a/b/c", "a b/c",
		"text/plain charset=x", "text/plain; charset",
		"text/plain; charset=", "text/plain; =x", "text/plain; a=\"b", "text/plain; a=b c",
		"text/plain; a b=c", "text/plain (comment)", "text/plain\r\nX: y", "text/é",
		"text/plain; a=é", "text/plain; a=\"\n\"", "text/<b>", "t/" X100 X100,
		"text/plain;;", "*", "text/plain; a=\"b\"c", "text/plain, image/png",
		"text/plain; a=\"\\"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;

		mime_sample_fill(&message);
		mime_sample_attach(&message, NULL, NULL, "x", 1);
		mime_sample_attach(&message, NULL, types[i], "x", 1);
		if (mime_build(&message, &out, &err) == 0)
			fail_msg("accepted: %s", types[i]);
		assert_int_equal(err.code, ERR_INVALID);
		assert_true(str_starts(err.text, "attachments[1]: \""));
		assert_int_equal(out.len, 0);
	}
}

static void test_long_params(void **state)
{
	_cleanup_buf_ struct buf type = BUF_INIT;
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	buf_add_str(&type, "text/plain");
	for (int i = 0; i < 100; i++)
		buf_printf(&type, ";p%d=\"" X100 "\"", i);
	g_object_unref(build_one("x", type.data, "x", 1, &out));
	assert_non_null(strstr(out.data, " p99=\"" X100 "\""));
}

/* Postfix would cut the field. */
static void test_huge_type(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf type = BUF_INIT, out = BUF_INIT;
	struct err err = ERR_INIT;

	(void)state;
	buf_add_str(&type, "text/plain");
	while (type.len <= 40000)
		buf_add_str(&type, "; a=b");
	mime_sample_fill(&message);
	mime_sample_attach(&message, "x", type.data, "x", 1);
	assert_int_equal(mime_build(&message, &out, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_string_equal(
		err.text, "attachments[0]: the content type is longer than 40000 bytes");
}

static void test_refused(void **state)
{
	static const struct {
		const char *filename, *content_id, *why;
	} cases[] = {
		{"a\nb", NULL, "attachments[0]: the filename"},
		{"a\r", NULL, "attachments[0]: the filename"},
		{"\xff", NULL, "attachments[0]: the filename"},
		{"\x1b", NULL, "attachments[0]: the filename"},
		{"x", "a b", "attachments[0]: the content id"},
		{"x", "a\nb", "attachments[0]: the content id"},
		{"x", "<a>", "attachments[0]: the content id"},
		{"x", "é", "attachments[0]: the content id"},
		{"x", X100 X100 X100 X100 X100 X100 X100 X100 X100 X100,
			"attachments[0]: the content id is longer"},
		{X100 X100 X100 X100 X100 X100 X100 X100 X100 X100 "x", NULL,
			"attachments[0]: the filename is longer"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;

		mime_sample_fill(&message);
		message.html = mem_strdup("h");
		mime_sample_attach(&message, cases[i].filename, NULL, "x", 1)->content_id =
			mem_strdup(cases[i].content_id);
		assert_int_equal(mime_build(&message, &out, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		if (!str_starts(err.text, cases[i].why))
			fail_msg("%s", err.text);
	}
}

static void test_inline(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	GMimeMessage *parsed;
	GMimeObject *part;

	(void)state;
	mime_sample_fill(&message);
	message.html = mem_strdup("<img src=\"cid:logo@x\">");
	mime_sample_attach(&message, "ordinary.txt", NULL, "x", 1);
	mime_sample_attach(&message, "logo.png", NULL, "\x89PNG", 4)->content_id = mem_strdup(
		"logo@x");
	mime_sample_attach(&message, "empty id.txt", NULL, "x", 1)->content_id = mem_strdup("");
	parsed = mime_sample_build(&message, &out);
	part = mime_sample_part(parsed, "01");
	assert_string_equal(g_mime_object_get_content_id(part), "logo@x");
	assert_string_equal(g_mime_object_get_disposition(part), "inline");
	part = mime_sample_part(parsed, "1");
	assert_string_equal(g_mime_object_get_disposition(part), "attachment");
	assert_null(g_mime_object_get_content_id(part));
	assert_null(g_mime_object_get_content_id(mime_sample_part(parsed, "2")));
	g_object_unref(parsed);
}

/* A message inside the message: never encoded, and never damaged. */
static void test_embedded(void **state)
{
	static const struct {
		const char *content;
		bool embedded;
	} cases[] = {
		{"Subject: inner\n\nbody\n", true},
		{"Subject: inner\n\nbody", true},
		{"Subject: inner\r\n\r\nbody\r\n", true},
		{"Subject: inner\n\nb\xc3\xb6"
		 "dy\n",
			false},
		{"Subject: inner\r\n\nbody\n", false},
		{"Subject: inner\n\nbo\rdy\n", false},
		{"Subject: inner\n\rbody\r\n", false},
		{"Subject: inner\n\n.\n", false},
		{"Subject: inner\n\nFrom x\n", false},
		{"From x\nSubject: inner\n\nx\n", false},
		{"", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;
		_cleanup_buf_ struct buf content = BUF_INIT;
		GMimeMessage *parsed = build_one(
			"x.eml", NULL, cases[i].content, strlen(cases[i].content), &out);
		GMimeObject *part = mime_sample_part(parsed, "1");

		assert_int_equal(GMIME_IS_MESSAGE_PART(part), cases[i].embedded);
		if (cases[i].embedded) {
			assert_string_equal(
				g_mime_message_get_subject(
					g_mime_message_part_get_message(GMIME_MESSAGE_PART(part))),
				"inner");
			assert_non_null(
				strstr(out.data, "Encoding: 7bit\n\nSubject: inner\n\nbody"));
		} else {
			mime_sample_content(part, &content);
			assert_string_equal(buf_str(&content), cases[i].content);
		}
		g_object_unref(parsed);
	}
}

/* Postfix would cut a field that is longer, of a message inside too. */
static void test_embedded_long_field(void **state)
{
	static const struct {
		const char *start;
		size_t len; /* of the field, or what goes on like one */
		bool embedded;
	} cases[] = {
		{"To:", 60000, true},
		{"To:", 60001, false},
		{"To :", 60001, false},
		{"Subject: inner\n\nFrom: innermost\nTo:", 60001, false},
		{"Subject: inner\n\nat com.example.Main\n at:", 60001, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf content = BUF_INIT, out = BUF_INIT;
		size_t end = strlen(cases[i].start) - 3 + cases[i].len;
		GMimeObject *part;
		GMimeMessage *parsed;

		buf_add_str(&content, cases[i].start);
		while (content.len + 100 < end)
			buf_printf(&content, " %97d,\n", 1);
		buf_printf(&content, " %*d\n", (int)(end - content.len - 2), 1);
		buf_add_str(&content, "X-Next: 1\n\nbody\n");
		parsed = build_one("a.eml", "message/rfc822", content.data, content.len, &out);
		part = mime_sample_part(parsed, "1");
		assert_int_equal(GMIME_IS_MESSAGE_PART(part), cases[i].embedded);
		g_object_unref(parsed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_filenames),
		cmocka_unit_test(test_filename_like_word),
		cmocka_unit_test(test_no_filename),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_bad_types),
		cmocka_unit_test(test_long_params),
		cmocka_unit_test(test_huge_type),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_inline),
		cmocka_unit_test(test_embedded),
		cmocka_unit_test(test_embedded_long_field),
	};

	mime_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
