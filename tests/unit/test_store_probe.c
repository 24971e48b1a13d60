/*
 * store_probe: tickets that show whether the milter was asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/clock.h"
#include "core/store/host/store_log.h"
#include "core/store/outbox/store_probe.h"
#include "tests/unit/temp_db.h"

enum { NOW_US = 1000 };

static void test_a_probe_is_seen(void **state)
{
	struct temp_db *temp = *state;
	struct probe_secrets ticket, other;
	struct probe probe;

	OK(store_probe_add(temp->db, NOW_US, EMAIL_WAY_SENDMAIL, false, &ticket, &why));
	OK(store_probe_add(temp->db, NOW_US, EMAIL_WAY_SENDMAIL, false, &other, &why));
	assert_string_not_equal(ticket.ticket, other.ticket);
	assert_string_not_equal(ticket.nonce, ticket.ticket);
	assert_int_equal(store_probe_get(temp->db, ticket.ticket, &probe, NULL), 1);
	assert_true(probe.seen_us == 0);
	assert_string_equal(probe.queue_id, "");
	store_probe_clear(&probe);
	assert_int_equal(store_probe_see(temp->db, ticket.ticket, "4F2A", PROBE_OTHER_FROM,
				 NOW_US + 1, NULL),
		1);
	assert_int_equal(store_probe_get(temp->db, ticket.ticket, &probe, NULL), 1);
	assert_string_equal(probe.ticket, ticket.ticket);
	assert_string_equal(probe.nonce, ticket.nonce);
	assert_true(probe.created_us == NOW_US && probe.seen_us == NOW_US + 1);
	assert_string_equal(probe.queue_id, "4F2A");
	assert_true(
		probe.changed == PROBE_OTHER_FROM && probe.logged_us == 0 && probe.taken_us == 0);
	store_probe_clear(&probe);
	/* a second message to its ticket is not the probe's */
	assert_int_equal(
		store_probe_see(temp->db, ticket.ticket, "5F2A", PROBE_OTHER_ID, NOW_US + 2, NULL),
		0);
	assert_int_equal(store_probe_get(temp->db, ticket.ticket, &probe, NULL), 1);
	assert_true(probe.changed == PROBE_OTHER_FROM && probe.seen_us == NOW_US + 1);
	store_probe_clear(&probe);
	assert_int_equal(store_probe_get(temp->db, other.ticket, &probe, NULL), 1);
	assert_true(probe.seen_us == 0);
	store_probe_clear(&probe);
	assert_int_equal(
		store_probe_see(temp->db, "no ticket", "4F2A", PROBE_SAME, NOW_US, NULL), 0);
	assert_int_equal(store_probe_get(temp->db, "no ticket", &probe, NULL), 0);
}

static void test_what_the_log_tells(void **state)
{
	struct temp_db *temp = *state;
	struct probe_secrets through, discarded;
	struct postfix_notes news;
	struct probe probe;

	OK(store_probe_add(temp->db, NOW_US, EMAIL_WAY_SENDMAIL, true, &through, &why));
	OK(store_probe_add(temp->db, NOW_US, EMAIL_WAY_SENDMAIL, false, &discarded, &why));
	assert_int_equal(store_probe_logged(temp->db, through.ticket, 5, NULL), 1);
	assert_int_equal(store_probe_taken(temp->db, through.ticket, 6, NULL), 1);
	assert_int_equal(store_probe_refused(temp->db, through.ticket, "5.7.1", NULL), 1);
	/* By our own milter. */
	assert_int_equal(
		store_probe_see(temp->db, discarded.ticket, "4F2A", PROBE_SAME, 4, NULL), 1);
	assert_int_equal(store_probe_refused(temp->db, discarded.ticket, "discard", NULL), 0);
	assert_int_equal(store_probe_get(temp->db, through.ticket, &probe, NULL), 1);
	assert_true(probe.logged_us == 5 && probe.taken_us == 6);
	assert_string_equal(probe.refusal, "5.7.1");
	store_probe_clear(&probe);
	assert_int_equal(store_postfix_notes_get(temp->db, &news, NULL), 0);
	assert_int_equal(store_postfix_notes_set(temp->db,
				 &(struct postfix_notes){.reloaded_us = 7, .taken_us = 8}, NULL),
		1);
	assert_int_equal(store_postfix_notes_get(temp->db, &news, NULL), 1);
	assert_true(news.reloaded_us == 7 && news.taken_us == 8);
}

