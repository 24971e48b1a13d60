/* store_outbox: the table of store_outbox.h, row by row; turns, bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/db/db_private.h"
#include "core/store/event/store_event.h"
#include "core/store/email/store_message.h"
#include "core/store/outbox/store_outbox.h"
#include "core/store/company/store_pause.h"
#include "tests/unit/temp_db.h"

#define CREATED INT64_C(1700000000123456)
#define NOW     (CREATED + 60 * SECOND_US)

static void stage(
	struct temp_db *temp, const char *company_id, int64_t due_us, struct email *email_r)
{
	struct temp_tenant tenant = {.domain = "example.com"};
	_cleanup_buf_ struct buf message = BUF_INIT;

	snprintf(tenant.company_id, sizeof(tenant.company_id), "%s", company_id);
	temp_db_email(&tenant, email_r);
	email_r->way = EMAIL_WAY_SMTP;
	buf_add_str(&message, "content");
	OK(store_email_stage(temp->db, email_r, &why));
	OK(store_message_keep(temp->db, email_r, &message, &why));
	OK(store_outbox_add(temp->db, email_r->seq, 7, due_us, &why));
}

static struct outbox_terms terms_at(int64_t now_us)
{
	return (struct outbox_terms){
		.now_us = now_us,
		.lifetime_us = DAY_US,
		.way = EMAIL_WAY_SMTP,
		.rows = 100,
		.rows_each = 10,
		.bytes = 1000,
		.but = "",
	};
}

static void take(
	struct temp_db *temp, const struct outbox_terms *terms, struct outbox_taken *taken_r)
{
	OK(db_begin(temp->db, &why));
	OK(store_outbox_take(temp->db, terms, taken_r, &why));
	OK(db_commit(temp->db, &why));
}

enum ticket { KEPT, RENEWED };

/* What was done to the only row of the outbox before it is taken. */
static const struct {
	const char *name;
	const char *before;
	int64_t now_us;
	int task; /* -1: it is not given back */
	enum ticket ticket;
	const char *state; /* of the email afterwards */
	int left;          /* rows of the outbox */
} cases[] = {
	{"fresh", "UPDATE outbox SET ticket_used = 0", NOW, OUTBOX_SUBMIT, KEPT, "staged", 1},
	{"used", "UPDATE outbox SET ticket_used = 1", NOW, OUTBOX_SUBMIT, RENEWED, "staged", 1},
	{"other way", "UPDATE email SET way = 'sendmail'", NOW, OUTBOX_SUBMIT, RENEWED, "staged",
		1},
	{"lifetime", "UPDATE outbox SET reason = 'away'", CREATED + DAY_US, OUTBOX_GONE, RENEWED,
		"refused", 0},
	{"scheduled for later than its lifetime",
		"UPDATE email SET scheduled_us = created_us + 2 * $day", CREATED + 3 * DAY_US - 1,
		OUTBOX_SUBMIT, KEPT, "staged", 1},
	{"lifetime since it was due", "UPDATE email SET scheduled_us = created_us + 2 * $day",
		CREATED + 3 * DAY_US, OUTBOX_GONE, RENEWED, "refused", 0},
	{"paused for longer than its lifetime",
		"UPDATE outbox SET resumed_us = (SELECT created_us FROM email) + 2 * $day",
		CREATED + 3 * DAY_US - 1, OUTBOX_SUBMIT, KEPT, "staged", 1},
	{"lifetime since it was resumed",
		"UPDATE outbox SET resumed_us = (SELECT created_us FROM email) + 2 * $day",
		CREATED + 3 * DAY_US, OUTBOX_GONE, RENEWED, "refused", 0},
	{"not due", "UPDATE outbox SET due_us = 1 + $now", NOW, -1, KEPT, "staged", 1},
	{"in hand", "UPDATE outbox SET due_us = 0", NOW, -1, KEPT, "staged", 1},
	{"refused", "UPDATE email SET state = 'refused', refusal = 'no'", NOW, OUTBOX_GONE, KEPT,
		"refused", 0},
	{"ended under its ticket", "UPDATE email SET last_event = 'bounced'", NOW, OUTBOX_GONE,
		KEPT, "staged", 0},
	{"sent by sendmail",
		"UPDATE email SET state = 'sent', decided_us = created_us, queue_id = 'Q',"
		" way = 'sendmail'",
		NOW, OUTBOX_GONE, KEPT, "sent", 0},
	{"sent, heard",
		"UPDATE email SET state = 'sent', decided_us = created_us, queue_id = 'Q';"
		"UPDATE email_recipient SET state = 'deferred',"
		" changed_us = (SELECT decided_us FROM email) WHERE n = 1",
		NOW, OUTBOX_GONE, KEPT, "sent", 0},
	{"sent, unknown in the queue",
		"UPDATE email SET state = 'sent', decided_us = created_us, queue_id = 'Q';"
		"UPDATE email_recipient SET state = 'unknown',"
		" changed_us = (SELECT decided_us FROM email)",
		NOW, OUTBOX_LOOK, KEPT, "sent", 1},
	{"sent just now",
		"UPDATE email SET state = 'sent', decided_us = created_us + 55000000,"
		" queue_id = 'Q'",
		NOW, -1, KEPT, "sent", 1},
	{"sent, to be looked for",
		"UPDATE email SET state = 'sent', decided_us = created_us, queue_id = 'Q'", NOW,
		OUTBOX_LOOK, KEPT, "sent", 1},
	{"looked, the log not read",
		"UPDATE email SET state = 'sent', decided_us = created_us, queue_id = 'Q';"
		"UPDATE outbox SET looked_us = $now - 5000000;"
		"INSERT INTO log_cursor (source, position, changed_us, end_us)"
		" VALUES ('file', '', 1, $now - 4000000)",
		NOW, -1, KEPT, "sent", 1},
	{"looked, the log read",
		"UPDATE email SET state = 'sent', decided_us = created_us, queue_id = 'Q';"
		"UPDATE outbox SET looked_us = $now - 5000000;"
		"INSERT INTO log_cursor (source, position, changed_us, end_us)"
		" VALUES ('file', '', 1, $now - 1000000)",
		NOW, OUTBOX_SUBMIT, RENEWED, "staged", 1},
};

