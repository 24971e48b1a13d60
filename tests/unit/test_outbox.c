/*
 * outbox: what requests are told, and what is left, by what Postfix and the milter say;
 * then what their repeats are told. A real store, a fake injector.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "core/base/clock.h"
#include "core/conf/conf.h"
#include "core/db/db_pool.h"
#include "core/mime/mime_gmime.h"
#include "core/store/row.h"
#include "core/store/email/store_email.h"
#include "core/store/email/store_message.h"
#include "httpd/outbox/outbox_private.h"
#include "tests/unit/count_syncs.h"
#include "tests/unit/keyed_request.h"
#include "tests/unit/later_clock.h"
#include "tests/unit/temp_db.h"

/* What is left of an email: no row, or its state; and whether it waits in the outbox. */
enum left { GONE, STAGED, STAGED_WAITS, SENT, SENT_WAITS, REFUSED };

struct story {
	const char *name;
	enum inject_result result;
	enum err_code code;
	enum fake_milter milter;
	int status; /* 200 or that of the problem */
	enum left left;
	bool used; /* with STAGED_WAITS: it gets a new ticket */
	int syncs; /* the milter's included; 0: any */
};

static const struct story by_sendmail[] = {
	{"sent", INJECT_QUEUED, ERR_NONE, MILTER_RECORDS, 200, SENT, false, 2},
	{"late", INJECT_QUEUED, ERR_NONE, MILTER_AWAY, 200, STAGED_WAITS, true, 2},
	{"refused", INJECT_QUEUED, ERR_NONE, MILTER_REFUSES, 403, REFUSED, false, 0},
	{"rejected", INJECT_REJECTED, ERR_INVALID, MILTER_AWAY, 422, GONE, false, 2},
	{"put off", INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_AWAY, 200, STAGED_WAITS, false, 2},
	{"unknown", INJECT_UNKNOWN, ERR_TEMPORARY, MILTER_AWAY, 200, STAGED_WAITS, true, 2},
	{"unknown, sent", INJECT_UNKNOWN, ERR_TEMPORARY, MILTER_RECORDS, 200, SENT, false, 2},
};

static const struct story by_smtp[] = {
	{"sent", INJECT_QUEUED, ERR_NONE, MILTER_RECORDS, 200, SENT, false, 1},
	{"not asked", INJECT_QUEUED, ERR_NONE, MILTER_AWAY, 200, STAGED_WAITS, true, 1},
	{"discarded", INJECT_QUEUED, ERR_NONE, MILTER_REFUSES, 403, REFUSED, false, 0},
	{"refused", INJECT_REJECTED, ERR_INVALID, MILTER_REFUSES, 403, REFUSED, false, 0},
	{"rejected", INJECT_REJECTED, ERR_INVALID, MILTER_AWAY, 422, GONE, false, 1},
	{"rejected later", INJECT_REJECTED, ERR_TOO_LARGE, MILTER_RECORDS, 413, GONE, false, 2},
	{"put off", INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_AWAY, 200, STAGED_WAITS, false, 1},
	{"put off later", INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_RECORDS, 200, SENT_WAITS, false,
		2},
	{"refused, and 4xx", INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_REFUSES, 403, REFUSED, false,
		0},
	{"unknown", INJECT_UNKNOWN, ERR_TEMPORARY, MILTER_AWAY, 200, STAGED_WAITS, true, 1},
	{"unknown, recorded", INJECT_UNKNOWN, ERR_TEMPORARY, MILTER_RECORDS, 200, SENT_WAITS, false,
		2},
};

static enum left what_is_left(struct send_rig *rig, size_t i)
{
	static const char sql_waits[] = "SELECT count(*) FROM outbox WHERE due_us > 0";
	int state = send_rig_state(rig, i);
	bool waits = temp_db_number(rig->db, sql_waits) > 0;

	switch (state) {
	case EMAIL_STAGED:
		return waits ? STAGED_WAITS : STAGED;
	case EMAIL_SENT:
		return waits ? SENT_WAITS : SENT;
	case EMAIL_REFUSED:
		return REFUSED;
	default:
		return GONE;
	}
}

static int status_of(const struct problem *problem)
{
	return problem->kind == PROBLEM_NONE ? 200 : problem_status(problem);
}

static void begin(struct send_rig *rig)
{
	int64_t open_us;

	keyed_request_forget_all(rig);
	breaker_close(&rig->shared.outbox->breaker, "", true, true, 0, &open_us);
}

/* Whoever was told 200 has it in writing: had the power been lost just now, the email would have
 * been sent, or would wait in the outbox with its message. */
