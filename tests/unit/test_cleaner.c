/*
 * cleaner: when there is a round, what it removes, and that a failure passes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/conf/conf.h"
#include "core/store/email/store_message.h"
#include "core/store/email/store_purge.h"
#include "httpd/cleaner.h"
#include "tests/unit/count_syncs.h"
#include "tests/unit/temp_db.h"

static const int64_t every_us = CLEANER_EVERY_MS * INT64_C(1000);
static const char sql_keys[] = "SELECT count(*) FROM idempotency";

static struct {
	struct committer *committer;
	struct cleaner *cleaner;
} rig;

static int64_t a_day_later(const struct clock *clock)
{
	(void)clock;
	return STORE_IDEMPOTENCY_KEEP_S * INT64_C(1000000) + 1;
}

static const struct clock late = {a_day_later};

static int setup(void **state)
{
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	rig.committer = committer_new_inline(temp->db);
	rig.cleaner = cleaner_new(rig.committer, &late, NULL);
	return 0;
}

static int teardown(void **state)
{
	committer_free(rig.committer);
	cleaner_free(rig.cleaner);
	return temp_db_teardown(state);
}

static void add_keys(struct db *db, int n)
{
	static const char sql_add[] =
		"WITH RECURSIVE n (n) AS"
		" (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $n)"
		" INSERT INTO idempotency (company_id, key_hash, payload,"
		" created_us, settled, results)"
		" SELECT 'key ' || n, zeroblob(32), zeroblob(32), 1, 1, 'id'"
		" FROM n";
	struct db_stmt *stmt;

	OK(db_start(db, sql_add, DB_PARAMS(DB_INT("$n", n)), &stmt, &why));
	OK(db_run(stmt, &why));
}

static int round_at(int64_t now_us)
{
	uint64_t before = committer_stats(rig.committer).jobs;

	cleaner_round(rig.cleaner, now_us);
	return (int)(committer_stats(rig.committer).jobs - before);
}

static void test_once_a_minute(void **state)
{
	static const struct {
		int64_t now_us;
		int rounds;
	} cases[] = {
		{1, 1},
		{2, 0},
		{every_us, 0},
		{every_us + 1, 1},
		{every_us * 2, 0},
		{every_us * 9, 1},
		{every_us * 9 + 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(round_at(cases[i].now_us), cases[i].rounds);
}

/* At once while there is more, and never with a sync of its own. */
static void test_while_there_is_more(void **state)
{
	static const struct {
		int rounds, left;
	} cases[] = {{1, CLEANER_ROWS + 1}, {1, 1}, {1, 0}, {0, 0}};
	struct db *db = ((struct temp_db *)*state)->db;
	int syncs;

	add_keys(db, 2 * CLEANER_ROWS + 1);
	syncs = count_syncs();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(round_at(1), cases[i].rounds);
		assert_int_equal(temp_db_number(db, sql_keys), cases[i].left);
	}
	assert_int_equal(count_syncs(), syncs);
}