static void see(struct temp_db *temp, int64_t at_us, bool logged)
{
	struct probe_secrets ticket;

	OK(store_probe_add(temp->db, at_us, EMAIL_WAY_SENDMAIL, true, &ticket, &why));
	assert_int_equal(
		store_probe_see(temp->db, ticket.ticket, "4F2A", PROBE_SAME, at_us + 1, NULL), 1);
	if (logged)
		assert_int_equal(store_probe_logged(temp->db, ticket.ticket, at_us + 2, NULL), 1);
}

/* The log is read, and tells nothing of a probe that the milter has seen. */
static void test_a_mute_log(void **state)
{
	struct temp_db *temp = *state;
	struct probe_secrets session;
	struct log_state log;

	see(temp, 1 * SECOND_US, false); /* of before it was told at all */
	OK(store_log_cursor_set(temp->db, "a", "x", 100 * SECOND_US, true, &why));
	OK(store_log_state(temp->db, NULL, &log, &why));
	assert_true(log.mute_us == 0 && log_state_is_current(&log, 101 * SECOND_US));
	see(temp, 31 * SECOND_US, true);
	see(temp, 71 * SECOND_US, false);
	OK(store_log_state(temp->db, NULL, &log, &why));
	assert_true(log.mute_us == 0); /* it may still come */
	OK(store_log_cursor_set(temp->db, "a", "x", 102 * SECOND_US, true, &why));
	OK(store_log_state(temp->db, NULL, &log, &why));
	assert_true(log.mute_us == 71 * SECOND_US + 1);
	assert_false(log_state_is_current(&log, 103 * SECOND_US));
	see(temp, 99 * SECOND_US, true);
	OK(store_log_state(temp->db, NULL, &log, &why));
	assert_true(log.mute_us == 0 && log_state_is_current(&log, 103 * SECOND_US));
	/* A session without a message leaves nothing in the log. */
	OK(store_probe_add(temp->db, 101 * SECOND_US, EMAIL_WAY_ANY, false, &session, &why));
	assert_int_equal(store_probe_see(temp->db, session.ticket, "", PROBE_SAME,
				 101 * SECOND_US + 1, NULL),
		1);
	OK(store_log_cursor_set(temp->db, "a", "x", 140 * SECOND_US, true, &why));
	OK(store_log_state(temp->db, NULL, &log, &why));
	assert_true(log.mute_us == 0);
}

static void test_old_ones_go(void **state)
{
	const int64_t day_us = STORE_PROBE_KEEP_S * INT64_C(1000000);
	struct temp_db *temp = *state;
	struct probe_secrets ticket, other;
	struct probe probe;

	OK(store_probe_add(temp->db, NOW_US, EMAIL_WAY_SENDMAIL, false, &ticket, &why));
	OK(store_probe_add(temp->db, NOW_US + day_us, EMAIL_WAY_SENDMAIL, false, &other, &why));
	assert_int_equal(store_probe_get(temp->db, ticket.ticket, &probe, NULL), 1);
	store_probe_clear(&probe);
	OK(store_probe_add(temp->db, NOW_US + day_us + 1, EMAIL_WAY_SENDMAIL, false, &other, &why));
	assert_int_equal(store_probe_get(temp->db, ticket.ticket, &probe, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_a_probe_is_seen, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_a_mute_log, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_what_the_log_tells, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_old_ones_go, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