static void check_power_loss(struct send_rig *rig)
{
	static const char sql_kept[] =
		"SELECT count(*)"
		" FROM outbox o"
		" JOIN message m ON m.email = o.email"
		" JOIN email e ON e.seq = o.email"
		" WHERE e.id = $id";
	_cleanup_free_ char *lost = mem_printf("%s/lost", rig->folder);
	_cleanup_free_ char *copy = mem_printf("rm -f %s*; cp %s %s && head -c %" PRId64
					       " %s-wal > %s-wal",
		lost, rig->path, lost, count_syncs_log_size(), rig->path, lost);
	_cleanup_free_ char *refusal = NULL;
	enum email_state state;
	struct db *db;

	assert_int_equal(system(copy), 0);
	OK(db_open(lost, DB_WRITE, &db, &why));
	FOUND(store_email_outcome(db, rig->ids[0], &state, &refusal, &why));
	if (state != EMAIL_SENT) {
		int64_t kept;

		assert_int_equal(state, EMAIL_STAGED);
		FOUND(row_number(
			db, sql_kept, DB_PARAMS(DB_TEXT("$id", rig->ids[0])), &kept, &why));
		assert_int_equal(kept, 1);
	}
	db_close(db);
}

static void tell(struct send_rig *rig, const struct story *story)
{
	static const char sql_rows[] = "SELECT count(*) FROM outbox";
	static const char sql_used[] = "SELECT max(ticket_used) FROM outbox";
	static const char sql_messages[] =
		"SELECT count(*) FROM message WHERE email IN (SELECT email FROM outbox)";
	static const char sql_answered[] = "SELECT coalesce(max(answered), 0) FROM email";
	const struct keyed_request one = {.n = 1};
	bool waits = story->left == STAGED_WAITS || story->left == SENT_WAITS;
	int before;

	print_message("%s\n", story->name);
	begin(rig);
	rig->inject->result = story->result;
	rig->inject->code = story->code;
	rig->inject->milter = story->milter;
	before = count_syncs();
	keyed_request_send(rig, &one);
	if (story->syncs)
		assert_int_equal(count_syncs() - before, story->syncs);
	assert_int_equal(status_of(&rig->problems[0]), story->status);
	if (story->status == 200)
		check_power_loss(rig);
	assert_int_equal(rig->sent, story->status == 200);
	assert_int_equal(what_is_left(rig, 0), story->left);
	assert_int_equal(temp_db_number(rig->db, sql_rows), waits);
	assert_int_equal(temp_db_number(rig->db, sql_messages), waits);
	assert_int_equal(temp_db_number(rig->db, sql_answered), waits);
	if (story->left == STAGED_WAITS)
		assert_int_equal(temp_db_number(rig->db, sql_used), story->used);
	assert_int_equal(rig->inject->submitted, 1);
	assert_int_equal(rig->shared.outbox->under_way, 0);
}

static void test_by_sendmail(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(by_sendmail); i++)
		tell(*state, &by_sendmail[i]);
}

static void test_by_smtp(void **state)
{
	struct send_rig *rig = *state;

	fake_inject_verdict_first(rig->inject);
	for (size_t i = 0; i < ARRAY_SIZE(by_smtp); i++)
		tell(rig, &by_smtp[i]);
}

/* A request with a key that meets this, and its repeat: it is told the same, unless
 * nothing of it was sent. Nothing is submitted twice. */
static void repeat(struct send_rig *rig, const struct story *story, size_t n)
{
	static const char sql_keys[] = "SELECT count(*) FROM idempotency";
	const struct keyed_request what = {.n = n, .key = 1};
	size_t at = n == 1 ? 0 : 1;
	bool taken = n > 1 || story->status == 200;
	char ids[KEYED_EMAILS][ID_SIZE];
	struct problem first;

	print_message("%s, %zu\n", story->name, n);
	begin(rig);
	rig->inject->only_to = keyed_request_to[at];
	rig->inject->result = story->result;
	rig->inject->code = story->code;
	rig->inject->milter = story->milter;
	keyed_request_send(rig, &what);
	assert_int_equal(status_of(&rig->problems[at]), story->status);
	assert_int_equal(temp_db_number(rig->db, sql_keys), taken);
	first = rig->problems[at];
	memcpy(ids, rig->ids, sizeof(ids));
	rig->inject->submitted = 0;
	rig->inject->only_to = "nobody@dst.test";
	keyed_request_send(rig, &what);
	assert_int_equal(rig->inject->submitted, taken ? 0 : (int)n);
	if (!taken)
		return;
	for (size_t i = 0; i < n; i++)
		assert_true(i == at && story->status != 200 ? rig->problems[i].kind != PROBLEM_NONE
							    : strcmp(rig->ids[i], ids[i]) == 0);
	if (story->status != 200)
		assert_string_equal(rig->problems[at].text, first.text);
}

static void test_repeats(void **state)
{
	struct send_rig *rig = *state;

	for (size_t i = 0; i < ARRAY_SIZE(by_sendmail); i++)
		for (size_t n = 1; n <= KEYED_EMAILS; n += 2)
			repeat(rig, &by_sendmail[i], n);
	fake_inject_verdict_first(rig->inject);
	for (size_t i = 0; i < ARRAY_SIZE(by_smtp); i++)
		for (size_t n = 1; n <= KEYED_EMAILS; n += 2)
			repeat(rig, &by_smtp[i], n);
}

