/* suppression_csv: what is written is read again, and no cell begins like a formula; times of
 * other services are understood. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/suppression_csv.h"

static void test_round_trip(void **state)
{
	static const struct {
		const char *address, *text;
		const char *cell; /* how the text is written */
	} cases[] = {
		{"ann@dst.test", "no such user", "no such user"},
		{"ann@dst.test", "550, \"no\"", "\"550, \"\"no\"\"\""},
		{"ann@dst.test", "two\nlines", "\"two\nlines\""},
		{"ann@dst.test", "=HYPERLINK(1)", "'=HYPERLINK(1)"},
		{"ann@dst.test", "=1,2", "\"'=1,2\""},
		{"ann@dst.test", "+1", "'+1"},
		{"ann@dst.test", "-1", "'-1"},
		{"ann@dst.test", "@a", "'@a"},
		{"ann@dst.test", "'=1", "''=1"},
		{"ann@dst.test", "'quoted'", "'quoted'"},
		{"=1+2@dst.test", "x", "x"},
		{"'+ann@dst.test", "x", "x"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *address = mem_strdup(cases[i].address), *text = mem_strdup(cases[i].text);
		const struct suppression one = {.address = address, .text = text};
		_cleanup_free_ char *cell = mem_printf(",%s,,", cases[i].cell);
		_cleanup_buf_ struct buf out = BUF_INIT;
		struct suppression_csv csv;
		struct err err = ERR_INIT;

		suppression_csv_head(&out);
		suppression_csv_add(&out, &one);
		if (strstr(buf_str(&out), cell) == NULL || strstr(buf_str(&out), "\n=") ||
			strstr(buf_str(&out), ",="))
			fail_msg("%s", buf_str(&out));
		assert_int_equal(
			suppression_csv_read(buf_str(&out), out.len, false, &csv, &err), 0);
		assert_int_equal(csv.n, 1);
		assert_string_equal(csv.items[0].address, address);
		assert_string_equal(csv.items[0].text, text);
		suppression_csv_clear(&csv);
		free(address);
		free(text);
	}
}

static void test_created(void **state)
{
	static const struct {
		const char *cell;
		int64_t seconds; /* 0: not given */
	} cases[] = {
		{"2011-10-13T18:02:00Z", 1318528920},
		{"2011-10-13T18:02:00.000000+00:00", 1318528920},
		{"\"Thu, 13 Oct 2011 18:02:00 GMT\"", 1318528920},
		{"\"Thu, 13 Oct 2011 20:02:00 +0200\"", 1318528920},
		{"13 Oct 2011 18:02:00 UTC", 1318528920},
		/* Go's time that is not set. */
		{"\"Mon, 01 Jan 0001 00:00:00 +0000\"", 0},
		{"\"Mon, 01 Jan 0001 00:00:00 UTC\"", 0},
		{"0001-01-01T00:00:00Z", 0},
		{"0001-01-01 00:00:00 +0000 UTC", 0},
		{"01/02/2024", 0},
		{"\"Wed, 31 Dec 1969 23:59:59 +0000\"", 0},
		{"30m", 0},
		{"yesterday", 0},
		{"", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = mem_printf(
			"address,created_at\na@dst.test,%s\n", cases[i].cell);
		struct suppression_csv csv;
		struct err err = ERR_INIT;

		assert_int_equal(suppression_csv_read(text, strlen(text), false, &csv, &err), 0);
		assert_int_equal(csv.n, 1);
		if (csv.items[0].created_us != cases[i].seconds * 1000000)
			fail_msg("%s: %lld", cases[i].cell, (long long)csv.items[0].created_us);
		suppression_csv_clear(&csv);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_created),
	};

	return cmocka_run_group_tests_name("suppression_csv", tests, NULL, NULL);
}
