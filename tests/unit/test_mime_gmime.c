/*
 * mime_gmime: mailboxes and dates as strangers write them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_gmime.h"

static void on_mailbox(void *user, const char *spec, const char *name)
{
	buf_printf(user, "[%s|%s]", spec, name);
}

static void test_mailboxes(void **state)
{
	static const struct {
		const char *value;
		const char *found;
	} cases[] = {
		{"", ""},
		{"a@x.com", "[a@x.com|]"},
		{"A <a@x.com>, b@y.com (B)", "[a@x.com|A][b@y.com|B]"},
		{"G: a@x.com, H: b@y.com;;, c@z.com", "[a@x.com|][b@y.com|][c@z.com|]"},
		/* encoded words stay as they are */
		{"=?utf-8?q?A?= <a@x.com>", "[a@x.com|=?utf-8?q?A?=]"},
		{"==?\?=?=? <a@x.com>", "[a@x.com|==?\?=?=?]"},
		{"=?x?=@x.com", "[=?x?=@x.com|]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf found = BUF_INIT;

		mime_mailboxes(cases[i].value, on_mailbox, &found);
		assert_string_equal(buf_str(&found), cases[i].found);
	}
}

/* Groups in groups would each take stack. */
static void test_groups_without_end(void **state)
{
	_cleanup_buf_ struct buf value = BUF_INIT;
	_cleanup_buf_ struct buf found = BUF_INIT;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_add_str(&value, "G: ");
	buf_add_str(&value, "a@x.com;");
	mime_mailboxes(value.data, on_mailbox, &found);
	assert_string_equal(buf_str(&found), "");
}

static void test_dates(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds; /* -1: none */
	} cases[] = {
		{"Sat, 21 Nov 2026 02:43:18 +0100", 1795225398},
		{"21 Nov 2026 01:43:18 GMT", 1795225398},
		{"Fri, 20 Nov 2026 20:43:18 EST", 1795225398},
		{"Thu, 1 Jan 1970 00:00:00 +0000", 0},
		{"", -1},
		{"yesterday", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t time_us = 0;
		int result = mime_date_parse(cases[i].text, &time_us);

		assert_int_equal(result, cases[i].seconds < 0 ? -1 : 0);
		if (result == 0)
			assert_int_equal(time_us, cases[i].seconds * 1000000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mailboxes),
		cmocka_unit_test(test_groups_without_end),
		cmocka_unit_test(test_dates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