/* The first request had no answer: the repeat waits for what becomes of the email. */
static void test_repeat_waits(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request what = {.n = 1, .key = 1};

	begin(rig);
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &what);
	for (int i = 0; i < 3; i++) {
		OK(db_exec(rig->db, "UPDATE idempotency SET settled = 0", &why));
		if (i == 1)
			OK(db_exec(rig->db, "UPDATE email SET state = 'sent'", &why));
		if (i == 2)
			OK(db_exec(rig->db, "UPDATE email SET state = 'refused', refusal = 'No.'",
				&why));
		keyed_request_send(rig, &what);
		assert_int_equal(status_of(&rig->problems[0]), i < 2 ? 200 : 403);
		assert_int_equal(rig->inject->submitted, 1);
	}
}

/* While nobody takes emails, none is tried but now and then; all are accepted. What is not tried
 * does not get the words about another email, which may be another company's. */
static void test_breaker_is_open(void **state)
{
	static const char sql_words[] =
		"SELECT count(*) FROM outbox WHERE attempts = 0 AND reason LIKE '%the test wants%'";
	static const char sql_own_words[] =
		"SELECT count(*) FROM outbox WHERE attempts > 0 AND reason LIKE '%the test wants%'";
	struct send_rig *rig = *state;
	const struct keyed_request one = {.n = 1};
	struct breaker *breaker;

	begin(rig);
	breaker = &rig->shared.outbox->breaker;
	rig->inject->result = INJECT_TEMPORARY;
	for (int i = 0; i < BREAKER_PUT_OFF; i++)
		keyed_request_send(rig, &one);
	assert_int_equal(breaker->n, 1);
	breaker->companies[0].circuit.until_us = INT64_MAX;
	for (int i = 0; i < 3; i++) {
		keyed_request_send(rig, &one);
		assert_int_equal(rig->problems[0].kind, PROBLEM_NONE);
		assert_int_equal(what_is_left(rig, 0), STAGED_WAITS);
	}
	assert_int_equal(rig->inject->submitted, BREAKER_PUT_OFF);
	assert_int_equal(temp_db_number(rig->db, sql_words), 0);
	assert_int_equal(temp_db_number(rig->db, sql_own_words), BREAKER_PUT_OFF);
	breaker->companies[0].circuit.until_us = 0;
	rig->inject->result = INJECT_QUEUED;
	keyed_request_send(rig, &one);
	assert_int_equal(send_rig_state(rig, 0), EMAIL_SENT);
	assert_int_equal(breaker->n, 0);
}

/* What waited in vain for a session says nothing about Postfix: no attempt has failed. */
static void test_no_turn(void **state)
{
	static const char sql_attempts[] = "SELECT sum(attempts) + sum(ticket_used) FROM outbox";
	struct send_rig *rig = *state;
	const struct keyed_request one = {.n = 1};

	begin(rig);
	rig->inject->result = INJECT_TEMPORARY;
	rig->inject->obstacle = INJECT_NO_TURN;
	for (int i = 0; i < 2 * BREAKER_PUT_OFF; i++) {
		keyed_request_send(rig, &one);
		assert_int_equal(rig->problems[0].kind, PROBLEM_NONE);
		assert_int_equal(what_is_left(rig, 0), STAGED_WAITS);
	}
	assert_int_equal(rig->inject->submitted, 2 * BREAKER_PUT_OFF);
	assert_int_equal(rig->shared.outbox->breaker.n, 0);
	assert_int_equal(temp_db_number(rig->db, sql_attempts), 0);
}

struct set_clock {
	struct clock clock; /* first */
	int64_t now_us;
};

static int64_t set_now(const struct clock *clock)
{
	return ((const struct set_clock *)clock)->now_us;
}

/* The clock is put back by an hour: what was put off goes on, what is scheduled waits. */
static void test_clock_is_put_back(void **state)
{
	static const char sql_due[] = "SELECT min(due_us) FROM outbox";
	struct send_rig *rig = *state;
	struct set_clock set = {{set_now}, clock_now_us(&clock_system)};
	const struct keyed_request one = {.n = 1};
	struct outbox *outbox = rig->shared.outbox;

	begin(rig);
	rig->shared.clock = &set.clock;
	rig->inject->result = INJECT_TEMPORARY;
	keyed_request_send(rig, &one);
	assert_true(temp_db_number(rig->db, sql_due) > set.now_us);
	outbox->in_hand.all.from_store = IN_HAND_FROM_STORE; /* nothing is taken from the store */
	feeder_look(outbox->feeder);
	set.now_us += HOUR_US;
	feeder_look(outbox->feeder);
	assert_true(temp_db_number(rig->db, sql_due) < set.now_us);
	set.now_us -= 2 * HOUR_US;
	feeder_look(outbox->feeder);
	assert_true(temp_db_number(rig->db, sql_due) == set.now_us);
	OK(db_exec(rig->db, "UPDATE outbox SET attempts = 0, due_us = due_us + 60000000", &why));
	set.now_us -= HOUR_US;
	feeder_look(outbox->feeder);
	assert_true(temp_db_number(rig->db, sql_due) > set.now_us);
	outbox->in_hand.all.from_store = 0;
	rig->shared.clock = &clock_system;
}

