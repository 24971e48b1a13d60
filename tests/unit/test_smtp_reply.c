/* smtp_reply, smtp_ehlo and smtp_refusal: what a server says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/inject/smtp_proto.h"

static const struct {
	const char *bytes;
	int found;
	size_t left; /* bytes behind the reply */
	int code;
	const char *status;
	const char *text;
} cases[] = {
	{"250 2.0.0 Ok: queued as 1\r\n", 1, 0, 250, "2.0.0", "Ok: queued as 1"},
	{"250 2.1.0 Ok\r\n354 go", 1, 6, 250, "2.1.0", "Ok"},
	{"250\r\n", 1, 0, 250, "", ""},
	{"250 \r\n", 1, 0, 250, "", ""},
	{"250 ok\n", 1, 0, 250, "", "ok"},
	{"550-5.7.1 one\r\n550 5.7.1 two\r\n", 1, 0, 550, "5.7.1", "one\ntwo"},
	{"550-one\r\n550 5.7.1\r\n", 1, 0, 550, "5.7.1", "one"},
	{"550 5.7.123 x\r\n", 1, 0, 550, "5.7.123", "x"},
	{"550 5.7.1234 x\r\n", 1, 0, 550, "", "5.7.1234 x"},
	{"550 4.7.1 x\r\n", 1, 0, 550, "", "4.7.1 x"},
	{"550 5.7 x\r\n", 1, 0, 550, "", "5.7 x"},
	{"550 5.7.x\r\n", 1, 0, 550, "", "5.7.x"},
	{"550 5.\r\n", 1, 0, 550, "", "5."},
	{"450 a\tb\x7f\r\n", 1, 0, 450, "", "a?b?"},
	{"450 \xc3\xbc\xff\r\n", 1, 0, 450, "", "\xc3\xbc?"},
	{"", 0, 0, 0, NULL, NULL},
	{"250 ok", 0, 0, 0, NULL, NULL},
	{"250-ok\r\n", 0, 0, 0, NULL, NULL},
	{"2", 0, 0, 0, NULL, NULL},
	{"250-ok\r\n251 ok\r\n", -1, 0, 0, NULL, NULL},
	{"25\r\n", -1, 0, 0, NULL, NULL},
	{"250ok\r\n", -1, 0, 0, NULL, NULL},
	{"150 ok\r\n", -1, 0, 0, NULL, NULL},
	{"650 ok\r\n", -1, 0, 0, NULL, NULL},
	{"2x0 ok\r\n", -1, 0, 0, NULL, NULL},
	{"\r\n", -1, 0, 0, NULL, NULL},
	{"HTTP/1.1 200\r\n", -1, 0, 0, NULL, NULL},
};

static void test_replies(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct smtp_reply reply;
		size_t len = strlen(cases[i].bytes), used = 0;
		int found = smtp_reply_read(cases[i].bytes, len, &reply, &used);

		if (found != cases[i].found)
			fail_msg("%s: %d", cases[i].bytes, found);
		if (found != 1)
			continue;
		assert_int_equal(used, len - cases[i].left);
		assert_int_equal(reply.code, cases[i].code);
		assert_string_equal(reply.status, cases[i].status);
		assert_string_equal(reply.text, cases[i].text);
	}
}

static void test_long_replies(void **state)
{
	_cleanup_buf_ struct buf bytes = BUF_INIT;
	struct smtp_reply reply;
	size_t used;

	(void)state;
	while (bytes.len < SMTP_REPLY_MAX / 2)
		buf_add_str(&bytes, "250-0123456789\r\n");
	buf_add_str(&bytes, "250 end\r\n");
	assert_int_equal(smtp_reply_read(bytes.data, bytes.len, &reply, &used), 1);
	assert_int_equal(used, bytes.len);
	assert_int_equal(strlen(reply.text), SMTP_REPLY_TEXT_MAX - 1);

	buf_clear(&bytes);
	while (bytes.len < SMTP_REPLY_MAX)
		buf_add_str(&bytes, "250-0123456789\r\n");
	assert_int_equal(smtp_reply_read(bytes.data, bytes.len, &reply, &used), -1);
}

static void test_ehlo(void **state)
{
	static const struct {
		const char *text;
		const char *found; /* p, s, 8, u */
	} offers[] = {
		{"host", "----"},
		{"PIPELINING", "----"},
		{"host\nPIPELINING\nSIZE 100\n8BITMIME\nSMTPUTF8", "ps8u"},
		{"host\nsize\npipelining", "ps--"},
		{"host\nSIZES 5\nXPIPELINING\n8BITMIMEX", "----"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(offers); i++) {
		struct smtp_extensions e = smtp_ehlo_read(offers[i].text);
		const char found[] = {e.pipelining ? 'p' : '-', e.size ? 's' : '-',
			e.eight_bit ? '8' : '-', e.utf8 ? 'u' : '-', '\0'};

		assert_string_equal(found, offers[i].found);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		int code;
		enum inject_result result;
		enum err_code err;
	} codes[] = {
		{421, INJECT_TEMPORARY, ERR_TEMPORARY},
		{450, INJECT_TEMPORARY, ERR_TEMPORARY},
		{250, INJECT_TEMPORARY, ERR_TEMPORARY},
		{500, INJECT_REJECTED, ERR_INVALID},
		{501, INJECT_REJECTED, ERR_INVALID},
		{503, INJECT_REJECTED, ERR_INVALID},
		{555, INJECT_REJECTED, ERR_INVALID},
		{550, INJECT_REJECTED, ERR_INVALID},
		{552, INJECT_REJECTED, ERR_TOO_LARGE},
		{554, INJECT_REJECTED, ERR_INVALID},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct smtp_reply reply = {codes[i].code, "1.2.3", "so\nit is"};
		struct err err = ERR_INIT;

		assert_int_equal(smtp_refusal(&reply, "the email", &err), codes[i].result);
		assert_int_equal(err.code, codes[i].err);
		assert_non_null(strstr(err.text, "the email: "));
		assert_non_null(strstr(err.text, "1.2.3 so it is"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replies),
		cmocka_unit_test(test_long_replies),
		cmocka_unit_test(test_ehlo),
		cmocka_unit_test(test_refusals),
	};

	return cmocka_run_group_tests_name("smtp_reply", tests, NULL, NULL);
}
