/* store_webhook_event: when the events of webhooks are due after the clock was put back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/store/webhook/store_webhook_event.h"
#include "tests/unit/temp_db.h"

/* Events that are due by 5000 stay as they are, others are due at 1000; also what a replay, which
 * is due at 1, leaves for later. */
static void test_hurry(void **state)
{
	struct temp_db *temp = *state;

	OK(db_exec(temp->db,
		"INSERT INTO webhook_event (seq, id, webhook_id, type, body, status, due_us,"
		"   then_us, created_us)"
		" VALUES (1, 'a', 'w', 't', 'b', 'pending', 5000, 0, 1),"
		"   (2, 'b', 'w', 't', 'b', 'pending', 5001, 0, 1),"
		"   (3, 'c', 'w', 't', 'b', 'failed', 0, 0, 1),"
		"   (4, 'd', 'w', 't', 'b', 'attempting', 1, 5000, 1),"
		"   (5, 'e', 'w', 't', 'b', 'attempting', 1, 5001, 1)",
		&why));
	assert_int_equal(store_webhook_event_hurry(temp->db, 5000, 1000, NULL), 2);
	assert_int_equal(temp_db_number(temp->db,
				 "SELECT count(*) FROM webhook_event"
				 " WHERE (seq = 1 AND due_us = 5000 AND then_us = 0)"
				 " OR (seq = 2 AND due_us = 1000 AND then_us = 0)"
				 " OR (seq = 3 AND due_us = 0 AND then_us = 0)"
				 " OR (seq = 4 AND due_us = 1 AND then_us = 5000)"
				 " OR (seq = 5 AND due_us = 1 AND then_us = 1000)"),
		5);
	assert_int_equal(store_webhook_event_hurry(temp->db, 5000, 1000, NULL), 0);
}

/* Very many are made due in several transactions. */
static void test_hurry_many(void **state)
{
	struct temp_db *temp = *state;

	OK(db_exec(temp->db,
		"WITH RECURSIVE one (n) AS ("
		"   SELECT 1 UNION ALL SELECT n + 1 FROM one WHERE n < 1500)"
		" INSERT INTO webhook_event (seq, id, webhook_id, type, body, status, due_us,"
		"   then_us, created_us)"
		" SELECT n, 'm' || n, 'w', 't', 'b', 'pending', 5001, 0, 1 FROM one",
		&why));
	assert_int_equal(
		store_webhook_event_hurry(temp->db, 5000, 1000, NULL), WEBHOOK_EVENT_HURRY_MAX);
	assert_int_equal(store_webhook_event_hurry(temp->db, 5000, 1000, NULL), 500);
	assert_int_equal(store_webhook_event_hurry(temp->db, 5000, 1000, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hurry, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_hurry_many, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