/* Waits until everything is written that nobody waits for, and every email is out of hand. */
static void drain(struct send_rig *rig)
{
	struct outbox *outbox = rig->shared.outbox;

	while (!feeder_is_idle(outbox->feeder) || outbox->under_way > 0 ||
		!journal_is_empty(outbox->journal)) {
		journal_look(outbox->journal);
		event_base_loop(rig->worker.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	}
}

/* Has the feeder look at the store once, and waits until it has come back. It must not look again
 * before the attempts that follow have ended: the pool's thread would use the rig's handle while
 * the milter that the injector plays uses it here. */
static void feed(struct send_rig *rig)
{
	struct outbox *outbox = rig->shared.outbox;
	struct feeder *feeder = outbox->feeder;

	for (feeder_look(feeder); feeder_is_idle(feeder); feeder_look(feeder))
		event_base_loop(rig->worker.base, EVLOOP_NONBLOCK);
	drain(rig);
}

/* Nothing is done a microsecond before the time of an email, and the first look at its time takes
 * it. */
static void test_scheduled_for(void **state)
{
	struct send_rig *rig = *state;
	struct set_clock set = {{set_now}, clock_now_us(&clock_system)};
	const struct keyed_request one = {.n = 1, .scheduled_us = set.now_us + HOUR_US};
	struct feeder *feeder = rig->shared.outbox->feeder;

	begin(rig);
	rig->shared.clock = &set.clock;
	rig->shared.readers = db_pool_new(rig->path, 1);
	keyed_request_send(rig, &one);
	set.now_us = one.scheduled_us - 1;
	feed(rig); /* sweeps */
	feeder_look(feeder);
	assert_true(feeder_is_idle(feeder));
	assert_int_equal(rig->inject->submitted, 0);
	set.now_us = one.scheduled_us;
	feeder_look(feeder);
	assert_false(feeder_is_idle(feeder));
	drain(rig);
	assert_int_equal(rig->inject->submitted, 1);
	assert_int_equal(send_rig_state(rig, 0), EMAIL_SENT);
	rig->shared.clock = &clock_system;
	db_pool_free(rig->shared.readers);
}

/* The pauses of an email between failed attempts. */
static void check_pauses(struct send_rig *rig, const int *seconds, size_t n)
{
	static const char sql_due[] = "SELECT min(due_us) FROM outbox";
	struct set_clock set = {{set_now}, clock_now_us(&clock_system)};
	const struct keyed_request one = {.n = 1};
	struct breaker *breaker = &rig->shared.outbox->breaker;
	int64_t open_us;

	rig->shared.clock = &set.clock;
	keyed_request_send(rig, &one);
	drain(rig);
	for (size_t i = 0; i < n; i++) {
		int64_t due_us = temp_db_number(rig->db, sql_due);

		assert_int_equal(due_us - set.now_us, seconds[i] * SECOND_US);
		assert_int_equal(rig->inject->submitted, i + 1);
		breaker_close(breaker, "", true, true, 0, &open_us);
		set.now_us = due_us;
		feed(rig);
	}
	rig->shared.clock = &clock_system;
}

static void test_pauses(void **state)
{
	static const int put_off[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600};
	static const int in_maildrop[] = {90, 180, 360, 600, 600};
	struct send_rig *rig = *state;

	rig->shared.readers = db_pool_new(rig->path, 1);
	begin(rig);
	rig->inject->result = INJECT_TEMPORARY;
	rig->inject->milter = MILTER_AWAY;
	check_pauses(rig, put_off, ARRAY_SIZE(put_off));
	begin(rig);
	rig->inject->milter = MILTER_AWAY;
	check_pauses(rig, in_maildrop, ARRAY_SIZE(in_maildrop));
	db_pool_free(rig->shared.readers);
}

/* The milter records an email in the maildrop some seconds too late: it leaves the outbox then, not
 * when its pause is over, even while the breaker lets nothing through. */
static void test_late_record(void **state)
{
	static const char record[] =
		"UPDATE email SET state = 'sent', queue_id = 'QUEUEID',"
		" decided_us = created_us + 1";
	const struct keyed_request one = {.n = 1};
	struct send_rig *rig = *state;
	struct outbox *outbox = rig->shared.outbox;

	rig->shared.readers = db_pool_new(rig->path, 1);
	begin(rig);
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &one);
	drain(rig);
	feed(rig);
	assert_int_equal(what_is_left(rig, 0), STAGED_WAITS);
	breaker_trip(&outbox->breaker, BREAKER_AWAY, "refused", NULL, clock_monotonic_us());
	OK(db_exec(rig->db, record, &why));
	later_clock_set(SECOND_US);
	feeder_look(outbox->feeder);
	assert_false(feeder_is_idle(outbox->feeder));
	drain(rig);
	assert_int_equal(what_is_left(rig, 0), SENT);
	assert_int_equal(atomic_load(&outbox->account.emails), 0);
	later_clock_set(0);
	db_pool_free(rig->shared.readers);
}

