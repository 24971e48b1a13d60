/* smtp_data and smtp_command: a message on its way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/inject/smtp_proto.h"

static const struct {
	const char *message;
	const char *data;
	const char *chunk;
} cases[] = {
	{"", ".\r\n", ""},
	{"a", "a\r\n.\r\n", "a\r\n"},
	{"a\n", "a\r\n.\r\n", "a\r\n"},
	{"\n", "\r\n.\r\n", "\r\n"},
	{"\n\n", "\r\n\r\n.\r\n", "\r\n\r\n"},
	{".", "..\r\n.\r\n", ".\r\n"},
	{".\n", "..\r\n.\r\n", ".\r\n"},
	{"..\n", "...\r\n.\r\n", "..\r\n"},
	{"a.\n.b\n\n.\n", "a.\r\n..b\r\n\r\n..\r\n.\r\n", "a.\r\n.b\r\n\r\n.\r\n"},
	{"a\r.\nb", "a\r.\r\nb\r\n.\r\n", "a\r.\r\nb\r\n"},
	{"a\r\nb\n", "a\r\r\nb\r\n.\r\n", "a\r\r\nb\r\n"},
	{"Subject: x\n\nHello, this is a line of some length.\n.\n",
		"Subject: x\r\n\r\nHello, this is a line of some length.\r\n"
		"..\r\n.\r\n",
		"Subject: x\r\n\r\nHello, this is a line of some length.\r\n"
		".\r\n"},
};

/* In pieces of every size: the same, and a chunk as long as BDAT says. */
static void test_pieces(void **state)
{
	const struct smtp_extensions chunks = {.pipelining = true, .chunking = true};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		bool chunked = i % 2;
		const struct buf message = {
			.data = (char *)cases[i / 2].message,
			.len = strlen(cases[i / 2].message),
		};
		const struct submission submission = {.message = &message};
		const char *wanted = chunked ? cases[i / 2].chunk : cases[i / 2].data;
		_cleanup_free_ char *bdat = mem_printf("BDAT %zu LAST\r\n", strlen(wanted));
		_cleanup_buf_ struct buf command = BUF_INIT;
		struct smtp_shape shape;

		smtp_shape_read(&message, &shape);
		smtp_command_add(&submission, &shape, SMTP_CONTENT, &chunks, &command);
		if (chunked)
			assert_string_equal(buf_str(&command), bdat);
		for (size_t size = SMTP_DATA_MIN; size < 80; size++) {
			_cleanup_buf_ struct buf out = BUF_INIT;
			struct smtp_data data;
			char piece[80];
			size_t n;

			smtp_data_init(&data, &message, chunked);
			while ((n = smtp_data_next(&data, piece, size)) > 0) {
				assert_true(n <= size);
				buf_add(&out, piece, n);
			}
			assert_true(data.ended);
			assert_string_equal(buf_str(&out), wanted);
		}
	}
}

static const struct {
	const char *message;
	const char *sender;
	const char *mail; /* behind MAIL FROM: */
} mails[] = {
	{"A: b\n\nc\n", "a@x.test", "<a@x.test> SIZE=11"},
	{"A: b\n\n\xc3\xbc\n", "a@x.test", "<a@x.test> SIZE=12 BODY=8BITMIME"},
	{"A: \xc3\xbc\n\nc\n", "a@x.test", "<a@x.test> SIZE=12 BODY=8BITMIME SMTPUTF8"},
	{"\n\xc3\xbc\n", "a@x.test", "<a@x.test> SIZE=6 BODY=8BITMIME"},
	{"A: b\n", "\xc3\xbc@x.test", "<\xc3\xbc@x.test> SIZE=6 SMTPUTF8"},
};

static void test_mail(void **state)
{
	const struct smtp_extensions all = {.pipelining = true,
					     .size = true,
					     .eight_bit = true,
					     .utf8 = true},
				     none = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(mails); i++) {
		const struct buf message = {
			.data = (char *)mails[i].message,
			.len = strlen(mails[i].message),
		};
		const struct submission submission = {
			.sender = mails[i].sender,
			.recipient = "b@x.test",
			.message = &message,
		};
		_cleanup_buf_ struct buf out = BUF_INIT;
		_cleanup_free_ char *mail = mem_printf("MAIL FROM:%s\r\n", mails[i].mail);
		_cleanup_free_ char *bare = mem_printf("MAIL FROM:<%s>\r\n", mails[i].sender);
		struct smtp_shape shape;

		smtp_shape_read(&message, &shape);
		smtp_command_add(&submission, &shape, 0, &all, &out);
		assert_string_equal(buf_str(&out), mail);
		buf_clear(&out);
		smtp_command_add(&submission, &shape, 0, &none, &out);
		assert_string_equal(buf_str(&out), bare);
	}
}

/* What is scanned in blocks. */
static void test_shape(void **state)
{
	const struct buf empty = BUF_INIT;
	struct smtp_shape shape;

	(void)state;
	for (size_t lines = 0; lines < 3000; lines = 2 * lines + 1) {
		_cleanup_buf_ struct buf message = BUF_INIT;

		buf_add_str(&message, "A: b\n\n");
		for (size_t i = 0; i < lines; i++)
			buf_add_str(&message, "five\n");
		smtp_shape_read(&message, &shape);
		assert_int_equal(shape.size, message.len + lines + 2);
		assert_false(shape.eight_bit || shape.utf8_header || shape.unfinished);
		buf_add_str(&message, "\xc3\xbc");
		smtp_shape_read(&message, &shape);
		assert_int_equal(shape.size, message.len + lines + 2);
		assert_true(shape.eight_bit && shape.unfinished && !shape.utf8_header);
	}
	smtp_shape_read(&empty, &shape);
	assert_false(shape.size || shape.unfinished);
}

static void test_utf8_recipient(void **state)
{
	const struct smtp_extensions all = {
		.pipelining = true, .size = true, .eight_bit = true, .utf8 = true};
	_cleanup_buf_ struct buf message = BUF_INIT;
	_cleanup_buf_ struct buf out = BUF_INIT;
	const struct submission submission = {
		.sender = "a@x.test", .recipient = "b@x.test", .utf8 = true, .message = &message};
	struct smtp_shape shape;

	(void)state;
	buf_add_str(&message, "A: b\n");
	smtp_shape_read(&message, &shape);
	for (int i = 0; i < SMTP_COMMANDS; i++)
		smtp_command_add(&submission, &shape, (enum smtp_command)i, &all, &out);
	assert_string_equal(buf_str(&out),
		"MAIL FROM:<a@x.test> SIZE=6 SMTPUTF8\r\n"
		"RCPT TO:<b@x.test>\r\nRCPT TO:<b@x.test>\r\nDATA\r\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_mail),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_utf8_recipient),
	};

	return cmocka_run_group_tests_name("smtp_data", tests, NULL, NULL);
}
