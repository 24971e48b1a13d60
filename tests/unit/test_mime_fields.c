/*
 * mime_fields: header fields come out as they went in, within the limits of
 * RFC 5322.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/str.h"
#include "core/compose/mime_build.h"
#include "core/mime/mime_gmime.h"
#include "tests/unit/mime_sample.h"

static void test_whole(void **state)
{
	static const char wanted[] =
		"From: Acme <hello@example.com>\n"
		"Reply-To: r@dst.example\n"
		"Cc: c@dst.example\n"
		"To: a@dst.example, \"Doe, John\" <j@dst.example>\n"
		"Subject: hi\n"
		"Date: Sat, 21 Nov 2026 02:43:18 +0000\n"
		"Message-ID: <id@example.com>\n"
		"MIME-Version: 1.0\n"
		"X-Custom: yes\n"
		"Content-Type: text/plain; charset=utf-8\n"
		"Content-Transfer-Encoding: 7bit\n"
		"\n"
		"text\n";
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	mime_sample_fill(&message);
	mime_sample_addr(&message.to, "\"Doe, John\" <j@dst.example>");
	mime_sample_addr(&message.cc, "c@dst.example");
	mime_sample_addr(&message.reply_to, "r@dst.example");
	mime_sample_header(&message, "X-Custom", "yes");
	message.subject = mem_strdup("hi");
	message.text = mem_strdup("text");
	buf_add_str(&out, "X-First: 1\n");
	assert_int_equal(mime_build(&message, &out, NULL), 0);
	assert_true(str_starts(out.data, "X-First: 1\n"));
	assert_string_equal(out.data + strlen("X-First: 1\n"), wanted);
}

static void test_absent(void **state)
{
	static const char *const names[] = {"To", "Cc", "Bcc", "Reply-To", "Subject"};
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	mime_sample_fill(&message);
	addr_clear(&message.to.items[0]);
	message.to.n = 0;
	message.subject = mem_strdup("");
	g_object_unref(mime_sample_build(&message, &out));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_null(mime_sample_field(&out, names[i]));
}

#define URL "<https://example.com/u/" X100 X100 ">"

/* Values in ASCII must come out unchanged but for folding. */
static void test_custom_ascii(void **state)
{
	static const char *const values[] = {"", "x", "a  b\tc",
		"=?utf-8?q?caf=C3=A9?=", URL ", <mailto:u@example.com?subject=" X10 ">",
		"<" X100 "@x.com> <" X100 "@x.com> <" X100 "@x.com>",
		"v=1; a=rsa-sha256; c=relaxed/relaxed; d=example.com; s=" X10
		"; h=from:to:subject:date:message-id; bh=" X10 X10,
		X900, X900 " " X900, X900 X10 X10 X10 X10 X10 X10 X10 X10 X10};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		_cleanup_free_ char *field = NULL;

		mime_sample_fill(&message);
		mime_sample_header(&message, "X-Custom", values[i]);
		g_object_unref(mime_sample_build(&message, &out));
		field = mime_sample_field(&out, "X-Custom");
		assert_non_null(field);
		assert_string_equal(field + (*values[i] ? 1 : 0), values[i]);
	}
}

static void test_custom_utf8(void **state)
{
	(void)state;
	for (size_t i = 0; i < MIME_SAMPLE_TEXTS; i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		_cleanup_free_ char *field = NULL;
		char *decoded;

		if (strstr(mime_sample_texts[i], X900 X100)) /* refused, see below */
			continue;
		mime_sample_fill(&message);
		mime_sample_header(&message, "X-Custom", mime_sample_texts[i]);
		g_object_unref(mime_sample_build(&message, &out));
		mime_sample_check_words(out.data);
		field = mime_sample_field(&out, "X-Custom");
		decoded = g_mime_utils_header_decode_text(NULL, field + 1);
		assert_string_equal(decoded, mime_sample_texts[i]);
		g_free(decoded);
	}
}

/* What is not ASCII is encoded word by word, so that a grammar survives. */
static void test_custom_structure(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_free_ char *field = NULL;

	(void)state;
	mime_sample_fill(&message);
	mime_sample_header(&message, "List-ID", "Fünf Köpfe <l.example.com>");
	g_object_unref(mime_sample_build(&message, &out));
	field = mime_sample_field(&out, "List-ID");
	assert_string_equal(field, " =?UTF-8?Q?F=C3=BCnf_K=C3=B6pfe?= <l.example.com>");
}

static void test_reserved(void **state)
{
	static const char *const names[] = {"FROM", "to", "Cc", "bcc", "Subject", "message-id",
		"Reply-to", "Content-Type", "mime-version", "Content-transfer-Encoding",
		"X-Postern-Ticket"};
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	mime_sample_fill(&message);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		mime_sample_header(&message, names[i], "forged\nforged");
	g_object_unref(mime_sample_build(&message, &out));
	assert_null(strstr(out.data, "forged"));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		free(mime_sample_field(&out, names[i]));
}

static void test_own_date(void **state)
{
	static const char date[] = "Fri, 01 Jan 2021 00:00:00 +0100";
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_free_ char *field = NULL;

	(void)state;
	mime_sample_fill(&message);
	mime_sample_header(&message, "date", date);
	g_object_unref(mime_sample_build(&message, &out));
	field = mime_sample_field(&out, "Date");
	assert_string_equal(field + 1, date);
}

static void test_repeated(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	mime_sample_fill(&message);
	mime_sample_header(&message, "X-Tag", "one");
	mime_sample_header(&message, "X-Tag", "two");
	g_object_unref(mime_sample_build(&message, &out));
	assert_non_null(strstr(out.data, "\nX-Tag: one\nX-Tag: two\n"));
}