/* A clock that runs with the monotonic one, ahead of it by now_us. */
static int64_t running_now(const struct clock *clock)
{
	return set_now(clock) + clock_monotonic_us();
}

/* One company's records are late, and another company is put off. Other emails go out when they are
 * due, whether the feeder was told their time or another program has changed it. */
static void test_due_while_records_are_late(void **state)
{
	struct send_rig *rig = *state;
	struct outbox *outbox = rig->shared.outbox;
	struct breaker *breaker = &outbox->breaker;
	int64_t start_us = clock_now_us(&clock_system);
	struct set_clock running = {{running_now}, start_us - clock_monotonic_us()};
	const struct keyed_request late = {.n = 1};
	const struct keyed_request soon = {.n = 1, .scheduled_us = start_us + 30 * SECOND_US};
	const struct keyed_request later = {.n = 1, .scheduled_us = start_us + HOUR_US};

	begin(rig);
	rig->shared.clock = &running.clock;
	rig->shared.readers = db_pool_new(rig->path, 1);
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &late);
	drain(rig);
	rig->inject->milter = MILTER_RECORDS;
	keyed_request_send(rig, &soon);
	keyed_request_send(rig, &later);
	breaker_count_unrecorded(breaker, "put-off", false);
	breaker_trip(breaker, BREAKER_NO_RECORDS, "late", "put-off", clock_monotonic_us());
	breaker->companies[breaker->n - 1].circuit.until_us = INT64_MAX;
	feed(rig); /* looks for records */
	assert_int_equal(rig->inject->submitted, 1);
	running.now_us += 30 * SECOND_US;
	feeder_look(outbox->feeder);
	assert_false(feeder_is_idle(outbox->feeder));
	drain(rig);
	assert_int_equal(rig->inject->submitted, 2);
	for (int second = 2; second < 4; second++) {
		later_clock_set(second * SECOND_US);
		feeder_look(outbox->feeder);
		assert_false(feeder_is_idle(outbox->feeder));
		later_clock_set(second * SECOND_US + 9 * SECOND_US / 10); /* a slow commit */
		drain(rig);
	}
	assert_int_equal(rig->inject->submitted, 2);
	OK(db_exec(rig->db, "UPDATE outbox SET due_us = 1 WHERE attempts = 0", &why));
	later_clock_set(4 * SECOND_US);
	feeder_look(outbox->feeder);
	drain(rig);
	assert_int_equal(rig->inject->submitted, 3);
	later_clock_set(0);
	rig->shared.clock = &clock_system;
	db_pool_free(rig->shared.readers);
}

/* What was put off is taken from the store, but that is not committed: all stays as it was,
 * above all what is known of the tickets, and goes on when the store can be written again. */
static void test_taking_is_not_committed(void **state)
{
	static const char fail_commits[] =
		"CREATE TABLE none (id INTEGER PRIMARY KEY);"
		"CREATE TABLE violation"
		" (id INTEGER REFERENCES none DEFERRABLE INITIALLY DEFERRED);"
		"CREATE TRIGGER violate_taken AFTER UPDATE ON outbox WHEN NEW.due_us = 0"
		" BEGIN INSERT INTO violation VALUES (1); END;"
		"CREATE TRIGGER violate_gone AFTER DELETE ON outbox"
		" BEGIN INSERT INTO violation VALUES (1); END;";
	static const char commit_again[] =
		"DROP TRIGGER violate_taken; DROP TRIGGER violate_gone;"
		"DROP TABLE violation; DROP TABLE none;";
	static const char set_rows[] =
		"UPDATE outbox SET due_us = 1;"
		"UPDATE outbox SET ticket_used = 1 WHERE email % 4 = 1;"
		"UPDATE email SET state = 'sent', way = 'smtp', queue_id = 'Q', decided_us = 1"
		" WHERE seq % 4 = 2;"
		"UPDATE email SET state = 'refused', refusal = 'No.' WHERE seq % 4 = 3;";
	static const char sql_rows[] =
		"SELECT sum(due_us) + 100 * sum(ticket_used) + 1000 * count(*) FROM outbox";
	static const char sql_sent[] = "SELECT count(*) FROM email WHERE state = 'sent'";
	struct send_rig *rig = *state;
	const struct keyed_request one = {.n = 1};
	int64_t before;

	begin(rig);
	rig->shared.readers = db_pool_new(rig->path, 1);
	fake_inject_verdict_first(rig->inject);
	rig->inject->result = INJECT_TEMPORARY;
	rig->inject->obstacle = INJECT_NO_TURN;
	rig->inject->milter = MILTER_AWAY;
	for (int i = 0; i < 4; i++)
		keyed_request_send(rig, &one);
	OK(db_exec(rig->db, set_rows, &why));
	before = temp_db_number(rig->db, sql_rows);
	assert_int_equal(before, 4 * 1 + 100 + 4 * 1000);
	rig->inject->submitted = 0;
	OK(db_exec(rig->db, fail_commits, &why));
	feed(rig);
	OK(db_exec(rig->db, commit_again, &why));
	assert_int_equal(temp_db_number(rig->db, sql_rows), before);
	assert_int_equal(send_rig_waiting(rig), 4);
	assert_int_equal(rig->inject->submitted, 0);
	/* They were given back one after another; one look takes all. */
	OK(db_exec(rig->db, "UPDATE outbox SET due_us = 1", &why));
	rig->inject->result = INJECT_QUEUED;
	rig->inject->obstacle = INJECT_PUT_OFF;
	rig->inject->milter = MILTER_RECORDS;
	feed(rig);
	assert_int_equal(rig->inject->submitted, 2);
	assert_int_equal(temp_db_number(rig->db, sql_sent), 3);
	/* Postfix cannot be asked for the one that may be in its queue. */
	assert_int_equal(send_rig_waiting(rig), 1);
	db_pool_free(rig->shared.readers);
}