static void prepare(struct temp_db *temp, const char *sql)
{
	static const struct {
		const char *name;
		int64_t value;
	} values[] = {{"$now", NOW}, {"$day", DAY_US}};
	_cleanup_buf_ struct buf text = BUF_INIT;

	while (*sql) {
		size_t i = 0;

		while (i < ARRAY_SIZE(values) && strncmp(sql, values[i].name, 4) != 0)
			i++;
		if (i < ARRAY_SIZE(values)) {
			buf_printf(&text, "%lld", (long long)values[i].value);
			sql += 4;
		} else {
			buf_add_char(&text, *sql++);
		}
	}
	OK(db_exec(temp->db, buf_str(&text), &why));
}

static void test_take(void **state)
{
	static const char sql_state[] = "SELECT state FROM email";
	static const char sql_left[] = "SELECT count(*) FROM outbox";
	static const char sql_kept[] =
		"SELECT count(*) - (SELECT count(*) FROM message_kept) FROM message";
	static const char sql_ticket[] = "SELECT ticket FROM email";

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct temp_db *temp;
		struct outbox_terms terms = terms_at(cases[i].now_us);
		_cleanup_free_ char *after = NULL, *ticket = NULL;
		struct outbox_taken taken;
		struct email email;

		print_message("%s\n", cases[i].name);
		temp_db_setup(state);
		temp = *state;
		stage(temp, "company", CREATED, &email);
		prepare(temp, cases[i].before);
		take(temp, &terms, &taken);
		assert_int_equal(taken.n, cases[i].task >= 0);
		if (taken.n > 0) {
			assert_int_equal(taken.items[0].task, cases[i].task);
			assert_string_equal(taken.items[0].id, email.id);
			assert_int_equal(taken.items[0].size, 7);
		}
		after = temp_db_text(temp->db, sql_state);
		ticket = temp_db_text(temp->db, sql_ticket);
		assert_string_equal(after, cases[i].state);
		assert_int_equal(strcmp(ticket, email.ticket) != 0, cases[i].ticket == RENEWED);
		if (taken.n > 0 && taken.items[0].task == OUTBOX_SUBMIT)
			assert_string_equal(taken.items[0].ticket, ticket);
		assert_int_equal(temp_db_number(temp->db, sql_left), cases[i].left);
		assert_int_equal(temp_db_number(temp->db, sql_kept), cases[i].left);
		store_outbox_taken_clear(&taken);
		/* It is in hand now, or not due. */
		take(temp, &terms, &taken);
		assert_int_equal(taken.n, 0);
		store_outbox_taken_clear(&taken);
		store_email_clear(&email);
		temp_db_teardown(state);
	}
	temp_db_setup(state);
}

