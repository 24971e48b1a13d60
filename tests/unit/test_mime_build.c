/*
 * mime_build: the shape of messages, and texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>

#include "core/base/str.h"
#include "core/address/addr_header.h"
#include "core/compose/mime_build.h"
#include "tests/unit/mime_sample.h"

#define X10  "xxxxxxxxxx"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10
#define X998                                                                                       \
	X100 X100 X100 X100 X100 X100 X100 X100 X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 "xxxxxxxx"

static void test_shapes(void **state)
{
	static const struct {
		const char *text, *html;
		int attachments, inlines;
		const char *shape;
	} cases[] = {
		{"t", NULL, 0, 0, "plain"},
		{"t", "", 0, 0, "plain"},
		{NULL, "h", 0, 0, "html"},
		{"", "h", 0, 0, "html"},
		{NULL, NULL, 0, 0, "plain"},
		{"t", "h", 0, 0, "alternative(plain html)"},
		{"t", NULL, 1, 0, "mixed(plain pdf)"},
		{NULL, "h", 2, 0, "mixed(html pdf pdf)"},
		{NULL, NULL, 1, 0, "mixed(plain pdf)"},
		{"t", "h", 1, 0, "mixed(alternative(plain html) pdf)"},
		{NULL, "h", 0, 1, "related(html png)"},
		{"t", "h", 0, 2, "related(alternative(plain html) png png)"},
		{"t", "h", 1, 1, "mixed(related(alternative(plain html) png) pdf)"},
		{NULL, "h", 2, 1, "mixed(related(html png) pdf pdf)"},
		{"t", NULL, 0, 1, "mixed(plain png)"},
		{"t", NULL, 1, 1, "mixed(plain pdf png)"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		_cleanup_buf_ struct buf shape = BUF_INIT;
		GMimeMessage *parsed;

		mime_sample_fill(&message);
		message.text = mem_strdup(cases[i].text);
		message.html = mem_strdup(cases[i].html);
		for (int n = 0; n < cases[i].attachments; n++)
			mime_sample_attach(&message, "x.pdf", NULL, "x", 1);
		for (int n = 0; n < cases[i].inlines; n++)
			mime_sample_attach(&message, "x.png", NULL, "x", 1)->content_id =
				mem_strdup("cid");
		parsed = mime_sample_build(&message, &out);
		mime_sample_shape(mime_sample_part(parsed, ""), &shape);
		assert_string_equal(shape.data, cases[i].shape);
		g_object_unref(parsed);
	}
}

/* multipart/related must say what its root is. */
static void test_related_type(void **state)
{
	(void)state;
	for (int both = 0; both < 2; both++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		GMimeMessage *parsed;

		mime_sample_fill(&message);
		message.html = mem_strdup("h");
		message.text = mem_strdup(both ? "t" : NULL);
		mime_sample_attach(&message, "x.png", NULL, "x", 1)->content_id = mem_strdup("cid");
		parsed = mime_sample_build(&message, &out);
		assert_string_equal(g_mime_object_get_content_type_parameter(
					    mime_sample_part(parsed, ""), "type"),
			both ? "multipart/alternative" : "text/html");
		g_object_unref(parsed);
	}
}

static const struct text_case {
	const char *text, *encoding;
	const char *wanted; /* NULL: text */
} text_cases[] = {
	{"hello\n", "7bit", NULL},
	{"hello", "7bit", "hello\n"},
	{"a\r\nb\r\n", "7bit", "a\nb\n"},
	{"a\rb\r", "7bit", "a\nb\n"},
	{"a\r\r\nb\n\r", "7bit", "a\n\nb\n\n"},
	{"\n", "7bit", NULL},
	{"\n\n\n", "7bit", NULL},
	{"a\n\n\n", "7bit", NULL},
	{"tab\tand blank \nx\t\n", "7bit", NULL},
	{"..\n.x\n", "7bit", NULL},
	{"--\nsignature\n", "7bit", NULL},
	{"= =20 =?x?=\n", "7bit", NULL},
	{X998 "\n", "7bit", NULL},
	{X998 "x\n", "quoted-printable", NULL},
	{".\n", "quoted-printable", NULL},
	{"a\n.\nb\n", "quoted-printable", NULL},
	{"From here\n", "quoted-printable", NULL},
	{"a\nFrom here\nFrom\n", "quoted-printable", NULL},
	{"Zo\xc3\xab says hi, and says it in many words\n", "quoted-printable", NULL},
	{"bell \x07 rings in the night\n", "quoted-printable", NULL},
	{"form\x0c"
	 "feed in a longer text\n",
		"quoted-printable", NULL},
	{"\xc3\xa9 trailing blank \nand tab\t\n and more text\n", "quoted-printable", NULL},
	{"\xc3\xa9" X998 X998 "\n", "quoted-printable", NULL},
	{"日本語の本文です。\n改行もあります。\n", "base64",
		"日本語の本文です。\r\n改行もあります。\r\n"},
	{"日本語", "base64", "日本語\r\n"},
	{"😀\r\n😀", "base64", "😀\r\n😀\r\n"},
};

