/*
 * in_hand: however much one company has in hand, the others find room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "httpd/outbox/in_hand.h"

enum { MOST = 1000 };

static struct in_hand new_in_hand(void)
{
	struct in_hand in_hand = {0};

	in_hand_set_limits(&in_hand, MOST, INT64_MAX);
	return in_hand;
}

/* How many of that size it gets in. */
static int fill(struct in_hand *in_hand, const char *company_id, int64_t bytes, bool fed)
{
	int n = 0;

	while (in_hand_enter(in_hand, company_id, bytes, fed))
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
	struct in_hand in_hand = new_in_hand();

	(void)state;
	assert_int_equal(fill(&in_hand, "a", 1, false), MOST / 2);
	assert_int_equal(fill(&in_hand, "b", 1, false), MOST / 4);
	assert_int_equal(in_hand_emails(&in_hand), MOST / 2 + MOST / 4);
	assert_false(in_hand_enter(&in_hand, "a", 1, false));
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
	struct in_hand in_hand = new_in_hand();
	int large;

	(void)state;
	large = fill(&in_hand, "a", LARGE, false);
	assert_in_range(large, 1, 2);
	assert_true(in_hand_enter(&in_hand, "b", LARGE, false));
	assert_true(in_hand_enter(&in_hand, "c", 1000, false));
	in_hand_clear(&in_hand);
}

/* Where requests have little memory, less of it is in hand. */
static void test_little_memory(void **state)
{
	enum { MEGABYTE = 1024 * 1024 };
	struct in_hand in_hand = new_in_hand();

	(void)state;
	in_hand_set_limits(&in_hand, MOST, 64 * MEGABYTE);
	assert_int_equal(fill(&in_hand, "a", 5 * MEGABYTE, false), 2);
	in_hand_set_limits(&in_hand, MOST, 256 * MEGABYTE);
	assert_int_equal(fill(&in_hand, "a", 5 * MEGABYTE, false), 5);
	in_hand_clear(&in_hand);
}

/* Whether to look for more at all: else what is taken would only be given back. */
static void test_room(void **state)
{
	enum { LARGE = IN_HAND_BYTES / 5 * 2 };
	struct in_hand in_hand = new_in_hand();

	(void)state;
	assert_true(in_hand_has_room(&in_hand));
	assert_true(in_hand_enter(&in_hand, "a", LARGE, true));
	assert_true(in_hand_enter(&in_hand, "a", LARGE, true));
	assert_true(in_hand_has_room(&in_hand));
	assert_true(in_hand_enter(&in_hand, "b", LARGE, true));
	assert_false(in_hand_has_room(&in_hand));
	in_hand_leave(&in_hand, "a", LARGE, true);
	assert_true(in_hand_has_room(&in_hand));
	in_hand_clear(&in_hand);
}

/* The feeder leaves out who has enough, and nobody else; what comes with requests does
 * not count there. */
static void test_fed(void **state)
{
	struct in_hand in_hand = new_in_hand();
	_cleanup_buf_ struct buf full = BUF_INIT;

	(void)state;
	for (int i = 0; i < IN_HAND_FROM_STORE / 2; i++) {
		assert_true(in_hand_enter(&in_hand, "a", 1, true));
		assert_true(in_hand_enter(&in_hand, "b", 1, false));
	}
	in_hand_full(&in_hand, &full);
	assert_string_equal(buf_str(&full), "a");
	in_hand_leave(&in_hand, "a", 1, true);
	buf_clear(&full);
	in_hand_full(&in_hand, &full);
	assert_string_equal(buf_str(&full), "");
	fill(&in_hand, "b", 1, false);
	in_hand_full(&in_hand, &full);
	assert_string_equal(buf_str(&full), "b");
	in_hand_clear(&in_hand);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_emails),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_fed),
		cmocka_unit_test(test_little_memory),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