/* What leaves the outbox before its time, though nothing may be submitted. */
static void test_recorded(void **state)
{
#define PUT_OFF "UPDATE outbox SET due_us = $now + 90000000, attempts = 1, ticket_used = 1"
#define SENT    "UPDATE email SET state = 'sent', decided_us = created_us, queue_id = 'Q'"
	static const struct {
		const char *before;
		bool leaves;
	} rows[] = {
		{PUT_OFF ";" SENT ", way = 'sendmail'", true},
		{PUT_OFF ";" SENT, false}, /* by SMTP: Postfix may not have it */
		{PUT_OFF "; UPDATE email SET way = 'sendmail'", false},
		{"UPDATE outbox SET due_us = 0;" SENT ", way = 'sendmail'", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct outbox_terms terms = terms_at(NOW);
		struct outbox_taken taken;
		struct temp_db *temp;
		struct email email;

		temp_db_setup(state);
		temp = *state;
		stage(temp, "company", CREATED, &email);
		prepare(temp, rows[i].before);
		take(temp, &terms, &taken);
		assert_int_equal(taken.n, 0);
		terms.rows = 0;
		terms.recorded = true;
		take(temp, &terms, &taken);
		assert_int_equal(taken.n, rows[i].leaves);
		if (taken.n > 0) {
			assert_int_equal(taken.items[0].task, OUTBOX_GONE);
			assert_string_equal(taken.items[0].company_id, email.company_id);
			assert_int_equal(taken.items[0].size, 7);
		}
		assert_int_equal(store_outbox_has(temp->db, email.id, NULL), !rows[i].leaves);
		store_outbox_taken_clear(&taken);
		store_email_clear(&email);
		temp_db_teardown(state);
	}
	temp_db_setup(state);
}

/* Each company has its turn, and a few rows at a time. */
static void test_turns(void **state)
{
	static const char *const companies[] = {"a", "b", "c"};
	struct temp_db *temp = *state;
	struct outbox_terms terms = terms_at(NOW);
	unsigned seen[3] = {0};

	for (int i = 0; i < 9; i++) {
		struct email email;

		stage(temp, companies[i < 7 ? 0 : i - 6], CREATED + i, &email);
		store_email_clear(&email);
	}
	terms.rows = terms.rows_each = 2;
	for (int round = 0; round < 3; round++, terms.now_us++) {
		struct outbox_taken taken;

		take(temp, &terms, &taken);
		assert_int_equal(taken.n, 2);
		for (size_t i = 0; i < taken.n; i++)
			seen[taken.items[i].company_id[0] - 'a']++;
		store_outbox_taken_clear(&taken);
	}
	assert_int_equal(seen[0], 4);
	assert_int_equal(seen[1], 1);
	assert_int_equal(seen[2], 1);
}

/* One whose emails are let go, to be due at once, comes behind the others all the same. */
static void test_let_go(void **state)
{
	struct temp_db *temp = *state;
	struct outbox_terms terms = terms_at(NOW);
	const struct outbox_delay again = {.due_us = 1};

	for (int i = 0; i < 2; i++) {
		struct email email;

		stage(temp, i ? "b" : "a", CREATED + i, &email);
		store_email_clear(&email);
	}
	terms.rows = 1;
	for (int round = 0; round < 6; round++, terms.now_us++) {
		struct outbox_taken taken;

		take(temp, &terms, &taken);
		assert_int_equal(taken.n, 1);
		assert_string_equal(taken.items[0].company_id, round % 2 ? "b" : "a");
		assert_int_equal(
			store_outbox_put_off(temp->db, taken.items[0].id, &again, NULL), 1);
		store_outbox_taken_clear(&taken);
	}
	/* Nor does the clock keep one waiting that was put back since. */
	terms.now_us = NOW - DAY_US / 24;
	OK(db_exec(temp->db, "UPDATE outbox SET attempts = 1, due_us = 1", &why));
	assert_true(store_outbox_hurry(temp->db, terms.now_us, NULL) >= 0);
	for (int round = 0; round < 2; round++, terms.now_us++) {
		struct outbox_taken taken;

		take(temp, &terms, &taken);
		assert_int_equal(taken.n, 1);
		store_outbox_taken_clear(&taken);
	}
}

enum { COMPANIES = 10000, TURN = 64 };

/* Three emails of each, like the one that is there. */
static void wait_in_all(struct temp_db *temp, int64_t due_us)
{
	static const char sql_rows[] =
		"WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < $n - 1)"
		" INSERT INTO outbox (email, company_id, size, due_us)"
		" SELECT 1000 + i, printf('company %05d', 1 + i / 3), 7, $due"
		" FROM n";
	static const char emails[] =
		"CREATE TEMP TABLE more AS"
		" SELECT e.* FROM email e, outbox o WHERE o.email >= 1000;"
		"UPDATE more SET seq = 999 + rowid,"
		" id = printf('%036d', rowid), ticket = 't' || rowid,"
		" company_id = (SELECT o.company_id"
		"   FROM outbox o WHERE o.email = 999 + more.rowid);"
		"INSERT INTO email SELECT * FROM more";

	OK(db_exec(temp->db, "PRAGMA foreign_keys = OFF", &why));
	assert_true(
		db_change(temp->db, sql_rows,
			DB_PARAMS(DB_INT("$n", 3 * COMPANIES), DB_INT("$due", due_us)), NULL) > 0);
	OK(db_exec(temp->db, emails, &why));
}

/* What one turn costs, and how many come before one who comes last. */
static void test_many_companies(void **state)
{
	struct temp_db *temp = *state;
	struct outbox_terms terms = terms_at(NOW);
	int64_t most = 0, first = 0, before;
	struct outbox_taken taken;
	struct email email;
	int before_last = 0;
	bool found = false;

	ONLY_SQLITE(state);
	/* All of the others have theirs for later. */
	stage(temp, "company 00000", CREATED, &email);
	store_email_clear(&email);
	wait_in_all(temp, NOW + DAY_US);
	before = db_steps(temp->db);
	take(temp, &terms, &taken);
	first = db_steps(temp->db) - before;
	assert_int_equal(taken.n, 1);
	store_outbox_taken_clear(&taken);
	/* All have some that are due, and one comes with its first. */
	terms.now_us = NOW + 2 * DAY_US;
	terms.lifetime_us = 10 * DAY_US;
	terms.rows = TURN;
	terms.rows_each = 1;
	stage(temp, "company 99999", terms.now_us - 1, &email);
	while (!found) {
		before = db_steps(temp->db);
		take(temp, &terms, &taken);
		most = db_steps(temp->db) - before > most ? db_steps(temp->db) - before : most;
		assert_true(taken.n > 0);
		for (size_t i = 0; i < taken.n && !found; i++) {
			found = strcmp(taken.items[i].id, email.id) == 0;
			before_last += !found;
		}
		terms.now_us++;
		store_outbox_taken_clear(&taken);
	}
	print_message("%d steps with none due, %d for a turn\n", (int)first, (int)most);
	assert_int_equal(before_last, COMPANIES);
	assert_true(first < 2000);
	assert_true(most < 50000);
	store_email_clear(&email);
}

/* But the one that is put off. */
static void test_no_turn(void **state)
{
	struct temp_db *temp = *state;
	struct outbox_terms terms = terms_at(NOW);
	struct outbox_taken taken;

	for (int i = 0; i < 3; i++) {
		struct email email;

		stage(temp, i == 1 ? "b" : "a", CREATED + i, &email);
		store_email_clear(&email);
	}
	terms.but = "a";
	take(temp, &terms, &taken);
	assert_int_equal(taken.n, 1);
	assert_string_equal(taken.items[0].company_id, "b");
	store_outbox_taken_clear(&taken);
	take(temp, &terms, &taken);
	assert_int_equal(taken.n, 0);
	terms.but = "ba";
	take(temp, &terms, &taken);
	assert_int_equal(taken.n, 0);
	store_outbox_taken_clear(&taken);
	terms.but = "";
	take(temp, &terms, &taken);
	assert_int_equal(taken.n, 2);
	store_outbox_taken_clear(&taken);
}

static void test_bytes(void **state)
{
	struct temp_db *temp = *state;
	struct outbox_terms terms = terms_at(NOW);
	struct outbox_taken taken;

	for (int i = 0; i < 3; i++) {
		struct email email;

		stage(temp, "a", CREATED + i, &email);
		store_email_clear(&email);
	}
	terms.bytes = 14;
	take(temp, &terms, &taken);
	assert_int_equal(taken.n, 2);
	store_outbox_taken_clear(&taken);
	terms.bytes = 1;
	take(temp, &terms, &taken);
	assert_int_equal(taken.n, 1);
	store_outbox_taken_clear(&taken);
}

/* Out of hand and back. */
static void test_put_off(void **state)
{
	static const char sql_attempts[] = "SELECT attempts FROM outbox";
	struct temp_db *temp = *state;
	struct outbox_delay delay = {
		.due_us = NOW + 5, .ticket_used = true, .failed = true, .reason = "away"};
	struct email email;
	int64_t due;

	stage(temp, "a", 0, &email);
	assert_int_equal(store_outbox_next(temp->db, &due, NULL), 0);
	assert_int_equal(store_outbox_put_off(temp->db, email.id, &delay, NULL), 1);
	FOUND(store_outbox_next(temp->db, &due, &why));
	assert_int_equal(due, NOW + 5);
	assert_int_equal(temp_db_number(temp->db, sql_attempts), 1);
	assert_int_equal(store_outbox_hurry(temp->db, NOW, NULL), 1);
	FOUND(store_outbox_next(temp->db, &due, &why));
	assert_int_equal(due, NOW);
	delay.due_us = NOW + 5;
	delay.failed = delay.ticket_used = false;
	assert_int_equal(store_outbox_put_off(temp->db, email.id, &delay, NULL), 1);
	OK(db_exec(temp->db, "UPDATE outbox SET attempts = 0", &why));
	assert_int_equal(store_outbox_hurry(temp->db, NOW, NULL), 0);
	assert_int_equal(store_outbox_reopen(temp->db, NOW, NULL), 0);
	OK(db_exec(temp->db, "UPDATE outbox SET due_us = 0", &why));
	assert_int_equal(store_outbox_reopen(temp->db, NOW, NULL), 1);
	FOUND(store_outbox_next(temp->db, &due, &why));
	store_email_clear(&email);
}

/* At a start: what was put off for longer than any pause is from before the clock was put back.
 * Pauses that may be of now last, and so do schedules and the pauses of admins. */
static void test_clock_put_back_before_the_start(void **state)
{
	static const struct {
		int64_t due_us;
		bool failed, hurried;
	} rows[] = {
		{NOW + OUTBOX_PAUSE_MOST_US, true, false},
		{NOW + OUTBOX_PAUSE_MOST_US + 1, true, true},
		{NOW + OUTBOX_PAUSE_MOST_US + 1, false, false},
		{OUTBOX_PAUSED + 1, true, false},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct outbox_delay delay = {
			.due_us = rows[i].due_us, .failed = rows[i].failed};
		struct email email;
		int64_t due_us = 0;

		OK(db_exec(temp->db, "DELETE FROM email", &why));
		stage(temp, "a", 0, &email);
		assert_int_equal(store_outbox_put_off(temp->db, email.id, &delay, NULL), 1);
		assert_int_equal(store_outbox_reopen(temp->db, NOW, NULL), 0);
		due_us = temp_db_number(temp->db, "SELECT due_us FROM outbox");
		assert_int_equal(due_us, rows[i].hurried ? NOW : rows[i].due_us);
		store_email_clear(&email);
	}
}

/* What a crash leaves of a request between staging its emails and adding them to the outbox is
 * removed at the next start, and nothing else. */
static void test_unfinished(void **state)
{
	static const struct {
		const char *name, *change;
		bool stays;
	} ends[] = {
		{"unfinished", "DELETE FROM outbox", false},
		{"in the outbox", "UPDATE outbox SET due_us = 0", true},
		{"its client knows the id", "DELETE FROM outbox; UPDATE email SET answered = 1",
			true},
		{"recorded", "DELETE FROM outbox; UPDATE email SET state = 'sent'", true},
		{"the log ended it", "DELETE FROM outbox; UPDATE email SET last_event = 'bounced'",
			true},
		{"of another host", "DELETE FROM outbox; UPDATE email SET host = 'b'", true},
	};
	static const char sql_emails[] = "SELECT count(*) FROM email";
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct email email;

		print_message("%s\n", ends[i].name);
		OK(db_exec(temp->db, "DELETE FROM email", &why));
		stage(temp, "a", 0, &email);
		OK(db_exec(temp->db, ends[i].change, &why));
		assert_true(store_email_remove_unfinished(temp->db, NULL) >= 0);
		assert_int_equal(temp_db_number(temp->db, sql_emails), ends[i].stays);
		store_email_clear(&email);
	}
}

