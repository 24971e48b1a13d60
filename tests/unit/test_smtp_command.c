/* smtp_command: the envelope as commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/inject/smtp_proto.h"

#define ALL                                                                                        \
	((struct smtp_extensions){                                                                 \
		.pipelining = true, .size = true, .eight_bit = true, .utf8 = true})
#define NONE ((struct smtp_extensions){0})

static const struct {
	const char *sender, *recipient, *message;
	struct smtp_extensions extensions;
	const char *mail;
} cases[] = {
	{"a@b.test", "x@y.test", "S: x\n\nhi\n", ALL, "MAIL FROM:<a@b.test> SIZE=12\r\n"},
	{"a@b.test", "x@y.test", "S: x\n\nhi\n", NONE, "MAIL FROM:<a@b.test>\r\n"},
	{"", "x@y.test", "S: x\n\nhi\n", NONE, "MAIL FROM:<>\r\n"},
	{"a@b.test", "x@y.test", "S: x\n\n\xc3\xbc\n", ALL,
		"MAIL FROM:<a@b.test> SIZE=12 BODY=8BITMIME\r\n"},
	{"a@b.test", "x@y.test", "S: \xc3\xbc\n\nhi\n", ALL,
		"MAIL FROM:<a@b.test> SIZE=13 BODY=8BITMIME SMTPUTF8\r\n"},
	{"a@b.test", "\xc3\xbc@y.test", "S: x\n\nhi\n", ALL,
		"MAIL FROM:<a@b.test> SIZE=12 SMTPUTF8\r\n"},
	{"\xc3\xbc@b.test", "x@y.test", "S: x\n\nhi\n", ALL,
		"MAIL FROM:<\xc3\xbc@b.test> SIZE=12 SMTPUTF8\r\n"},
	{"\xc3\xbc@b.test", "x@y.test", "S: \xc3\xbc\n\n\xc3\xbc\n", NONE,
		"MAIL FROM:<\xc3\xbc@b.test>\r\n"},
};

static void check_command(const struct submission *submission, enum smtp_command i,
	const struct smtp_extensions *extensions, const char *expected)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct smtp_shape shape;

	smtp_shape_read(submission->message, &shape);
	smtp_command_add(submission, &shape, i, extensions, &out);
	assert_string_equal(buf_str(&out), expected);
}

static void test_commands(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf message = BUF_INIT;
		_cleanup_free_ char *rcpt = mem_printf("RCPT TO:<%s>\r\n", cases[i].recipient);
		const struct submission submission = {
			.sender = cases[i].sender,
			.recipient = cases[i].recipient,
			.utf8 = !str_is_ascii(cases[i].recipient),
			.message = &message,
		};

		buf_add_str(&message, cases[i].message);
		check_command(&submission, 0, &cases[i].extensions, cases[i].mail);
		check_command(&submission, 1, &cases[i].extensions, rcpt);
		check_command(&submission, 2, &cases[i].extensions, rcpt);
		check_command(&submission, 3, &cases[i].extensions, "DATA\r\n");
	}
}

/* As a chunk: only behind commands that need not wait for each other. */
static void test_chunk(void **state)
{
	static const struct {
		const char *message;
		bool pipelining, chunking;
		const char *command;
	} chunks[] = {
		{"S: x\n\nhi\n", true, true, "BDAT 12 LAST\r\n"},
		{"S: x\n\nhi", true, true, "BDAT 12 LAST\r\n"},
		{"", true, true, "BDAT 0 LAST\r\n"},
		{"S: x\n\nhi\n", false, true, "DATA\r\n"},
		{"S: x\n\nhi\n", true, false, "DATA\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(chunks); i++) {
		const struct smtp_extensions extensions = {
			.pipelining = chunks[i].pipelining,
			.chunking = chunks[i].chunking,
		};
		_cleanup_buf_ struct buf message = BUF_INIT;
		const struct submission submission = {.message = &message};

		buf_add_str(&message, chunks[i].message);
		check_command(&submission, SMTP_CONTENT, &extensions, chunks[i].command);
	}
}

static void test_about(void **state)
{
	static const char *const about[] = {
		"the sender <a@b.test>", "the recipient", "the recipient", "the email"};
	const struct submission submission = {.sender = "a@b.test", .recipient = "x@y.test"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(about); i++) {
		_cleanup_free_ char *text = smtp_command_about(&submission, (enum smtp_command)i);

		assert_string_equal(text, about[i]);
		assert_int_equal(smtp_command_is_email((enum smtp_command)i), i == 0 || i == 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_chunk),
		cmocka_unit_test(test_about),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