/* What was taken is committed, but cannot be synced: the store shows what has joined and what has
 * left, so the account counts it. */
static void test_taking_is_not_synced(void **state)
{
	static const char set_rows[] =
		"UPDATE outbox SET due_us = 1;"
		"UPDATE outbox SET joined = 1 WHERE email = 1;"
		"UPDATE email SET state = 'refused', refusal = 'No.' WHERE seq > 1;";
	struct send_rig *rig = *state;
	const struct keyed_request one = {.n = 1};
	struct outbox_account *account = &rig->shared.outbox->account;
	int64_t bytes;

	begin(rig);
	rig->shared.readers = db_pool_new(rig->path, 1);
	rig->inject->result = INJECT_TEMPORARY;
	rig->inject->obstacle = INJECT_NO_TURN;
	rig->inject->milter = MILTER_AWAY;
	for (int i = 0; i < 3; i++)
		keyed_request_send(rig, &one);
	OK(db_exec(rig->db, set_rows, &why));
	/* As if the command had added one of them. */
	bytes = temp_db_number(rig->db, "SELECT size FROM outbox WHERE joined = 1");
	outbox_account_leave(rig->shared.outbox, "", bytes);
	assert_int_equal(account->emails, 2);
	count_syncs_fail(true);
	feed(rig);
	count_syncs_fail(false);
	drain(rig);
	assert_int_equal(temp_db_number(rig->db, "SELECT count(*) FROM outbox"), 1);
	assert_int_equal(temp_db_number(rig->db, "SELECT sum(joined) FROM outbox"), 0);
	assert_int_equal(account->emails, 1);
	assert_int_equal(account->bytes, bytes);
	db_pool_free(rig->shared.readers);
}

/* A postqueue(1) that misses the message at its first call: Postfix moved it meanwhile from a
 * queue that was not listed yet to one that was. */
static const char blind_postqueue[] =
	"#!/bin/sh\n"
	"[ -e \"$0.called\" ] && echo '{\"queue_name\": \"active\", \"queue_id\": \"Q\","
	" \"arrival_time\": 1}'\n"
	"touch \"$0.called\"\n";

static void write_file(const char *folder, const char *name, const char *text, mode_t mode)
{
	_cleanup_free_ char *path = mem_printf("%s/%s", folder, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
	/* postconf(1) waits before it reads a file that is new. */
	assert_int_equal(utimes(path, (struct timeval[2]){{1, 0}, {1, 0}}), 0);
}

/* An email may be in Postfix's queue. It is not submitted again because one listing of the queue
 * missed it. */
static void test_message_moves_while_the_queue_is_listed(void **state)
{
	static const char set_rows[] =
		"UPDATE outbox SET due_us = 1;"
		"UPDATE email SET state = 'sent', way = 'smtp', queue_id = 'Q', decided_us = 1";
	struct send_rig *rig = *state;
	const struct keyed_request one = {.n = 1};
	struct conf *conf = rig->shared.outbox->conf;
	_cleanup_free_ char *main_cf = mem_printf(
		"compatibility_level = 3.6\n"
		"command_directory = %s\n",
		rig->folder);

	begin(rig);
	write_file(rig->folder, "main.cf", main_cf, 0644);
	write_file(rig->folder, "postqueue", blind_postqueue, 0755);
	free(conf->submission.postfix_config);
	conf->submission.postfix_config = mem_strdup(rig->folder);
	rig->shared.readers = db_pool_new(rig->path, 1);
	fake_inject_verdict_first(rig->inject);
	rig->inject->result = INJECT_TEMPORARY;
	rig->inject->obstacle = INJECT_NO_TURN;
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &one);
	OK(db_exec(rig->db, set_rows, &why));
	feed(rig);
	assert_int_equal(send_rig_waiting(rig), 0);
	assert_int_equal(temp_db_number(rig->db, "SELECT count(*) FROM outbox"), 0);
	db_pool_free(rig->shared.readers);
}

/* The commit that stages an email is made, but cannot be synced: others see it, and nobody knows
 * whether it stays. The client is told to come again. Without an Idempotency-Key the email is
 * canceled, since the client will send another one; with a key it goes out, once, since a
 * repeat finds it. */