/* What the dispatcher asks again and again, however much is scheduled. */
static void test_cost_of_scheduled(void **state)
{
	static const char sql_more[] =
		"WITH RECURSIVE n (i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)"
		" INSERT INTO outbox (email, company_id, size, due_us)"
		" SELECT i, 'b', 7, $later + i FROM n";
	struct temp_db *temp = *state;
	struct outbox_terms terms = terms_at(NOW);
	struct email email;
	int64_t due, steps[2];

	ONLY_SQLITE(state);
	stage(temp, "a", NOW + DAY_US, &email);
	store_email_clear(&email);
	OK(db_exec(temp->db, "PRAGMA foreign_keys = OFF", &why));
	for (int many = 0; many < 2; many++) {
		struct outbox_taken taken;
		int64_t before;

		if (many)
			assert_true(db_change(temp->db, sql_more,
					    DB_PARAMS(DB_INT("$later", NOW + DAY_US)), NULL) > 0);
		before = db_steps(temp->db);
		FOUND(store_outbox_next(temp->db, &due, &why));
		assert_int_equal(store_outbox_hurry(temp->db, NOW, NULL), 0);
		take(temp, &terms, &taken);
		steps[many] = db_steps(temp->db) - before;
		assert_int_equal(taken.n, 0);
		store_outbox_taken_clear(&taken);
	}
	print_message("%d steps, then %d\n", (int)steps[0], (int)steps[1]);
	assert_true(steps[1] < steps[0] + 200);
}

