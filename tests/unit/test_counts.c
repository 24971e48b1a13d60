/*
 * What the milter counts, and when it logs that.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "milter/service.h"

static void test_counts(void **state)
{
	struct counts counts = {0};

	(void)state;
	assert_false(counts_log(&counts, NULL));
	for (size_t i = 0; i < VERDICT_ACTIONS; i++) {
		counts_add(&counts, (struct verdict){(enum verdict_action)i, REASON_NONE});
		assert_int_equal(counts.of[i], 1);
		assert_true(counts_log(&counts, NULL));
		assert_false(counts_log(&counts, NULL));
	}
}

/* A row: a message comes before the look, when that is, and how many of the
 * messages are logged after it. */
static const struct {
	bool message;
	int64_t now_us;
	uint64_t logged;
} looks[] = {
	{true, 1, 0},
	{false, (int64_t)COUNTS_LOG_MS * 1000, 0},
	{false, (int64_t)COUNTS_LOG_MS * 1000 + 1, 1},
	{true, (int64_t)COUNTS_LOG_MS * 1000 + 2, 1},
	{true, (int64_t)COUNTS_LOG_MS * 2000, 1},
	{false, (int64_t)COUNTS_LOG_MS * 2000 + 1, 3},
};

static void test_once_an_hour(void **state)
{
	struct counts counts = {0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		if (looks[i].message)
			counts_add(
				&counts, (struct verdict){VERDICT_TEMPFAIL, REASON_STORE_FAILED});
		counts_log_hourly(&counts, NULL, looks[i].now_us);
		assert_int_equal(counts.logged, looks[i].logged);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_once_an_hour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
