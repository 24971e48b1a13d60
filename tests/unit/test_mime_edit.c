/* mime_edit: what passes, what goes and what is added. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/compose/mime_edit.h"

/* What is put in front of a message without these two. */
#define ID    "Message-ID: <new@x>\n"
#define DATE  "Date: Thu, 1 Jan 1970 00:00:00 +0000\n"
#define FRONT ID DATE
/* A message that has them. */
#define HAS "Message-Id: <new@x>\nDate: today\n"

static const struct mime_edit edit = {
	.removes = mime_edit_is_private, .message_id = "<new@x>"};

static const struct {
	const char *name;
	const char *message;
	const char *edited;
} cases[] = {
	{"nothing to do", HAS "A: 1\n\nbody\n", HAS "A: 1\n\nbody\n"},
	{"CRLF", "Message-Id: <new@x>\r\nDate: today\r\n\r\n1\r\n\r\n2\r\n",
		HAS "\n1\n\n2\n"},
	{"several CRs before LF", HAS "A: 1\r\r\n\r\n1\r\r\r\n",
		HAS "A: 1\n\n1\n"},
	{"a lone CR in the body", HAS "\n1\r2\n\r", HAS "\n1\r2\n\r"},
	{"no line end at the end", HAS "\nbody", HAS "\nbody"},
	{"bytes of the body", HAS "\n\xff\xfe\x01\n", HAS "\n\xff\xfe\x01\n"},
	{"bytes of the header", HAS "A: \xff\x01\n\n", HAS "A: \xff\x01\n\n"},

	{"Message-ID and Date missing", "A: 1\n\nbody", FRONT "A: 1\n\nbody"},
	{"Message-ID missing", "Date: x\n\nbody", ID "Date: x\n\nbody"},
	{"Date missing", "MESSAGE-ID : <new@x>\n\nbody",
		DATE "MESSAGE-ID : <new@x>\n\nbody"},
	{"both blank", "Message-ID:\nA: 1\nDate:  \n \n\nbody",
		FRONT "A: 1\n\nbody"},
	{"an id that is not the email's",
		"Message-ID: <a b@x>\n c\nDate: x\n\n", ID "Date: x\n\n"},
	{"two ids", "Message-ID: <a@x>\n" HAS "Message-ID: <new@x>x\n\n",
		HAS "\n"},
	{"only in the body", "A: 1\n\n" HAS "\n", FRONT "A: 1\n\n" HAS "\n"},

	{"fields that go",
		"bcc: a@x\nBCC : b@x\nA: 1\nResent-Bcc: c@x\n" HAS
		"X-Mailgun-Tag: t\nx-mailgun-x: y\nX-Postern-Ticket: z\n\n",
		"A: 1\n" HAS "\n"},
	{"with their folded lines",
		HAS "Bcc: a@x,\r\n b@x,\r\n\tc@x\r\nA: 1\n\n", HAS "A: 1\n\n"},
	{"the last field, and no empty line", HAS "Bcc: a@x\n b@x", HAS "\n"},
	{"fields that stay", HAS "Bcc-X: 1\nX-Bcc: 2\nX-Mailgun: 3\n\n",
		HAS "Bcc-X: 1\nX-Bcc: 2\nX-Mailgun: 3\n\n"},
	{"in the body they stay", HAS "\nBcc: a@x\n", HAS "\nBcc: a@x\n"},
	{"folded fields that stay", HAS "A: 1\r\n\t2\r\n 3\n\n",
		HAS "A: 1\n\t2\n 3\n\n"},

	{"only a header", HAS, HAS "\n"},
	{"only a header, last line not ended", HAS "A: 1", HAS "A: 1\n\n"},
	{"nothing", "", FRONT "\n"},
	{"only an empty line", "\n", FRONT "\n"},
	{"no header", "hello you\nA: 1\n", FRONT "\nhello you\nA: 1\n"},
	{"a blank first", " A: 1\nB: 2\n", FRONT "\n A: 1\nB: 2\n"},
	{"a line without a colon", HAS "hello\nBcc: a@x\n\nbody",
		HAS "\nhello\nBcc: a@x\n\nbody"},
	{"an empty name", HAS ": a\n\nbody", HAS "\n: a\n\nbody"},
	{"mailbox line", "From a@x Mon Jan  1\r\n" HAS "\nbody", HAS "\nbody"},
	{"quoted mailbox line", ">From a@x Mon\n" HAS "\nbody", HAS "\nbody"},
	{"mailbox line further down", HAS "From a@x Mon\nA: 1\n",
		HAS "\nFrom a@x Mon\nA: 1\n"},
	{"line of a dot", HAS "\n.\r\n.\n", HAS "\n.\n.\n"},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		assert_int_equal(
			mime_edit(cases[i].message, strlen(cases[i].message),
				&edit, &out, NULL),
			0);
		if (strcmp(out.data, cases[i].edited) != 0)
			fail_msg("%s: got\n%s\nwanted\n%s", cases[i].name,
				out.data, cases[i].edited);
	}
}

