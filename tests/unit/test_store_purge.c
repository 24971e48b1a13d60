/*
 * store_purge: what goes, what waits and stays, who is forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/store/email/store_purge.h"
#include "tests/unit/temp_db.h"

static const int64_t day_us = INT64_C(86400) * 1000000;
static const int64_t now_us = 20000 * INT64_C(86400) * 1000000;

static const char sql_emails[] = "SELECT count(*) FROM email";
static const char sql_recipients[] = "SELECT count(*) FROM email_recipient";
static const char sql_events[] = "SELECT count(*) FROM event";
static const char sql_contents[] =
	"SELECT count(*) FROM email_content WHERE html <> '' OR text <> ''";

static int setup(void **state)
{
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = mem_new(struct temp_tenant);
	temp_db_tenant(temp->db, "Acme", "example.com", temp->more);
	return 0;
}

/* Days ago, sent to these addresses, separated by blanks, in the state that
 * SET says, each with an event. */
static void add(struct temp_db *temp, int days, const char *to, const char *set)
{
	static const char sql_event[] =
		"INSERT INTO event (key, email, n, domain, kind, attempt,"
		" occurred_us, recorded_us, source, company_id)"
		" SELECT randomblob(16), email, n, 'example.com', 'deferred', "
		"1,"
		" 1, $time, 'log', company_id FROM email_recipient"
		" WHERE email = (SELECT max(seq) FROM email)";
	_cleanup_strv_ struct strv addresses = STRV_INIT;
	_cleanup_free_ char *sql = NULL;
	struct email email;

	temp_db_email(temp->more, &email);
	email.created_us = now_us - days * day_us;
	recipients_free(&email.recipients);
	email.recipients = (struct recipients){0};
	strv_split(&addresses, to, ' ');
	for (size_t i = 0; i < addresses.n; i++)
		temp_db_recipient(&email, RECIPIENT_TO, addresses.items[i], NULL);
	OK(store_email_stage(temp->db, &email, &why));
	sql = mem_printf(
		"UPDATE email SET %s WHERE id = '%s'; "
		"UPDATE email_recipient SET state = 'delivered'"
		" WHERE state = 'queued' AND email IN (SELECT seq"
		" FROM email WHERE queue_id = 'DONE')",
		set, email.id);
	OK(db_exec(temp->db, sql, &why));
	assert_int_equal(
		db_change(temp->db, sql_event, DB_PARAMS(DB_INT("$time", email.created_us)), NULL),
		(int)addresses.n);
	store_email_clear(&email);
}

#define DONE                                                                                       \
	"state = 'sent', last_event = 'delivered', queue_id = 'DONE', "                            \
	"decided_us = created_us"

static void run(struct temp_db *temp, struct purge *purge)
{
	int result;

	do {
		OK(db_begin(temp->db, &why));
		result = store_purge_step(temp->db, purge, now_us, 1000, NULL);
		OK(db_commit(temp->db, &why));
	} while (result == 1);
	assert_int_equal(result, 0);
}

static void test_what_goes(void **state)
{
	static const struct {
		int days;
		const char *set;
		int left;
	} cases[] = {
		{31, DONE, 0}, {30, DONE, 0}, {29, DONE, 1},
		{-1, DONE, 1}, /* the clock was set back */
		{31, "state = 'refused', refusal = 'x', decided_us = created_us", 0},
		{31, "state = 'sent', queue_id = '', decided_us = created_us", 0},
		{31, "state = 'sent', queue_id = 'OPEN', decided_us = 1", 1},
		{31, "state = 'staged'", 1}, {31, "state = 'staged', queue_id = 'DOUBT'", 1},
		{31, DONE " + 31 * 86400000000", 1}, /* sent just now */
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct purge purge = {.kind = PURGE_EMAILS, .before_us = now_us - 30 * day_us + 1};
		struct purge dry = purge;

		OK(db_exec(temp->db, "DELETE FROM email", &why));
		add(temp, cases[i].days, "a@b.test c@d.test", cases[i].set);
		dry.dry = true;
		assert_int_equal(store_purge_step(temp->db, &dry, now_us, 1000000, NULL), 0);
		assert_int_equal(temp_db_number(temp->db, sql_emails), 1);
		run(temp, &purge);
		assert_int_equal(dry.removed, purge.removed);
		assert_int_equal(dry.left, purge.left);
		if (temp_db_number(temp->db, sql_emails) != cases[i].left)
			fail_msg("case %zu", i);
		assert_int_equal(purge.removed, 1 - cases[i].left);
		assert_int_equal(temp_db_number(temp->db, sql_recipients), 2 * cases[i].left);
		assert_int_equal(temp_db_number(temp->db, sql_events), 2 * cases[i].left);
	}
}