static void test_failure(void **state)
{
	struct db *db = ((struct temp_db *)*state)->db;

	add_keys(db, 1);
	OK(db_exec(db, "ALTER TABLE superseded_ticket RENAME TO aside", &why));
	assert_int_equal(round_at(1), 1);
	assert_int_equal(temp_db_number(db, sql_keys), 1);
	assert_int_equal(round_at(2), 0);
	OK(db_exec(db, "ALTER TABLE aside RENAME TO superseded_ticket", &why));
	assert_int_equal(round_at(1 + every_us), 1);
	assert_int_equal(temp_db_number(db, sql_keys), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

static void add_emails(struct db *db, int n)
{
	static const char *const sql_add[] = {
		"WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1"
		" FROM n WHERE n < $n) INSERT INTO email (seq, id, ticket,"
		" company_id, key_id, domain, sender, header_from, reply_to,"
		" subject, message_id, created_us, state, decided_us, queue_id,"
		" last_event) SELECT n, 'id ' || n, 'ticket ' || n, '', '', '',"
		" '', '', '', '', '', n * 10, 'sent', n, 'Q', 'delivered' FROM "
		"n",
		"INSERT INTO email_content (seq, html, text)"
		" SELECT seq, 'html', 'text' FROM email WHERE $n > 0",
		"INSERT INTO email_recipient (email, n, kind, address, state)"
		" SELECT seq, 0, 'to', 'a@b.test', 'delivered' FROM email"
		" WHERE $n > 0",
	};

	for (size_t i = 0; i < ARRAY_SIZE(sql_add); i++)
		if (db_change(db, sql_add[i], DB_PARAMS(DB_INT("$n", n)), NULL) < 0)
			fail();
}

/* Two walks. */
static void rounds(int64_t *now_us)
{
	for (int i = 0; i < 2; i++) {
		*now_us += every_us;
		while (round_at(*now_us))
			;
	}
}

/* Nothing that was sent goes, unless the settings say so; and whatever is set,
 * nothing of a time before 1970. */
static void test_retention(void **state)
{
	static const char sql_emails[] = "SELECT count(*) FROM email";
	static const char sql_contents[] = "SELECT count(*) FROM email_content WHERE text <> ''";
	static const int64_t day_ms = INT64_C(24) * 3600 * 1000;
	struct db *db = ((struct temp_db *)*state)->db;
	_cleanup_(conf) struct conf *conf = conf_default();
	int64_t now_us = 1;

	add_emails(db, 1000);
	cleaner_set(rig.cleaner, conf);
	rounds(&now_us);
	assert_int_equal(temp_db_number(db, sql_contents), 1000);
	conf->retention.content_ms = 20 * 365 * day_ms;
	conf->retention.emails_ms = 20 * 365 * day_ms;
	cleaner_set(rig.cleaner, conf);
	rounds(&now_us);
	assert_int_equal(temp_db_number(db, sql_contents), 1000);
	/* The clock says that it is a day after 1970 began, and a moment. */
	conf->retention.content_ms = day_ms - 1;
	conf->retention.emails_ms = 0;
	cleaner_set(rig.cleaner, conf);
	rounds(&now_us);
	assert_int_equal(temp_db_number(db, sql_contents), 900);
	conf->retention.content_ms = day_ms / 2;
	cleaner_set(rig.cleaner, conf);
	rounds(&now_us);
	assert_int_equal(temp_db_number(db, sql_contents), 0);
	assert_int_equal(temp_db_number(db, sql_emails), 1000);
}

/* Staged emails are looked for once in a walk, however many messages it removes. */
static void test_staged_emails(void **state)
{
	static const char sql_staged[] =
		"UPDATE email"
		" SET state = 'staged', queue_id = NULL, last_event = NULL, created_us = -$age,"
		"   scheduled_us = -$age, company_id = 'acme'"
		" WHERE seq = 1";
	static const char sql_left[] = "SELECT count(*) FROM email WHERE seq = 1";
	struct db *db = ((struct temp_db *)*state)->db;
	_cleanup_(conf) struct conf *conf = conf_default();

	conf->retention.messages_ms = 1;
	cleaner_set(rig.cleaner, conf);
	add_emails(db, 2 * CLEANER_ROWS);
	for (int64_t seq = 1; seq <= 2 * CLEANER_ROWS; seq++)
		OK(store_message_left(db, seq, 1, seq, &why));
	assert_int_equal(round_at(1), 1);
	assert_int_equal(
		db_change(db, sql_staged,
			DB_PARAMS(DB_INT("$age", STORE_CLEAN_KEEP_S * INT64_C(1000000))), NULL),
		1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(round_at(1), 1);
		assert_int_equal(temp_db_number(db, sql_left), 1);
	}
	assert_int_equal(round_at(1), 0);
	assert_int_equal(round_at(1 + every_us), 1);
	assert_int_equal(temp_db_number(db, sql_left), 0);
}

static void add_entries(struct db *db, int n)
{
	static const char sql_add[] =
		"WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $n)"
		" INSERT INTO audit (id, at_us, actor, actor_id, actor_name, origin, action,"
		"   object_id, object_name, after)"
		" SELECT 'id ' || n, n * 10, 'key', '', '', '', 'key.rename', '', '', '{}'"
		" FROM n";

	if (db_change(db, sql_add, DB_PARAMS(DB_INT("$n", n)), NULL) < 0)
		fail();
}

/* The audit log is kept for ever, unless the settings say for how long; it loses its oldest
 * entries, a few in a round. */
static void test_audit(void **state)
{
	static const char sql_entries[] = "SELECT count(*) FROM audit";
	static const char sql_oldest[] = "SELECT min(at_us) FROM audit";
	static const int64_t day_ms = INT64_C(24) * 3600 * 1000;
	struct db *db = ((struct temp_db *)*state)->db;
	_cleanup_(conf) struct conf *conf = conf_default();
	int64_t now_us = 1;

	add_entries(db, 3 * CLEANER_ROWS);
	assert_int_equal(conf->retention.audit_ms, 0);
	cleaner_set(rig.cleaner, conf);
	rounds(&now_us);
	assert_int_equal(temp_db_number(db, sql_entries), 3 * CLEANER_ROWS);
	conf->retention.audit_ms = 20 * 365 * day_ms;
	cleaner_set(rig.cleaner, conf);
	rounds(&now_us);
	assert_int_equal(temp_db_number(db, sql_entries), 3 * CLEANER_ROWS);
	/* The clock says that it is a day after 1970 began, and a moment: 1001 us are too old. */
	conf->retention.audit_ms = day_ms - 1;
	cleaner_set(rig.cleaner, conf);
	now_us += every_us;
	assert_int_equal(round_at(now_us), 1);
	assert_int_equal(temp_db_number(db, sql_entries), 2 * CLEANER_ROWS);
	assert_int_equal(round_at(now_us), 1);
	assert_int_equal(round_at(now_us), 0);
	assert_int_equal(temp_db_number(db, sql_oldest), 1010);
	conf->retention.audit_ms = day_ms / 2;
	cleaner_set(rig.cleaner, conf);
	rounds(&now_us);
	assert_int_equal(temp_db_number(db, sql_entries), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(once_a_minute),
		TEST(while_there_is_more),
		TEST(failure),
		TEST(retention),
		TEST(staged_emails),
		TEST(audit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