static void test_refused(void **state)
{
	static const struct {
		const char *name, *value, *why;
	} cases[] = {
		{"X Y", "x", "\"X Y\" cannot name"},
		{"", "x", "cannot name"},
		{"X-A\nBcc", "x", "cannot name"},
		{"X-A", "a\nBcc: x", "X-A is not UTF-8, or has a line break"},
		{"X-A", "a\rb", "X-A"},
		{"X-A", "\xff", "X-A"},
		{"X-A", "\x01", "X-A"},
		{"X-A", X900 X100, "X-A has more than 998"},
		{"X-A", "a " X900 X100, "X-A has more than 998"},
		{"Date", "yesterday", "no date"},
		{"In-Reply-To", "<a@x>", "In-Reply-To is given more than once"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;

		mime_sample_fill(&message);
		mime_sample_header(&message, "in-reply-to", "<b@x>");
		mime_sample_header(&message, cases[i].name, cases[i].value);
		buf_add_str(&out, "before");
		assert_int_equal(mime_build(&message, &out, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("%s", err.text);
		assert_string_equal(out.data, "before");
		assert_int_equal(out.len, 6);
	}
}

static void test_refused_lines(void **state)
{
	static const char *const bad[] = {"a\nb", "a\rb", "\x1b", "\xff"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad) * 2; i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;
		char **field = i % 2 ? &message.subject : &message.from.name;

		mime_sample_fill(&message);
		free(*field);
		*field = mem_strdup(bad[i / 2]);
		assert_int_equal(mime_build(&message, &out, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.text, i % 2 ? "Subject" : "From"));
	}
}

/* Postfix would cut such a field. */
static void test_huge_field(void **state)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	_cleanup_buf_ struct buf subject = BUF_INIT;
	struct err err = ERR_INIT;

	(void)state;
	mime_sample_fill(&message);
	while (subject.len < 100000)
		buf_add_str(&subject, "word ");
	message.subject = mem_strdup(subject.data);
	assert_int_equal(mime_build(&message, &out, &err), -1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_non_null(strstr(err.text, "Subject is longer"));
}

/* How long the field To gets of n mailboxes with names of 60 characters. */
static size_t to_len(size_t n, struct buf *out)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	const char *to;

	mime_sample_fill(&message);
	message.text = mem_strdup("x");
	for (size_t i = 1; i < n; i++)
		mime_sample_addr(&message.to,
			"\"A name, of sixty characters, as nobody has it, not even them\" "
			"<user@dst.example>");
	assert_int_equal(mime_build(&message, out, NULL), 0);
	to = strstr(out->data, "\nTo: ") + 1;
	return (size_t)(strstr(to, "\nDate: ") + 1 - to);
}

/* The names go when Postfix would cut the field, and not one mailbox before. */
static void test_many_names(void **state)
{
	const size_t first = strlen("To: a@dst.example") + 1;
	const size_t each = strlen(
		",\n \"A name, of sixty characters, as nobody has it, not even them\"\n "
		"<user@dst.example>");
	const size_t most = 1 + (60000 - first) / each;
	const size_t numbers[] = {500, most - 1, most, most + 1, 1000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;
		size_t len = to_len(numbers[i], &out);
		bool named = strstr(out.data, "\"A name, of") != NULL;

		assert_true(len <= 60000);
		assert_int_equal(named, numbers[i] <= most);
		if (named)
			assert_int_equal(len, first + (numbers[i] - 1) * each);
	}
}

/* A field of n mailboxes; whether the names stand in it, -1 when it is refused. */
static int named_of(size_t n, const char *mailbox, const char *last)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct err err = ERR_INIT;

	mime_sample_fill(&message);
	message.text = mem_strdup("x");
	for (size_t i = 0; i < n; i++)
		mime_sample_addr(&message.cc, mailbox);
	mime_sample_addr(&message.cc, last);
	if (mime_build(&message, &out, &err) == 0)
		return strstr(out.data, "Lee") != NULL;
	assert_int_equal(err.code, ERR_INVALID);
	assert_string_equal(err.text,
		"the header field Cc: it has more than 10240 words and separators, which are all "
		"that Postfix reads");
	return -1;
}

/* With the comma the first has ten tokens of Postfix's, the second eight, the
 * third, where what is in quotes is one, nine. */
static void test_many_tokens(void **state)
{
	static const char ten[] = "Ann Lee <ann@dst.example>";
	static const char eight[] = "a.b@dst.example";
	static const char nine[] = "\"Ann, L. Lee\" <\"a b\"@dst.test>";

	(void)state;
	assert_int_equal(named_of(1023, ten, "Ann Lee <a@dst.example>"), 1);
	assert_int_equal(named_of(1023, ten, "Ann Lee <a.b@dst.example>"), 0);
	assert_int_equal(named_of(1137, nine, "a@dst.test"), 1);
	assert_int_equal(named_of(1137, nine, "a.b.c@dst.test"), 0);
	assert_int_equal(named_of(1279, eight, "a.b@dst.example"), 0);
	assert_int_equal(named_of(1279, eight, "a.b.c@dst.example"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_custom_ascii),
		cmocka_unit_test(test_custom_utf8),
		cmocka_unit_test(test_custom_structure),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_own_date),
		cmocka_unit_test(test_repeated),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_lines),
		cmocka_unit_test(test_huge_field),
		cmocka_unit_test(test_many_names),
		cmocka_unit_test(test_many_tokens),
	};

	mime_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