/* As the only part, and as each of two. */
static void check_text(const struct text_case *it, int parts)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	GMimeMessage *parsed;

	mime_sample_fill(&message);
	message.text = mem_strdup(it->text);
	message.html = mem_strdup(parts == 2 ? it->text : NULL);
	parsed = mime_sample_build(&message, &out);
	for (int i = 0; i < parts; i++) {
		GMimeObject *part = mime_sample_part(parsed, parts == 1 ? "" : i == 0 ? "0" : "1");
		_cleanup_buf_ struct buf content = BUF_INIT;

		mime_sample_content(part, &content);
		assert_string_equal(buf_str(&content), it->wanted ? it->wanted : it->text);
		assert_string_equal(
			g_mime_object_get_header(part, "Content-Transfer-Encoding"), it->encoding);
		assert_string_equal(
			g_mime_object_get_content_type_parameter(part, "charset"), "utf-8");
	}
	g_object_unref(parsed);
}

static void test_texts(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(text_cases); i++) {
		check_text(&text_cases[i], 1);
		check_text(&text_cases[i], 2);
	}
}

/* Quoted-printable at every length of line, with what must be encoded at every
 * place of it. */
static void test_quoted_lengths(void **state)
{
	static const char *const tails[] = {
		"", " ", "\t", "=", "\xc3\xa9", ".", ". ", "From x", "From "};

	(void)state;
	for (size_t len = 0; len < 160; len++) {
		for (size_t i = 0; i < ARRAY_SIZE(tails); i++) {
			_cleanup_buf_ struct buf text = BUF_INIT;
			struct text_case it = {.encoding = "quoted-printable"};

			/* Force the encoding, but not base64. */
			buf_add_str(&text, ".\n" X100 "\n");
			for (size_t n = 0; n < len; n++)
				buf_add_char(&text, 'x');
			buf_add_str(&text, tails[i]);
			buf_add_str(&text, "\n");
			it.text = text.data;
			check_text(&it, 1);
		}
	}
}

static void check_quoted_lines(const char *body)
{
	while (*body) {
		size_t len = strcspn(body, "\n");

		assert_true(len <= 76);
		assert_false(body[0] == '.');
		assert_false(str_starts(body, "From "));
		if (len > 0)
			assert_null(strchr(" \t", body[len - 1]));
		body += len + (body[len] == '\n');
	}
}

static void test_quoted_lines(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_buf_ struct buf text = BUF_INIT;

	(void)state;
	for (int i = 0; i < 200; i++)
		buf_printf(&text, "%.*s.From From .From \n.\nFrom \n", i, X100 X100);
	mime_sample_fill(&message);
	message.text = mem_strdup(text.data);
	g_object_unref(mime_sample_build(&message, &out));
	check_quoted_lines(strstr(out.data, "\n\n") + 2);
}