/* A message that comes after all is thrown away. */
static void test_fail(void **state)
{
	struct temp_db *temp = *state;
	struct email_ticket ticket;
	struct email email, got;
	const struct email_scope all = {0};

	stage(temp, "a", 0, &email);
	assert_int_equal(store_outbox_fail(temp->db, email.id, "never taken", NOW, NULL), 1);
	assert_int_equal(store_outbox_fail(temp->db, email.id, "again", NOW, NULL), 0);
	FOUND(store_email_get(temp->db, email.id, &all, &got, &why));
	assert_int_equal(got.state, EMAIL_REFUSED);
	assert_string_equal(got.refusal, "never taken");
	assert_string_equal(got.last_event, "failed");
	FOUND(store_email_ticket(temp->db, email.ticket, &ticket, &why));
	assert_true(ticket.superseded);
	store_email_ticket_clear(&ticket);
	store_email_clear(&got);
	store_email_clear(&email);
}

static void test_looked(void **state)
{
	struct temp_db *temp = *state;
	struct email email;
	int64_t due;

	stage(temp, "a", 0, &email);
	assert_int_equal(store_outbox_looked(temp->db, email.id, false, NOW, NULL), 1);
	FOUND(store_outbox_next(temp->db, &due, &why));
	assert_true(due > NOW);
	assert_int_equal(store_outbox_looked(temp->db, email.id, true, NOW, NULL), 1);
	assert_int_equal(store_outbox_next(temp->db, &due, NULL), 0);
	store_email_clear(&email);
}