static void test_without_predicate(void **state)
{
	static const struct mime_edit plain = {.message_id = "<new@x>"};
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	buf_add_str(&out, ">");
	assert_int_equal(mime_edit("Bcc: b@x\n\n1", 11, &plain, &out, NULL), 0);
	assert_string_equal(out.data, ">" FRONT "Bcc: b@x\n\n1");
}

static void test_refused(void **state)
{
	static const struct {
		const char *message;
		size_t len;
		const char *text;
	} refused[] = {
		{"A: 1\rBcc: b@x\n\n", 15,
			"the header field A of the message has a CR that ends "
			"no line"},
		{"Subject: 1\n \r2\n\n", 16,
			"the header field Subject of the message has a CR that "
			"ends no line"},
		{"A: 1\r", 5,
			"the header field A of the message has a CR that ends "
			"no line"},
		{"B: 1\0\n\n", 7, "the header field B of the message has a NUL"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct err err = ERR_INIT;

		buf_add_str(&out, "before");
		assert_int_equal(mime_edit(refused[i].message, refused[i].len,
					 &edit, &out, &err),
			-1);
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
			buf_printf(&message, " %97d,\r\n", 1);
		buf_printf(
			&message, " %*d\n\nx", (int)(rows[i].len - len - 2), 1);
		assert_int_equal(
			mime_edit(message.data, message.len, &edit, &out, &err),
			rows[i].result);
		if (rows[i].result < 0)
			assert_string_equal(err.text,
				"the header field To of the message is longer "
				"than 60000 bytes");
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
		{"Content-Type: multipart/digest; boundary=b\n\n--b\n\n", 60001,
			-1},
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
		buf_printf(&message, " %*d\n\nx",
			(int)(rows[i].len - (message.len - len) - 2), 1);
		assert_int_equal(
			mime_edit(message.data, message.len, &edit, &out, &err),
			rows[i].result);
		if (rows[i].result < 0)
			assert_string_equal(err.text,
				"the header field X-Long of a part of the "
				"message is longer than 60000 bytes");
	}
}

/* So is one with addresses that Postfix would not all read. */
static void test_many_tokens(void **state)
{
	static const struct {
		const char *name;
		int n; /* each in a line, of two tokens */
		const char *last;
		int result;
	} rows[] = {
		{"To", 5119, " a", 0},
		{"To", 5119, " a (b, c).d", -1},
		{"To", 5119, " (b, (c)) \"d, e\"", 0},
		{"reply-to", 5119, " a [b.c] d", -1},
		{"X-To", 5130, "", 0},
		{"Bcc", 5130, "", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf message = BUF_INIT, out = BUF_INIT;
		struct err err = ERR_INIT;

		buf_printf(&message, "%s:", rows[i].name);
		for (int k = 0; k < rows[i].n; k++)
			buf_add_str(&message, " a,\r\n");
		buf_printf(&message, "%s\n\nx", rows[i].last);
		assert_int_equal(
			mime_edit(message.data, message.len, &edit, &out, &err),
			rows[i].result);
		if (rows[i].result < 0)
			assert_non_null(strstr(err.text,
				" of the message has more than 10240 words and "
				"separators, which are all that Postfix "
				"reads"));
	}
}

/* A NUL in the body is passed on. */
static void test_nul_in_body(void **state)
{
	static const char message[] = HAS "\na\0b";
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(
		mime_edit(message, sizeof(message) - 1, &edit, &out, NULL), 0);
	assert_int_equal(out.len, sizeof(message) - 1);
	assert_memory_equal(out.data, message, out.len);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_without_predicate),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_long_field),
		cmocka_unit_test(test_long_field_inside),
		cmocka_unit_test(test_many_tokens),
		cmocka_unit_test(test_nul_in_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