static void test_staged_but_not_synced(void **state)
{
	static const char sql_in_hand[] = "SELECT count(*) FROM outbox WHERE due_us = 0";
	struct send_rig *rig = *state;

	rig->shared.readers = db_pool_new(rig->path, 1);
	rig->worker.conf->submission.answer = ANSWER_QUEUED;
	for (uint8_t key = 0; key <= 1; key++)
		for (size_t bytes = 0; bytes <= 2 * MESSAGE_FILE_BYTES;
			bytes += 2 * MESSAGE_FILE_BYTES) {
			const struct keyed_request one = {.n = 1, .key = key, .bytes = bytes};
			char id[ID_SIZE];

			print_message("key %d, %zu bytes\n", key, bytes);
			begin(rig);
			count_syncs_fail(true);
			keyed_request_send(rig, &one);
			count_syncs_fail(false);
			assert_int_equal(status_of(&rig->problems[0]), 503);
			drain(rig);
			assert_int_equal(temp_db_number(rig->db, sql_in_hand), 0);
			memcpy(id, rig->ids[0], ID_SIZE);
			if (key) {
				assert_true(keyed_request_send(rig, &one));
				assert_int_equal(status_of(&rig->problems[0]), 200);
				assert_string_equal(rig->ids[0], id);
			}
			feed(rig);
			assert_int_equal(send_rig_waiting(rig), 0);
			assert_int_equal(rig->inject->submitted, key);
			assert_int_equal(send_rig_state(rig, 0), key ? EMAIL_SENT : EMAIL_REFUSED);
		}
	db_pool_free(rig->shared.readers);
}

/* Who waits for nothing is answered by the durable commit alone. */
static void test_answer_when_queued(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request one = {.n = 1, .key = 1};
	int before;

	rig->worker.conf->submission.answer = ANSWER_QUEUED;
	rig->inject->milter = MILTER_AWAY;
	before = count_syncs();
	keyed_request_send(rig, &one);
	assert_int_equal(count_syncs() - before, 1);
	check_power_loss(rig);
	assert_int_equal(rig->sent, 1);
	assert_int_equal(send_rig_state(rig, 0), EMAIL_STAGED);
	assert_true(keyed_request_send(rig, &one));
	assert_int_equal(rig->sent, 1);
}

/* The disk is full when a request is settled, but not before and not after that. */
static const char fill_when_settled[] =
	"PRAGMA max_page_count = 2000;"
	"CREATE TABLE filler (bytes BLOB);"
	"CREATE TRIGGER fill_answered BEFORE UPDATE OF answered ON email WHEN NEW.state = 'staged'"
	" BEGIN INSERT INTO filler VALUES (zeroblob(10000000)); END;"
	"CREATE TRIGGER fill_retracted BEFORE DELETE ON email"
	" BEGIN INSERT INTO filler VALUES (zeroblob(10000000)); END;";
static const char fill_no_more[] =
	"DROP TRIGGER fill_answered; DROP TRIGGER fill_retracted; DROP TABLE filler;";

/* What cannot be written when the request is answered: no promise is made that is not
 * durable, and nothing goes out of which the client was told to send it again. */
static void test_not_settled(void **state)
{
	static const struct {
		enum inject_result result;
		uint8_t key;
		int status;
		int state; /* at last */
	} cases[] = {
		{INJECT_TEMPORARY, 0, 503, EMAIL_REFUSED},
		{INJECT_TEMPORARY, 1, 503, EMAIL_STAGED},
		{INJECT_REJECTED, 0, 422, EMAIL_REFUSED},
		{INJECT_REJECTED, 1, 422, EMAIL_REFUSED},
	};
	struct send_rig *rig = *state;

	fake_inject_verdict_first(rig->inject);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct keyed_request one = {.n = 1, .key = cases[i].key};
		int64_t waiting = send_rig_waiting(rig);

		begin(rig);
		rig->inject->result = cases[i].result;
		rig->inject->code = cases[i].result == INJECT_REJECTED ? ERR_INVALID
								       : ERR_TEMPORARY;
		rig->inject->milter = MILTER_AWAY;
		OK(db_exec(rig->db, fill_when_settled, &why));
		keyed_request_send(rig, &one);
		OK(db_exec(rig->db, fill_no_more, &why));
		assert_int_equal(status_of(&rig->problems[0]), cases[i].status);
		assert_int_equal(send_rig_state(rig, 0), cases[i].state);
		assert_int_equal(
			send_rig_waiting(rig) - waiting, cases[i].result == INJECT_TEMPORARY);
	}
}

/* A batch beyond the share of a company in a transaction: three emails of 700 KB. */
static const struct keyed_request large = {.n = 3, .key = 1, .bytes = 700 * 1024};