/* By SMTP a ticket is spent when its email has left the outbox. */
static void test_spent(void **state)
{
	struct temp_db *temp = *state;
	struct email_ticket ticket;
	struct email email;

	stage(temp, "a", 0, &email);
	assert_int_equal(store_email_record(temp->db, email.ticket, "Q", NOW, NULL), 1);
	for (int i = 0; i < 2; i++) {
		FOUND(store_email_ticket(temp->db, email.ticket, &ticket, &why));
		assert_int_equal(ticket.spent, i == 1);
		store_email_ticket_clear(&ticket);
		store_outbox_remove(temp->db, email.id, 1, NULL);
	}
	store_email_clear(&email);
}

/* Of several emails those of another host stay, and are named where there may be one. */
static void test_remove_all(void **state)
{
	static const char sql_move[] = "UPDATE outbox SET host = 'other' WHERE email = $email";
	static const char sql_left[] = "SELECT count(*) FROM outbox";
	static const char sql_kept[] = "SELECT count(*) FROM message_kept";
	_cleanup_strv_ struct strv ids = STRV_INIT, elsewhere = STRV_INIT;
	struct temp_db *temp = *state;
	struct email emails[3];

	for (int i = 0; i < 3; i++) {
		stage(temp, (const char *[]){"a", "b", "c"}[i], 0, &emails[i]);
		if (i < 2)
			strv_add(&ids, emails[i].id);
	}
	assert_int_equal(
		db_change(temp->db, sql_move, DB_PARAMS(DB_INT("$email", emails[1].seq)), NULL), 1);
	OK(db_begin(temp->db, &why));
	OK(store_outbox_remove_all(temp->db, &ids, NOW, &elsewhere, &why));
	OK(db_commit(temp->db, &why));
	assert_int_equal(temp_db_number(temp->db, sql_left), 2);
	assert_int_equal(temp_db_number(temp->db, sql_kept), 1);
	assert_int_equal(elsewhere.n, *db_host(temp->db) != '\0');
	assert_true(elsewhere.n == 0 || str_eq(elsewhere.items[0], emails[1].id));
	for (int i = 0; i < 3; i++)
		store_email_clear(&emails[i]);
}

