/*
 * store_probe: tickets that show whether the milter was asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/store/store_probe.h"
#include "tests/unit/temp_db.h"

enum { NOW_US = 1000 };

static void test_a_probe_is_seen(void **state)
{
	struct temp_db *temp = *state;
	char ticket[SECRET_TICKET_SIZE], other[SECRET_TICKET_SIZE];
	struct probe probe;

	OK(store_probe_add(temp->db, NOW_US, false, ticket, &why));
	OK(store_probe_add(temp->db, NOW_US, false, other, &why));
	assert_string_not_equal(ticket, other);
	assert_int_equal(store_probe_get(temp->db, ticket, &probe, NULL), 1);
	assert_true(probe.seen_us == 0);
	assert_string_equal(probe.queue_id, "");
	store_probe_clear(&probe);
	assert_int_equal(store_probe_see(temp->db, ticket, "4F2A", true, NOW_US + 1, NULL), 1);
	assert_int_equal(store_probe_get(temp->db, ticket, &probe, NULL), 1);
	assert_string_equal(probe.ticket, ticket);
	assert_true(probe.created_us == NOW_US && probe.seen_us == NOW_US + 1);
	assert_string_equal(probe.queue_id, "4F2A");
	assert_true(probe.changed && probe.logged_us == 0 && probe.taken_us == 0);
	store_probe_clear(&probe);
	assert_int_equal(store_probe_get(temp->db, other, &probe, NULL), 1);
	assert_true(probe.seen_us == 0);
	store_probe_clear(&probe);
	assert_int_equal(store_probe_see(temp->db, "no ticket", "4F2A", false, NOW_US, NULL), 0);
	assert_int_equal(store_probe_get(temp->db, "no ticket", &probe, NULL), 0);
}

static void test_what_the_log_tells(void **state)
{
	struct temp_db *temp = *state;
	char through[SECRET_TICKET_SIZE], discarded[SECRET_TICKET_SIZE];
	struct postfix_news news;
	struct probe probe;

	OK(store_probe_add(temp->db, NOW_US, true, through, &why));
	OK(store_probe_add(temp->db, NOW_US, false, discarded, &why));
	assert_int_equal(store_probe_logged(temp->db, through, 5, NULL), 1);
	assert_int_equal(store_probe_taken(temp->db, through, 6, NULL), 1);
	assert_int_equal(store_probe_refused(temp->db, through, "5.7.1", NULL), 1);
	/* By our own milter. */
	assert_int_equal(store_probe_see(temp->db, discarded, "4F2A", false, 4, NULL), 1);
	assert_int_equal(store_probe_refused(temp->db, discarded, "discard", NULL), 0);
	assert_int_equal(store_probe_get(temp->db, through, &probe, NULL), 1);
	assert_true(probe.logged_us == 5 && probe.taken_us == 6);
	assert_string_equal(probe.refusal, "5.7.1");
	store_probe_clear(&probe);
	assert_int_equal(store_postfix_news_get(temp->db, &news, NULL), 1);
	assert_true(news.reloaded_us == 0 && news.taken_us == 0);
	assert_int_equal(store_postfix_news_set(temp->db,
				 &(struct postfix_news){.reloaded_us = 7, .taken_us = 8}, NULL),
		1);
	assert_int_equal(store_postfix_news_get(temp->db, &news, NULL), 1);
	assert_true(news.reloaded_us == 7 && news.taken_us == 8);
}

static void test_old_ones_go(void **state)
{
	const int64_t day_us = STORE_PROBE_KEEP_S * INT64_C(1000000);
	struct temp_db *temp = *state;
	char ticket[SECRET_TICKET_SIZE], other[SECRET_TICKET_SIZE];
	struct probe probe;

	OK(store_probe_add(temp->db, NOW_US, false, ticket, &why));
	OK(store_probe_add(temp->db, NOW_US + day_us, false, other, &why));
	assert_int_equal(store_probe_get(temp->db, ticket, &probe, NULL), 1);
	store_probe_clear(&probe);
	OK(store_probe_add(temp->db, NOW_US + day_us + 1, false, other, &why));
	assert_int_equal(store_probe_get(temp->db, ticket, &probe, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_probe_is_seen, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_what_the_log_tells, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_old_ones_go, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