/* It is stored in several commits, and nobody sees or submits any of it before the last one. */
static void test_large_batch(void **state)
{
	static const char watch[] =
		"CREATE TRIGGER seen BEFORE INSERT ON email WHEN NEW.answered <> 0"
		" BEGIN SELECT RAISE(ABORT, 'seen'); END;"
		"CREATE TRIGGER early BEFORE INSERT ON outbox"
		" WHEN (SELECT count(*) FROM email) < 3 BEGIN SELECT RAISE(ABORT, 'early'); END;";
	static const char sql_answered[] = "SELECT sum(answered) FROM email";
	struct send_rig *rig = *state;
	struct committer_stats before = committer_stats(rig->shared.committer), after;

	rig->worker.conf->submission.answer = ANSWER_QUEUED;
	rig->inject->milter = MILTER_AWAY;
	OK(db_exec(rig->db, watch, &why));
	keyed_request_send(rig, &large);
	after = committer_stats(rig->shared.committer);
	assert_int_equal(status_of(&rig->problems[0]), 200);
	assert_true(after.commits - before.commits >= large.n + 1);
	assert_int_equal(temp_db_number(rig->db, sql_answered), large.n);
	assert_int_equal(rig->inject->submitted, large.n);
	assert_true(keyed_request_send(rig, &large));
	assert_int_equal(rig->inject->submitted, large.n);
}

/* All of it is stored, or nothing, wherever that fails. */
static void test_large_batch_fails(void **state)
{
#define FULL " BEGIN INSERT INTO filler VALUES (zeroblob(30000000)); END"
	static const char *const triggers[] = {
		"BEFORE INSERT ON email WHEN (SELECT count(*) FROM email) = 0" FULL,
		"BEFORE INSERT ON email WHEN (SELECT count(*) FROM email) = 2" FULL,
		"BEFORE INSERT ON outbox WHEN (SELECT count(*) FROM outbox) = 2" FULL,
		"BEFORE INSERT ON idempotency" FULL,
		/* Somebody removes an email before all are stored. */
		"AFTER INSERT ON email WHEN (SELECT count(*) FROM email) = 3"
		" BEGIN DELETE FROM email WHERE seq = (SELECT min(seq) FROM email); END",
	};
#undef FULL
	static const char sql_emails[] = "SELECT count(*) FROM email";
	struct send_rig *rig = *state;

	OK(db_exec(
		rig->db, "PRAGMA max_page_count = 5000; CREATE TABLE filler (bytes BLOB)", &why));
	for (size_t i = 0; i < ARRAY_SIZE(triggers); i++) {
		_cleanup_free_ char *sql = mem_printf("CREATE TRIGGER fails %s", triggers[i]);

		print_message("%s\n", triggers[i]);
		begin(rig);
		OK(db_exec(rig->db, sql, &why));
		keyed_request_send(rig, &large);
		assert_int_equal(status_of(&rig->problems[0]), 503);
		assert_int_equal(temp_db_number(rig->db, sql_emails), 0);
		assert_int_equal(rig->inject->submitted, 0);
		assert_int_equal(rig->shared.outbox->account.emails, 0);
		OK(db_exec(rig->db, "DROP TRIGGER fails", &why));
		assert_false(keyed_request_send(rig, &large));
		assert_int_equal(status_of(&rig->problems[0]), 200);
		assert_int_equal(send_rig_state(rig, 2), EMAIL_SENT);
		drain(rig);
	}
}

static void test_outbox_is_full(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request one = {.n = 1, .key = 1};

	rig->shared.outbox->max_bytes = 10;
	keyed_request_send(rig, &one);
	assert_int_equal(status_of(&rig->problems[0]), 503);
	assert_true(rig->problems[0].retry_after_s > 0);
	assert_int_equal(rig->inject->submitted, 0);
	assert_int_equal(send_rig_state(rig, 0), -1);
	rig->shared.outbox->max_bytes = 100000;
	rig->shared.outbox->disk_room = 10;
	keyed_request_send(rig, &one);
	assert_int_equal(status_of(&rig->problems[0]), 503);
	assert_int_equal(send_rig_state(rig, 0), -1);
	rig->shared.outbox->disk_room = 100000;
	keyed_request_send(rig, &one);
	assert_int_equal(status_of(&rig->problems[0]), 200);
	assert_int_equal(rig->shared.outbox->account.bytes, 0);
	assert_int_equal(rig->shared.outbox->account.emails, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, send_rig_setup, send_rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(by_sendmail),
		TEST(by_smtp),
		TEST(repeats),
		TEST(repeat_waits),
		TEST(breaker_is_open),
		TEST(no_turn),
		TEST(clock_is_put_back),
		TEST(scheduled_for),
		TEST(pauses),
		TEST(late_record),
		TEST(due_while_records_are_late),
		TEST(taking_is_not_committed),
		TEST(taking_is_not_synced),
		TEST(message_moves_while_the_queue_is_listed),
		TEST(staged_but_not_synced),
		TEST(answer_when_queued),
		TEST(not_settled),
		TEST(large_batch),
		TEST(large_batch_fails),
		TEST(outbox_is_full),
	};
	int failed;

	mime_init();
	failed = cmocka_run_group_tests_name("outbox", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
