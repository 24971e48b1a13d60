/*
 * in_hand: however much one company has in hand, the others find room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "httpd/outbox/in_hand.h"

enum { MOST = 1000 };

/* How many of that size it gets in. */
static int fill(struct in_hand *in_hand, const char *company_id, int64_t bytes, bool fed)
{
	int n = 0;

	while (in_hand_enter(in_hand, company_id, bytes, fed, MOST))
		n++;
	return n;
}

static void empty(struct in_hand *in_hand, const char *company_id, int64_t bytes, bool fed, int n)
{
	for (int i = 0; i < n; i++)
		in_hand_leave(in_hand, company_id, bytes, fed);
}

static void test_emails(void **state)
{
	struct in_hand in_hand = {0};

	(void)state;
	assert_int_equal(fill(&in_hand, "a", 1, false), MOST / 2);
	assert_int_equal(fill(&in_hand, "b", 1, false), MOST / 4);
	assert_int_equal(in_hand_emails(&in_hand), MOST / 2 + MOST / 4);
	assert_false(in_hand_enter(&in_hand, "a", 1, false, MOST));
	empty(&in_hand, "a", 1, false, MOST / 2);
	assert_int_equal(in_hand.n, 1);
	empty(&in_hand, "b", 1, false, MOST / 4);
	assert_int_equal(in_hand.n, 0);
	assert_int_equal(in_hand.all.bytes, 0);
	in_hand_clear(&in_hand);
}

/* Large messages of one company leave room for those of others. */
static void test_bytes(void **state)
{
	enum { LARGE = 20 * 1024 * 1024 };
	struct in_hand in_hand = {0};
	int large;

	(void)state;
	large = fill(&in_hand, "a", LARGE, false);
	assert_in_range(large, 1, 2);
	assert_true(in_hand_enter(&in_hand, "b", LARGE, false, MOST));
	assert_true(in_hand_enter(&in_hand, "c", 1000, false, MOST));
	in_hand_clear(&in_hand);
}

/* Whether to look for more at all: else what is taken would only be given back. */
static void test_room(void **state)
{
	enum { LARGE = IN_HAND_BYTES / 5 * 2 };
	struct in_hand in_hand = {0};

	(void)state;
	assert_true(in_hand_has_room(&in_hand, MOST));
	assert_true(in_hand_enter(&in_hand, "a", LARGE, true, MOST));
	assert_true(in_hand_enter(&in_hand, "a", LARGE, true, MOST));
	assert_true(in_hand_has_room(&in_hand, MOST));
	assert_true(in_hand_enter(&in_hand, "b", LARGE, true, MOST));
	assert_false(in_hand_has_room(&in_hand, MOST));
	in_hand_leave(&in_hand, "a", LARGE, true);
	assert_true(in_hand_has_room(&in_hand, MOST));
	in_hand_clear(&in_hand);
}

/* The feeder leaves out who has enough, and nobody else; what comes with requests does
 * not count there. */
static void test_fed(void **state)
{
	struct in_hand in_hand = {0};
	_cleanup_buf_ struct buf full = BUF_INIT;

	(void)state;
	for (int i = 0; i < IN_HAND_FROM_STORE / 2; i++) {
		assert_true(in_hand_enter(&in_hand, "a", 1, true, MOST));
		assert_true(in_hand_enter(&in_hand, "b", 1, false, MOST));
	}
	in_hand_full(&in_hand, MOST, &full);
	assert_string_equal(buf_str(&full), "a");
	in_hand_leave(&in_hand, "a", 1, true);
	buf_clear(&full);
	in_hand_full(&in_hand, MOST, &full);
	assert_string_equal(buf_str(&full), "");
	fill(&in_hand, "b", 1, false);
	in_hand_full(&in_hand, MOST, &full);
	assert_string_equal(buf_str(&full), "b");
	in_hand_clear(&in_hand);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_emails),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_fed),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
