/* store_webhook_event: when the events of webhooks are due after the clock was put back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/store/webhook/store_webhook_event.h"
#include "tests/unit/temp_db.h"

enum { NOW = 1000, LATEST = 5000 };

static void test_hurry(void **state)
{
	static const struct {
		int64_t due_us, then_us;   /* before */
		int64_t due_now, then_now; /* afterwards */
	} rows[] = {
		{LATEST, 0, LATEST, 0},
		{LATEST + 1, 0, NOW, 0},
		/* none, or not any more */
		{0, 0, 0, 0},
		/* a replay */
		{WEBHOOK_REPLAY_DUE, LATEST, WEBHOOK_REPLAY_DUE, LATEST},
		{WEBHOOK_REPLAY_DUE, LATEST + 1, WEBHOOK_REPLAY_DUE, NOW},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *sql = mem_printf(
			"INSERT INTO webhook_event (seq, id, webhook_id, type, body, status,"
			"   due_us, then_us, created_us)"
			" VALUES (%zu, 'm%zu', 'w', 't', 'b', 'pending', %lld, %lld, 1)",
			i + 1, i, (long long)rows[i].due_us, (long long)rows[i].then_us);

		OK(db_exec(temp->db, sql, &why));
	}
	assert_int_equal(store_webhook_event_hurry(temp->db, LATEST, NOW, NULL), 2);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *due = mem_printf(
			"SELECT due_us FROM webhook_event WHERE seq = %zu", i + 1);
		_cleanup_free_ char *then = mem_printf(
			"SELECT then_us FROM webhook_event WHERE seq = %zu", i + 1);

		assert_int_equal(temp_db_number(temp->db, due), rows[i].due_now);
		assert_int_equal(temp_db_number(temp->db, then), rows[i].then_now);
	}
	assert_int_equal(store_webhook_event_hurry(temp->db, LATEST, NOW, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_hurry, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