/* A scheduled email: another time, until its time has come; canceled, until it is
 * decided. */
static void test_schedule_and_cancel(void **state)
{
	static const char sql_event[] = "SELECT last_event FROM email";
	struct temp_db *temp = *state;
	struct outbox_terms terms = terms_at(NOW + 10);
	_cleanup_free_ char *event = NULL;
	struct email_ticket ticket;
	struct outbox_taken taken;
	struct email email;

	stage(temp, "a", NOW + 5, &email);
	assert_int_equal(store_outbox_schedule(temp->db, email.id, NOW + 9, NOW, NULL), 0);
	OK(db_exec(temp->db, "UPDATE email SET scheduled_us = (SELECT due_us FROM outbox)", &why));
	assert_int_equal(store_outbox_schedule(temp->db, email.id, NOW + 9, NOW, NULL), 1);
	terms.now_us = NOW + 8;
	take(temp, &terms, &taken);
	assert_int_equal(taken.n, 0);
	store_outbox_taken_clear(&taken);
	assert_int_equal(store_outbox_schedule(temp->db, email.id, NOW + 20, NOW + 9, NULL), 0);
	terms.now_us = NOW + 9;
	take(temp, &terms, &taken);
	assert_int_equal(taken.n, 1);
	store_outbox_taken_clear(&taken);
	/* It is in hand, and its message may be on its way: that is thrown away. */
	assert_int_equal(store_outbox_schedule(temp->db, email.id, NOW + 20, NOW, NULL), 0);
	assert_int_equal(store_outbox_cancel(temp->db, email.id, NULL, NOW, NULL), 1);
	assert_int_equal(store_outbox_cancel(temp->db, email.id, NULL, NOW, NULL), 0);
	event = temp_db_text(temp->db, sql_event);
	assert_string_equal(event, "canceled");
	FOUND(store_email_ticket(temp->db, email.ticket, &ticket, &why));
	assert_true(ticket.superseded);
	store_email_ticket_clear(&ticket);
	store_email_clear(&email);

	stage(temp, "b", NOW, &email);
	assert_int_equal(store_email_record(temp->db, email.ticket, "Q", NOW, NULL), 1);
	assert_int_equal(store_outbox_cancel(temp->db, email.id, NULL, NOW, NULL), 0);
	/* It is too late, but a message that Postfix has lost can still be sent again. */
	email.state = EMAIL_SENT;
	secret_ticket(email.ticket);
	FOUND(store_email_supersede(temp->db, &email, &why));
	store_email_clear(&email);
}

static void check_found(struct temp_db *temp, const char *status, int64_t now_us, size_t n)
{
	const struct email_scope scope = {.company_id = "a", .sent_only = true};
	const struct email_filter filter = {.status = status, .now_us = now_us};
	const struct page page = {.limit = 10};
	struct email_found found;

	FOUND(store_email_search(temp->db, &scope, &filter, &page, &found, &why));
	if (found.list.n != n)
		fail_msg("%s: %zu", status, found.list.n);
	store_email_list_free(&found.list);
}

