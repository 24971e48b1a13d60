/* mime_edit: what passes, what goes and what is added. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/compose/mime_edit.h"
#include "core/compose/mime_message.h"

/* What is put in front of a message without these two. */
#define ID    "Message-ID: <new@x>\n"
#define DATE  "Date: Thu, 1 Jan 1970 00:00:00 +0000\n"
#define FRONT ID DATE
/* A message that has them. */
#define HAS "Message-Id: <new@x>\nDate: today\n"

static const struct mime_edit edit = {.removes = mime_edit_is_private, .message_id = "<new@x>"};

static const struct {
	const char *name;
	const char *message;
	const char *edited;
} cases[] = {
	{"nothing to do", HAS "A: 1\n\nbody\n", HAS "A: 1\n\nbody\n"},
	{"CRLF", "Message-Id: <new@x>\r\nDate: today\r\n\r\n1\r\n\r\n2\r\n", HAS "\n1\n\n2\n"},
	{"several CRs before LF", HAS "A: 1\r\r\n\r\n1\r\r\r\n", HAS "A: 1\n\n1\n"},
	{"a lone CR in the body", HAS "\n1\r2\n\r", HAS "\n1\r2\n\r"},
	{"no line end at the end", HAS "\nbody", HAS "\nbody"},
	{"bytes of the body", HAS "\n\xff\xfe\x01\n", HAS "\n\xff\xfe\x01\n"},
	{"bytes of the header", HAS "A: \xff\x01\n\n", HAS "A: \xff\x01\n\n"},

	{"Message-ID and Date missing", "A: 1\n\nbody", FRONT "A: 1\n\nbody"},
	{"Message-ID missing", "Date: x\n\nbody", ID "Date: x\n\nbody"},
	{"Date missing", "MESSAGE-ID: <new@x>\n\nbody", DATE "MESSAGE-ID: <new@x>\n\nbody"},
	{"a blank before the colon of the id", "Message-ID : <new@x>\nDate: x\n\n",
		ID "Date: x\n\n"},
	{"both blank", "Message-ID:\nA: 1\nDate:  \n \n\nbody", FRONT "A: 1\n\nbody"},
	{"an id that is not the email's", "Message-ID: <a b@x>\n c\nDate: x\n\n", ID "Date: x\n\n"},
	{"two ids", "Message-ID: <a@x>\n" HAS "Message-ID: <new@x>x\n\n", HAS "\n"},
	{"only in the body", "A: 1\n\n" HAS "\n", FRONT "A: 1\n\n" HAS "\n"},

	{"fields that go",
		"bcc: a@x\nBCC : b@x\nA: 1\nResent-Bcc: c@x\n" HAS
		"X-Mailgun-Tag: t\nx-mailgun-x: y\nX-Postern-Ticket: z\n\n",
		"A: 1\n" HAS "\n"},
	{"with their folded lines", HAS "Bcc: a@x,\r\n b@x,\r\n\tc@x\r\nA: 1\n\n", HAS "A: 1\n\n"},
	{"the last field, and no empty line", HAS "Bcc: a@x\n b@x", HAS "\n"},
	{"fields that stay", HAS "Bcc-X: 1\nX-Bcc: 2\nX-Mailgun: 3\n\n",
		HAS "Bcc-X: 1\nX-Bcc: 2\nX-Mailgun: 3\n\n"},
	{"in the body they stay", HAS "\nBcc: a@x\n", HAS "\nBcc: a@x\n"},
	{"folded fields that stay", HAS "A: 1\r\n\t2\r\n 3\n\n", HAS "A: 1\n\t2\n 3\n\n"},

	{"only a header", HAS, HAS "\n"},
	{"only a header, last line not ended", HAS "A: 1", HAS "A: 1\n\n"},
	{"nothing", "", FRONT "\n"},
	{"only an empty line", "\n", FRONT "\n"},
	{"no header", "hello you\nA: 1\n", FRONT "\nhello you\nA: 1\n"},
	{"a blank first", " A: 1\nB: 2\n", FRONT "\n A: 1\nB: 2\n"},
	{"a line without a colon", HAS "hello\nBcc: a@x\n\nbody", HAS "\nhello\nBcc: a@x\n\nbody"},
	{"an empty name", HAS ": a\n\nbody", HAS "\n: a\n\nbody"},
	{"mailbox line", "From a@x Mon Jan  1\r\n" HAS "\nbody", HAS "\nbody"},
	{"quoted mailbox line", ">From a@x Mon\n" HAS "\nbody", HAS "\nbody"},
	{"mailbox line further down", HAS "From a@x Mon\nA: 1\n", HAS "\nFrom a@x Mon\nA: 1\n"},
	{"line of a dot", HAS "\n.\r\n.\n", HAS "\n.\n.\n"},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		assert_int_equal(
			mime_edit(cases[i].message, strlen(cases[i].message), &edit, &out, NULL),
			0);
		if (strcmp(out.data, cases[i].edited) != 0)
			fail_msg("%s: got\n%s\nwanted\n%s", cases[i].name, out.data,
				cases[i].edited);
	}
}