static void test_bad_utf8(void **state)
{
	(void)state;
	for (int html = 0; html < 2; html++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;

		mime_sample_fill(&message);
		*(html ? &message.html : &message.text) = mem_strdup("\xff");
		assert_int_equal(mime_build(&message, &out, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_string_equal(
			err.text, html ? "the html is not UTF-8" : "the text is not UTF-8");
		assert_int_equal(out.len, 0);
	}
}

/* Boundaries are new each time and stand nowhere in the content. */
static void test_boundaries(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf first = BUF_INIT;
	_cleanup_buf_ struct buf second = BUF_INIT;

	(void)state;
	mime_sample_fill(&message);
	message.text = mem_strdup("--=_\n--\n--=_x--\n");
	message.html = mem_strdup("h");
	g_object_unref(mime_sample_build(&message, &first));
	g_object_unref(mime_sample_build(&message, &second));
	assert_string_not_equal(first.data, second.data);
	assert_int_equal(first.len, second.len);
}

enum { THREADS = 4, ROUNDS = 100 };

static void *build_many(void *arg)
{
	size_t failures = 0;

	for (int i = 0; i < ROUNDS; i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		_cleanup_addr_header_ struct addr_header header;

		if (addr_parse("=?utf-8?q?Zo=C3=AB?= <a@bücher.example>", &message.from, NULL) < 0)
			failures++;
		message.message_id = mem_strdup("<id@example.com>");
		message.subject = mem_strdup("日本語");
		message.text = mem_strdup("Zoë ist da, und wir sind es auch");
		mime_sample_attach(&message, "ü.pdf", NULL, "x", 1);
		if (mime_build(&message, &out, NULL) < 0)
			failures++;
		addr_header_read("G: a@x.com, =?utf-8?q?b=40y.com?=;", &header);
		if (header.domains.n != 2)
			failures++;
	}
	*(size_t *)arg = failures;
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	size_t failures[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, build_many, &failures[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(failures[i], 0);
	}
}

/* Lists keep what is in them while they grow. */
static void test_lists(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		struct header *header = mime_message_add_header(&message);
		struct addr *addr = addr_list_add(&message.cc);

		assert_null(header->name);
		assert_null(addr->local);
		assert_null(mime_message_add_attachment(&message)->filename);
		header->name = mem_printf("%zu", i);
		addr->local = mem_printf("%zu", i);
	}
	assert_int_equal(message.headers.n, 100);
	assert_int_equal(message.attachments.n, 100);
	assert_int_equal(message.cc.n, 100);
	for (size_t i = 0; i < 100; i++) {
		_cleanup_free_ char *text = mem_printf("%zu", i);

		assert_string_equal(message.headers.items[i].name, text);
		assert_string_equal(message.cc.items[i].local, text);
	}
	mime_message_clear(&message);
	assert_int_equal(message.headers.n, 0);
	assert_null(message.headers.items);
}

/* Puts something of 1000 bytes into a member. */
static void fill_member(struct mime_message *message, size_t i)
{
	const struct mime_member *member = &mime_message_members[i];
	void *at = (char *)message + member->offset;
	struct addr *addr = at;
	struct header *header;

	switch (member->kind) {
	case MIME_ADDRS:
		addr = addr_list_add(at);
		/* fallthrough */
	case MIME_ADDR:
		addr->name = mem_strdup(X998 "xx");
		addr->local = mem_strdup("a");
		addr->domain = mem_strdup("b.test");
		break;
	case MIME_TEXT:
		*(char **)at = mem_strdup(X998 "xx");
		break;
	case MIME_HEADERS:
		header = mime_message_add_header(message);
		header->name = mem_strdup("X-A");
		header->value = mem_strdup(X998 "xx");
		break;
	case MIME_ATTACHMENTS:
		mime_sample_attach(message, NULL, NULL, X998 "xx", 1000);
		break;
	case MIME_BYTES:
		buf_add_str(at, X998 "xx");
	}
}

/* Of every member that the message has: its size, its copy, its end. */
static void test_members(void **state)
{
	(void)state;
	for (size_t i = 0; i < MIME_MESSAGE_N; i++) {
		const struct mime_member *member = &mime_message_members[i];
		struct mime_message message = {0}, copy;
		const struct mime_message none = {0};

		fill_member(&message, i);
		assert_in_range(mime_member_size(member, &message), 1000, 1500);
		mime_message_copy_texts(&message, &copy);
		assert_int_equal(
			mime_member_size(member, &copy), mime_member_size(member, &message));
		if (mime_message_text(&message, i)) {
			assert_ptr_not_equal(
				*mime_message_text(&message, i), *mime_message_text(&copy, i));
			assert_string_equal(
				*mime_message_text(&message, i), *mime_message_text(&copy, i));
		}
		mime_message_clear_texts(&copy);
		mime_message_clear(&message);
		assert_memory_equal(&message, &none, sizeof(none));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads), /* first: nothing is ready */
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_related_type),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_quoted_lengths),
		cmocka_unit_test(test_quoted_lines),
		cmocka_unit_test(test_bad_utf8),
		cmocka_unit_test(test_boundaries),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
