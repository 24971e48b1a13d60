/*
 * store_clean: what goes when it is old, what never does, and how much at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/str.h"
#include "core/store/email/store_purge.h"
#include "tests/unit/temp_db.h"

static const int64_t second_us = 1000000;
static const int64_t now_us = 1700000000 * second_us;
static const int64_t old_us = now_us - STORE_CLEAN_KEEP_S * second_us;
static const int64_t key_old_us = now_us - STORE_IDEMPOTENCY_KEEP_S * second_us;

static const char sql_emails[] = "SELECT count(*) FROM email";
static const char sql_contents[] = "SELECT count(*) FROM email_content";
static const char sql_tickets[] = "SELECT count(*) FROM superseded_ticket";
static const char sql_keys[] = "SELECT count(*) FROM idempotency";

enum { ALL = 1000 };

static struct clean walk;

static int setup(void **state)
{
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	walk = (struct clean){0};
	temp->more = mem_new(struct temp_tenant);
	temp_db_tenant(temp->db, "Acme", "example.com", temp->more);
	return 0;
}

static void stage(struct temp_db *temp, int64_t created_us)
{
	struct email email;

	temp_db_email(temp->more, &email);
	email.created_us = created_us;
	OK(store_email_stage(temp->db, &email, &why));
	store_email_clear(&email);
}

static void test_emails(void **state)
{
	static const struct {
		const char *state; /* of its row */
		int64_t created_us;
		int left;
	} cases[] = {
		{"state = 'staged'", old_us, 0},
		{"state = 'staged'", 1, 0},
		{"state = 'staged'", old_us + 1, 1},
		{"state = 'staged'", key_old_us, 1},
		{"state = 'staged'", now_us, 1},
		{"state = 'staged', queue_id = 'Q'", old_us, 1}, /* doubted */
		{"state = 'sent'", old_us, 1},
		{"state = 'sent', queue_id = 'Q'", old_us, 1},
		{"state = 'refused', refusal = 'no'", old_us, 1},
		{"state = 'refused', refusal = 'no', queue_id = 'Q'", 1, 1},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *sql = mem_printf("UPDATE email SET %s", cases[i].state);

		OK(db_exec(temp->db, "DELETE FROM email", &why));
		stage(temp, cases[i].created_us);
		OK(db_exec(temp->db, sql, &why));
		assert_int_equal(store_clean(temp->db, &walk, now_us, ALL, NULL), 0);
		assert_int_equal(temp_db_number(temp->db, sql_emails), cases[i].left);
		assert_int_equal(temp_db_number(temp->db, sql_contents), cases[i].left);
	}
}

/* Stages an email, which leaves a superseded ticket when it got another one. */
static void supersede(struct temp_db *temp, int64_t created_us)
{
	struct email email;

	temp_db_email(temp->more, &email);
	email.created_us = created_us;
	OK(store_email_stage(temp->db, &email, &why));
	secret_ticket(email.ticket);
	assert_int_equal(store_email_supersede(temp->db, &email, NULL), 1);
	store_email_clear(&email);
}

static void test_tickets(void **state)
{
	struct temp_db *temp = *state;

	supersede(temp, 1);
	supersede(temp, old_us);
	supersede(temp, old_us + 1);
	supersede(temp, now_us);
	OK(db_exec(temp->db, "UPDATE email SET state = 'sent'", &why));
	assert_int_equal(store_clean(temp->db, &walk, now_us, ALL, NULL), 0);
	assert_int_equal(temp_db_number(temp->db, sql_tickets), 2);
	assert_int_equal(temp_db_number(temp->db, sql_emails), 4);
	assert_int_equal(temp_db_number(temp->db,
				 "SELECT count(*) FROM superseded_ticket s"
				 " JOIN email e ON e.id = s.email_id"
				 " AND e.created_us = s.created_us"),
		2);
}

static void add_key(struct temp_db *temp, uint8_t number, int64_t created_us)
{
	const struct idempotency_key key = {.hash = {number}};
	struct idempotency row = {.created_us = created_us};

	strv_add(&row.results, "id");
	OK(store_idempotency_add(temp->db, &key, &row, &why));
	store_idempotency_clear(&row);
}

static void test_keys(void **state)
{
	static const int64_t created_us[] = {now_us, key_old_us + 1, key_old_us, 1};
	struct temp_db *temp = *state;

	/* The newest first: adding one removes what is old then. */
	for (size_t i = 0; i < ARRAY_SIZE(created_us); i++)
		add_key(temp, (uint8_t)i, created_us[i]);
	assert_int_equal(store_clean(temp->db, &walk, now_us, ALL, NULL), 0);
	assert_int_equal(temp_db_number(temp->db, sql_keys), 2);
}

/* A round takes so many of each kind, emails after the others, and tells whether there may be more.
 * With SQLite the oldest email goes first. */
static void test_rounds(void **state)
{
	static const struct {
		int result, emails, tickets, keys;
	} rounds[] = {{1, 5, 1, 3}, {1, 5, 0, 1}, {1, 3, 0, 0}, {1, 1, 0, 0}, {0, 1, 0, 0}};
	struct temp_db *temp = *state;

	supersede(temp, old_us - 1);
	supersede(temp, 2);
	supersede(temp, old_us);
	stage(temp, 1);
	stage(temp, now_us);
	for (uint8_t i = 0; i < 5; i++)
		add_key(temp, i, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rounds); i++) {
		assert_int_equal(store_clean(temp->db, &walk, now_us, 2, NULL), rounds[i].result);
		assert_int_equal(temp_db_number(temp->db, sql_emails), rounds[i].emails);
		assert_int_equal(temp_db_number(temp->db, sql_tickets), rounds[i].tickets);
		assert_int_equal(temp_db_number(temp->db, sql_keys), rounds[i].keys);
		if (i == 2 && !db_is_url(temp->name))
			assert_true(temp_db_number(temp->db,
					    "SELECT min(created_us)"
					    " FROM email") == old_us - 1);
	}
}

/* A step looks at the emails of so many companies, and the next one at those of the next. */
static void test_companies(void **state)
{
	static const char sql_add[] =
		"WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $n)"
		" INSERT INTO email (seq, id, ticket, company_id, key_id, domain, sender,"
		"   header_from, reply_to, subject, message_id, created_us, state)"
		" SELECT n, 'id ' || n, 'ticket ' || n, 'company ' || n, '', '', '', '', '', '', '',"
		"   1, 'staged'"
		" FROM n";
	static const int left[] = {STORE_CLEAN_OWNERS + 1, 1, 0};
	struct temp_db *temp = *state;

	for (int i = 0; i < 2; i++) {
		assert_int_equal(db_change(temp->db, sql_add,
					 DB_PARAMS(DB_INT("$n", 2 * STORE_CLEAN_OWNERS + 1)), NULL),
			2 * STORE_CLEAN_OWNERS + 1);
		for (size_t k = 0; k < ARRAY_SIZE(left); k++) {
			assert_int_equal(
				store_clean(temp->db, &walk, now_us, 10 * ALL, NULL), left[k] > 0);
			assert_int_equal(temp_db_number(temp->db, sql_emails), left[k]);
		}
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(emails),
		TEST(tickets),
		TEST(keys),
		TEST(rounds),
		TEST(companies),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