/* What clients see of an email that they have scheduled and canceled; each recipient is told
 * once. */
static void test_cancel_is_seen(void **state)
{
	static const char sql_scheduled[] =
		"UPDATE email SET answered = 1, scheduled_us = (SELECT due_us FROM outbox)";
	struct temp_db *temp = *state;
	struct event_list events;
	struct email email;
	int64_t seq;

	stage(temp, "a", NOW + 5, &email);
	OK(db_exec(temp->db, sql_scheduled, &why));
	check_found(temp, "scheduled", NOW, 1);
	check_found(temp, "queued", NOW, 0);
	check_found(temp, "scheduled", NOW + 5, 0);
	check_found(temp, "queued", NOW + 5, 1);
	assert_int_equal(store_outbox_cancel(temp->db, email.id, NULL, NOW, NULL), 1);
	check_found(temp, "scheduled", NOW, 0);
	check_found(temp, "canceled", NOW, 1);
	FOUND(store_email_seq(
		temp->db, email.id, NULL, &(const struct email_scope){0}, &seq, &why));
	OK(store_event_of_email(temp->db, seq, &events, &why));
	assert_int_equal(events.n, email.recipients.n);
	for (size_t i = 0; i < events.n; i++)
		assert_int_equal(events.items[i].kind, EVENT_CANCELED);
	store_event_list_free(&events);
	store_email_clear(&email);
}

/* Of 100 bytes, and as many of the disk. */
static const struct {
	int64_t bytes, own, all, disk_room;
	enum outbox_room room;
} rooms[] = {
	{10, 0, 90, 100, OUTBOX_ROOM},
	{11, 0, 90, 100, OUTBOX_FULL},
	{10, 40, 40, 100, OUTBOX_ROOM},
	{11, 40, 40, 100, OUTBOX_SHARE_FULL},
	{11, 90, 90, 100, OUTBOX_SHARE_FULL},
	{60, 30, 80, 100, OUTBOX_FULL},
	{25, 0, 0, 100, OUTBOX_ROOM},
	{26, 0, 0, 100, OUTBOX_DISK_FULL},
	{10, 30, 30, 40, OUTBOX_ROOM},
	{10, 31, 31, 40, OUTBOX_SHARE_FULL},
};

static void test_room(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rooms); i++)
		if (store_outbox_room(rooms[i].bytes, rooms[i].own, rooms[i].all, 100,
			    rooms[i].disk_room) != rooms[i].room)
			fail_msg("row %zu", i);
}

/* What joined counts by itself until it is taken. */
static void test_joined_bytes(void **state)
{
	struct temp_db *temp = *state;
	struct outbox_terms terms = terms_at(NOW);
	struct outbox_taken taken;
	struct email email;
	int64_t all, own;

	stage(temp, "a", 1, &email);
	OK(db_exec(temp->db, "UPDATE outbox SET joined = 1", &why));
	store_email_clear(&email);
	stage(temp, "a", NOW + 1, &email);
	OK(store_outbox_joined_bytes(temp->db, "a", &all, &own, &why));
	assert_true(all == 7 && own == 7);
	OK(store_outbox_joined_bytes(temp->db, "other", &all, &own, &why));
	assert_true(all == 7 && own == 0);
	OK(store_outbox_bytes(temp->db, "a", &all, &own, &why));
	assert_true(all == 14 && own == 14);
	take(temp, &terms, &taken);
	store_outbox_taken_clear(&taken);
	OK(store_outbox_joined_bytes(temp->db, "a", &all, &own, &why));
	assert_true(all == 0 && own == 0);
	store_email_clear(&email);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room),
		TEST(joined_bytes),
		TEST(remove_all),
		cmocka_unit_test_teardown(test_take, temp_db_teardown),
		cmocka_unit_test_teardown(test_recorded, temp_db_teardown),
		TEST(turns),
		TEST(let_go),
		TEST(many_companies),
		TEST(no_turn),
		TEST(bytes),
		TEST(put_off),
		TEST(clock_put_back_before_the_start),
		TEST(unfinished),
		TEST(cost_of_scheduled),
		TEST(fail),
		TEST(looked),
		TEST(spent),
		TEST(schedule_and_cancel),
		TEST(cancel_is_seen),
	};

	return cmocka_run_group_tests_name("store_outbox", tests, NULL, NULL);
}