static void test_without_predicate(void **state)
{
	static const struct mime_edit plain = {.message_id = "<new@x>"};
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	buf_add_str(&out, ">");
	assert_int_equal(mime_edit("Bcc: b@x.y\n\n1", 13, &plain, &out, NULL), 0);
	assert_string_equal(out.data, ">" FRONT "Bcc: b@x.y\n\n1");
}

static void give(struct mime_message *message, const char *name, const char *value)
{
	struct header *header = mime_message_add_header(message);

	header->name = mem_strdup(name);
	header->value = mem_strdup(value);
}

/* A field is given where the message has none of that name. */
static void test_given(void **state)
{
	static const struct {
		const char *name, *value; /* Reply-To: a mailbox */
		const char *message, *edited;
	} given[] = {
		{"X-A", "1", HAS "\n", "X-A: 1\n" HAS "\n"},
		{"X-A", "1", HAS "x-a: 2\n\n", HAS "x-a: 2\n\n"},
		{"X-A", "1", HAS "X-A : 2\n\n", HAS "X-A : 2\n\n"},
		{"X-A", "1", HAS "X-A:\n\n", HAS "X-A:\n\n"},
		{"X-A", "1", HAS "\nX-A: 2\n", "X-A: 1\n" HAS "\nX-A: 2\n"},
		{"X-A", "J\xc3\xb6rg", HAS "\n", "X-A: =?UTF-8?Q?J=C3=B6rg?=\n" HAS "\n"},
		{"Date", "Fri, 20 Nov 2026 10:00:00 +0100", "A: 1\n\n",
			ID "Date: Fri, 20 Nov 2026 10:00:00 +0100\nA: 1\n\n"},
		{"Date", "Fri, 20 Nov 2026 10:00:00 +0100", HAS "\n", HAS "\n"},
		{"Date", "Fri, 20 Nov 2026 10:00:00 +0100", "Date:\n\n", FRONT "\n"},
		{"Subject", "1", HAS "\n", HAS "\n"},
		{"Reply-To", "", HAS "\n", "Reply-To: \"Doe, J\" <a@x.test>\n" HAS "\n"},
		{"Reply-To", "", HAS "REPLY-TO: b@x.test\n\n", HAS "REPLY-TO: b@x.test\n\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		_cleanup_mime_message_ struct mime_message message = {0};
		const struct mime_edit adds = {.message_id = "<new@x>", .given = &message};
		_cleanup_buf_ struct buf out = BUF_INIT;

		if (strcmp(given[i].name, "Reply-To") != 0)
			give(&message, given[i].name, given[i].value);
		else
			assert_int_equal(
				addr_list_parse("\"Doe, J\" <a@x.test>", &message.reply_to, NULL),
				0);
		assert_int_equal(
			mime_edit(given[i].message, strlen(given[i].message), &adds, &out, NULL),
			0);
		assert_string_equal(out.data, given[i].edited);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *message;
		size_t len;
		const char *text;
	} refused[] = {
		{"A: 1\rBcc: b@x\n\n", 15,
			"the header field A of the message has a CR that ends no line"},
		{"Subject: 1\n \r2\n\n", 16,
			"the header field Subject of the message has a CR that ends no line"},
		{"A: 1\r", 5, "the header field A of the message has a CR that ends no line"},
		{"B: 1\0\n\n", 7, "the header field B of the message has a NUL"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;

		buf_add_str(&out, "before");
		assert_int_equal(
			mime_edit(refused[i].message, refused[i].len, &edit, &out, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_string_equal(err.text, refused[i].text);
		assert_string_equal(out.data, "before");
	}
}

/* A field that Postfix would cut is refused, unless it goes. */
static void test_long_field(void **state)
{
	static const struct {
		const char *name;
		size_t len;
		int result;
	} rows[] = {
		{"To", 60000, 0},
		{"To", 60001, -1},
		{"Bcc", 70000, 0},
		{"From", 10000, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf message = BUF_INIT, out = BUF_INIT;
		struct err err = ERR_INIT;
		size_t len;

		buf_printf(&message, "%s:", rows[i].name);
		len = message.len;
		for (; len + 100 < rows[i].len; len += 100)
			buf_printf(&message, " (%95d),\r\n", 1);
		buf_printf(&message, " (%*d)\n\nx", (int)(rows[i].len - len - 4), 1);
		assert_int_equal(
			mime_edit(message.data, message.len, &edit, &out, &err), rows[i].result);
		if (rows[i].result < 0)
			assert_string_equal(err.text,
				"the header field To of the message is longer than 60000 bytes");
	}
}

/* So is one of a part, or of a message in it, that Postfix reads. */
static void test_long_field_inside(void **state)
{
	static const struct {
		const char *start;
		size_t len;
		int result;
	} rows[] = {
		{"Content-Type: multipart/mixed; boundary=b\n\n--b\n", 60000, 0},
		{"Content-Type: multipart/mixed; boundary=b\n\n--b\n", 60001, -1},
		{"Content-Type: multipart/mixed; "
		 "boundary=b\n\n--b\n--b\n\nx\n--b\n"
		 "Content-Type: message/rfc822\n\nSubject: inner\n",
			60001, -1},
		{"Content-Type: message/rfc822\r\n\r\n", 60001, -1},
		{"Content-Type: text/plain\n\n", 70000, 0},
		{"Content-Type: multipart/mixed; boundary=b\n\n--b\n\n", 70000, 0},
		{"Content-Type: multipart/mixed; boundary=b\n"
		 "Content-Transfer-Encoding: base64\n\n--b\n",
			70000, -1},
		{"Content-Type: multipart/digest; boundary=b\n\n--b\n\n", 60001, -1},
		{"Content-Type: message/delivery-status\n\n", 70000, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf message = BUF_INIT, out = BUF_INIT;
		struct err err = ERR_INIT;
		size_t len;

		buf_printf(&message, "%sX-Long:", rows[i].start);
		len = message.len - strlen("X-Long:");
		while (message.len - len + 100 < rows[i].len)
			buf_printf(&message, " %97d,\n", 1);
		buf_printf(&message, " %*d\n\nx", (int)(rows[i].len - (message.len - len) - 2), 1);
		assert_int_equal(
			mime_edit(message.data, message.len, &edit, &out, &err), rows[i].result);
		if (rows[i].result < 0)
			assert_string_equal(err.text,
				"the header field X-Long of a part of the message is longer than "
				"60000 bytes");
	}
}

/* So is one with addresses that Postfix would not all read, or change. */
static void test_addresses(void **state)
{
	static const struct {
		const char *line;
		const char *text; /* NULL: it passes */
	} rows[] = {
		{"From: Doe, John <a@x.test>",
			"the header field From of the message: Postfix reads \"Doe\" in it as an "
			"address of its own; a name like this needs quotes: \"Doe, John\" "
			"<a@x.test>"},
		{"to: friends",
			"the header field to of the message: Postfix reads \"friends\" in it as an "
			"address, and would change it: it has no domain (a name with a comma in it "
			"needs quotes)"},
		{"From : a@x.test",
			"the header field From of the message has a blank before its colon"},
		{"X-To: friends", NULL},
		{"Bcc: friends", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *message = mem_printf("%s\n\nx", rows[i].line);
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;
		int result = mime_edit(message, strlen(message), &edit, &out, &err);

		assert_int_equal(result, rows[i].text ? -1 : 0);
		assert_string_equal(err.text, rows[i].text ? rows[i].text : "");
		assert_true(result == 0 || out.len == 0);
	}
}

/* So are more senders than the milter checks, and more hops than Postfix takes. */
static void test_many_fields(void **state)
{
	static const struct {
		const char *line;
		int n;
		int result;
	} rows[] = {
		{"Sender: a@x.test\n", 16, 0},
		{"Sender: a@x.test\n", 17, -1},
		{"X-Sender: a@x.test\n", 100, 0},
		{"Received: by x; today\n", 48, 0},
		{"Received: by x; today\n", 49, -1},
	};
	_cleanup_buf_ struct buf many = BUF_INIT, edited = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf message = BUF_INIT, out = BUF_INIT;

		for (int k = 0; k < rows[i].n; k++)
			buf_add_str(&message, rows[i].line);
		buf_add_str(&message, "\nx");
		assert_int_equal(
			mime_edit(message.data, message.len, &edit, &out, NULL), rows[i].result);
	}
	buf_add_str(&many, "From: \"");
	for (int k = 0; k < 250; k++)
		buf_printf(&many, "a@x%d.test ", k);
	buf_add_str(&many, "\" <a@x.test>\n\nx");
	assert_int_equal(mime_edit(many.data, many.len, &edit, &edited, NULL), -1);
}

/* A NUL in the body is passed on. */
static void test_nul_in_body(void **state)
{
	static const char message[] = HAS "\na\0b";
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(mime_edit(message, sizeof(message) - 1, &edit, &out, NULL), 0);
	assert_int_equal(out.len, sizeof(message) - 1);
	assert_memory_equal(out.data, message, out.len);
}

/* A date that was given here, and is given anew; not one that the client chose. */
static void test_old_date(void **state)
{
	static const struct mime_edit again = {
		.message_id = "<new@x>", .date_us = 0, .old_date_us = 1000000};
	static const char old[] = "Message-Id: <new@x>\nDate: Thu, 1 Jan 1970 00:00:01 +0000\n";
	_cleanup_buf_ struct buf out = BUF_INIT, chosen = BUF_INIT;
	const char *text = HAS "\nbody";

	(void)state;
	assert_int_equal(mime_edit(old, strlen(old), &again, &out, NULL), 0);
	assert_string_equal(buf_str(&out), DATE "Message-Id: <new@x>\n\n");
	assert_int_equal(mime_edit(text, strlen(text), &again, &chosen, NULL), 0);
	assert_string_equal(buf_str(&chosen), text);
}

/* Ours moves; a client's stays, and so does what only looks like it. */
static void test_date(void **state)
{
	static const char later[] = "Date: Sun, 11 Jan 1970 00:00:00 +0000\n";
	static const struct {
		const char *before, *behind;
		bool moves;
	} dates[] = {
		{"A: 1\n" DATE "B: 2\n", "\nbody\n" DATE, true},
		{DATE, "", true},
		{"A: 1\n\n" DATE, "", false},
		{"Date: Fri, 2 Jan 1970 00:00:00 +0000\n", "\nbody", false},
		{"X-Date: Thu, 1 Jan 1970 00:00:00 +0000\n", "\nbody", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(dates); i++) {
		_cleanup_buf_ struct buf message = BUF_INIT, wanted = BUF_INIT;
		const char *at = strstr(dates[i].before, DATE);

		buf_printf(&message, "%s%s", dates[i].before, dates[i].behind);
		if (dates[i].moves)
			buf_printf(&wanted, "%.*s%s%s%s", (int)(at - dates[i].before),
				dates[i].before, later, at + strlen(DATE), dates[i].behind);
		else
			buf_printf(&wanted, "%s%s", dates[i].before, dates[i].behind);
		mime_edit_date(&message, 0, INT64_C(10) * 24 * 3600 * 1000000);
		assert_string_equal(buf_str(&message), buf_str(&wanted));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_old_date),
		cmocka_unit_test(test_date),
		cmocka_unit_test(test_without_predicate),
		cmocka_unit_test(test_given),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_field),
		cmocka_unit_test(test_long_field_inside),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_many_fields),
		cmocka_unit_test(test_nul_in_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