static void test_one_is_forgotten(void **state)
{
	struct temp_db *temp = *state;
	struct purge purge = {.kind = PURGE_EMAILS, .to = "ANN@b.test"};
	struct email_list list;
	const struct email_scope all = {0};

	add(temp, 5, "ann@b.test", DONE);
	add(temp, 4, "ann@b.test bob@b.test Ann@B.test", DONE);
	add(temp, 3, "bob@b.test", DONE);
	add(temp, 2, "ann@b.test bob@b.test", "state = 'sent', queue_id = 'OPEN', decided_us = 1");
	add(temp, 0, "ann@b.test", DONE);
	add(temp, 0, "ann@b.test bob@b.test", DONE);
	run(temp, &purge);
	assert_int_equal(purge.removed, 1);
	assert_int_equal(purge.recipients, 2);
	assert_int_equal(purge.left, 2); /* it waits; of today */
	temp_db_list(temp->db, &all, 10, &list);
	assert_int_equal(list.n, 5);
	for (size_t i = 0; i < list.n; i++) {
		static const size_t wanted[] = {1, 1, 2, 1, 1};

		assert_int_equal(list.items[i].recipients.n, wanted[i]);
	}
	store_email_list_free(&list);
	assert_int_equal(temp_db_number(temp->db, sql_events), 1 + 1 + 1 + 2 + 1);

	purge = (struct purge){.kind = PURGE_EMAILS, .to = "bob@b.test", .domain = "other.test"};
	run(temp, &purge);
	assert_int_equal(purge.removed + purge.recipients + purge.left, 0);
	purge = (struct purge){.kind = PURGE_EMAILS,
		.to = "bob@b.test",
		.domain = "example.com",
		.before_us = now_us - 3 * day_us};
	run(temp, &purge);
	assert_int_equal(purge.removed, 1);
}

static void test_of_a_domain(void **state)
{
	struct temp_db *temp = *state;
	struct purge purge = {.kind = PURGE_EMAILS, .domain = "example.com"};
	struct purge other = {.kind = PURGE_EMAILS, .domain = "other.test"};

	for (int i = 0; i < 450; i++) /* several steps */
		add(temp, 2, "a@b.test", DONE);
	run(temp, &other);
	assert_int_equal(temp_db_number(temp->db, sql_emails), 450);
	run(temp, &purge);
	assert_int_equal(purge.removed, 450);
	assert_int_equal(temp_db_number(temp->db, sql_emails), 0);
}

/* A step ends when its time is up, and the next one goes on behind it. */
static void test_budget(void **state)
{
	struct temp_db *temp = *state;
	struct purge purge = {.kind = PURGE_EMAILS, .before_us = now_us};

	for (int i = 0; i < 3; i++)
		add(temp, 2, "a@b.test", DONE);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(store_purge_step(temp->db, &purge, now_us, 0, NULL), 1);
		assert_int_equal(purge.removed, i);
	}
	assert_int_equal(store_purge_step(temp->db, &purge, now_us, 0, NULL), 0);
}

static void test_content(void **state)
{
	static const char sql_text[] = "SELECT count(*) FROM email_content WHERE text <> ''";
	struct temp_db *temp = *state;
	struct purge purge = {.kind = PURGE_CONTENT, .before_us = now_us - 2 * day_us};

	add(temp, 4, "a@b.test", DONE);
	add(temp, 3, "a@b.test", "state = 'staged'"); /* whatever became of it */
	add(temp, 1, "a@b.test", DONE);
	assert_int_equal(temp_db_number(temp->db, sql_contents), 3);
	run(temp, &purge);
	assert_int_equal(purge.removed, 2);
	assert_int_equal(temp_db_number(temp->db, sql_contents), 1);
	assert_int_equal(temp_db_number(temp->db, sql_emails), 3);
	assert_int_equal(temp_db_number(temp->db, sql_text), 1);
	/* It goes on where it was. */
	purge.before_us = now_us;
	run(temp, &purge);
	assert_int_equal(purge.removed, 3);
	assert_int_equal(temp_db_number(temp->db, sql_contents), 0);
}

static void test_events(void **state)
{
	struct temp_db *temp = *state;
	struct purge purge = {.kind = PURGE_EVENTS, .before_us = now_us - 2 * day_us};

	add(temp, 4, "a@b.test", DONE);
	add(temp, 3, "a@b.test", "state = 'sent', queue_id = 'OPEN', decided_us = 1");
	add(temp, 1, "a@b.test", DONE);
	run(temp, &purge);
	assert_int_equal(purge.removed, 1);
	assert_int_equal(purge.left, 1);
	assert_int_equal(temp_db_number(temp->db, sql_events), 2);
	assert_int_equal(temp_db_number(temp->db, sql_emails), 3);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, temp_db_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(test_what_goes),
		EACH(test_one_is_forgotten),
		EACH(test_of_a_domain),
		EACH(test_budget),
		EACH(test_content),
		EACH(test_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
