/* store_later_refusal: a message counts once, and the number of rows is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/email/store_email.h"
#include "core/store/host/store_later_refusal.h"
#include "tests/unit/temp_db.h"

static void assert_count(struct temp_db *temp, int64_t since_us, int64_t wanted, const char *text)
{
	_cleanup_free_ char *said = NULL;
	int64_t n;

	OK(store_later_refusal_count(temp->db, since_us, &n, &said, &why));
	assert_int_equal(n, wanted);
	if (text)
		assert_string_equal(said, text);
	else
		assert_null(said);
}

static void test_each_message_once(void **state)
{
	struct temp_db *temp = *state;

	assert_count(temp, 0, 0, NULL);
	OK(store_later_refusal_add(temp->db, "A", "spam", 1000, &why));
	OK(store_later_refusal_add(temp->db, "A", "said again", 1500, &why));
	OK(store_later_refusal_add(temp->db, "B", "virus", 2000, &why));
	assert_count(temp, 0, 2, "virus");
	assert_count(temp, 1500, 1, "virus");
	assert_count(temp, 2001, 0, NULL);
	OK(store_later_refusal_add(temp->db, "C", "new", 1001 + DAY_US, &why));
	assert_count(temp, 0, 2, "new");
}

static void test_bounded(void **state)
{
	struct temp_db *temp = *state;
	char queue_id[16];

	OK(db_exec(temp->db, "BEGIN", &why));
	for (int i = 0; i < LATER_REFUSALS_MAX + 10; i++) {
		snprintf(queue_id, sizeof(queue_id), "Q%d", i);
		OK(store_later_refusal_add(temp->db, queue_id, "no", 1000 + i, &why));
	}
	OK(db_exec(temp->db, "COMMIT", &why));
	assert_count(temp, 0, LATER_REFUSALS_MAX, "no");
}

static int setup(void **state)
{
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = mem_new(struct temp_tenant);
	temp_db_tenant(temp->db, "One", "one.test", temp->more);
	return 0;
}

/* Only if the milter had let it pass: else the refusal is its own. */
static void test_of_an_email(void **state)
{
	struct temp_db *temp = *state;
	struct email emails[3];

	for (size_t i = 0; i < ARRAY_SIZE(emails); i++) {
		temp_db_email(temp->more, &emails[i]);
		OK(store_email_stage(temp->db, &emails[i], &why));
	}
	store_email_record(temp->db, emails[0].ticket, "Q0", 1, NULL);
	store_email_refuse(temp->db, emails[1].ticket, "Q1", "no", 1, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(emails); i++)
		OK(store_later_refusal_add_email(temp->db, emails[i].ticket, "spam", 1000, &why));
	assert_count(temp, 0, 1, "spam");
	OK(store_later_refusal_add_email(temp->db, emails[0].id, "spam", 1000, &why));
	OK(store_later_refusal_add_email(temp->db, "none", "spam", 1000, &why));
	assert_count(temp, 0, 1, "spam");
	for (size_t i = 0; i < ARRAY_SIZE(emails); i++)
		store_email_clear(&emails[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_each_message_once, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_bounded, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_of_an_email, setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
