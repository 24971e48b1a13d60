/*
 * send_settle: what is left in the store when the emails of a request have come
 * to their ends, and what that costs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <string.h>

#include "core/mime/mime_gmime.h"
#include "httpd/send/idempotency.h"
#include "httpd/send/send_group.h"
#include "tests/unit/keyed_request.h"
#include "tests/unit/temp_db.h"

enum { EMAILS_MAX = 3 };

/* An email's end, and what the milter had said before. */
struct ended {
	enum send_end end;
	enum problem_kind problem;
	bool recorded;
	bool rejected;
};

#define SENT                                                                                       \
	{                                                                                          \
		SEND_SENT, PROBLEM_NONE, true, false                                               \
	}
#define LATE                                                                                       \
	{                                                                                          \
		SEND_LATE, PROBLEM_NONE, false, false                                              \
	}
#define UNSURE                                                                                     \
	{                                                                                          \
		SEND_UNSURE, PROBLEM_UNAVAILABLE, false, false                                     \
	}
#define AWAY                                                                                       \
	{                                                                                          \
		SEND_FAILED, PROBLEM_UNAVAILABLE, false, false                                     \
	}
#define AWAY_SEEN                                                                                  \
	{                                                                                          \
		SEND_FAILED, PROBLEM_UNAVAILABLE, true, false                                      \
	}
#define REJECT                                                                                     \
	{                                                                                          \
		SEND_FAILED, PROBLEM_VALIDATION, false, true                                       \
	}
#define REJECT_SEEN                                                                                \
	{                                                                                          \
		SEND_FAILED, PROBLEM_VALIDATION, true, true                                        \
	}
#define REFUSED                                                                                    \
	{                                                                                          \
		SEND_REFUSED, PROBLEM_DOMAIN, false, false                                         \
	}
#define UNSURE_SEEN                                                                                \
	{                                                                                          \
		SEND_UNSURE, PROBLEM_UNAVAILABLE, true, false                                      \
	}

enum has_key { NO_KEY, FIRST, REPEAT };

static const struct {
	bool smtp; /* Postfix answers after the verdict */
	enum has_key key;
	bool permissive;
	struct ended emails[EMAILS_MAX];
	const char *rows;    /* each: gone (-), staged (t), sent, refused */
	const char *key_row; /* none, open, settled */
	bool unfinished;
	uint64_t commits;
} cases[] = {
	{false, NO_KEY, false, {SENT}, "s", "none", false, 0},
	{false, NO_KEY, false, {LATE}, "t", "none", false, 0},
	{false, NO_KEY, false, {UNSURE}, "t", "none", false, 0},
	{false, NO_KEY, false, {REFUSED}, "r", "none", false, 0},
	{false, NO_KEY, false, {AWAY}, "-", "none", false, 1},
	{false, NO_KEY, false, {SENT, REJECT, AWAY}, "s--", "none", false, 1},
	/* The record of a message in the maildrop is proof. */
	{false, NO_KEY, false, {AWAY_SEEN}, "s", "none", false, 1},
	{false, NO_KEY, false, {UNSURE_SEEN}, "s", "none", false, 0},
	/* That of one that Postfix did not take over SMTP is none. */
	{true, NO_KEY, false, {SENT}, "s", "none", false, 0},
	{true, NO_KEY, false, {AWAY_SEEN}, "t", "none", false, 1},
	{true, NO_KEY, false, {UNSURE_SEEN}, "t", "none", false, 1},
	{true, NO_KEY, false, {REJECT_SEEN}, "-", "none", false, 1},
	/* The key goes when nothing was sent, and only then. */
	{false, FIRST, false, {SENT}, "s", "open", false, 0},
	{false, FIRST, false, {LATE}, "t", "settled", false, 1},
	{false, FIRST, false, {AWAY}, "-", "none", false, 1},
	{false, FIRST, false, {REFUSED}, "r", "none", false, 1},
	{false, FIRST, false, {UNSURE}, "t", "open", true, 0},
	{true, FIRST, false, {REJECT_SEEN}, "-", "none", false, 1},
	{true, FIRST, false, {UNSURE_SEEN}, "t", "open", true, 1},
	/* The first message may have come through. */
	{true, REPEAT, false, {REJECT_SEEN}, "t", "open", false, 1},
	{true, REPEAT, false, {AWAY_SEEN}, "t", "open", false, 1},
	/* A repeat sends the rest of a strict request, not of another. */
	{false, FIRST, false, {SENT, AWAY}, "st", "open", true, 0},
	{false, FIRST, false, {SENT, REJECT}, "s-", "settled", false, 1},
	{false, FIRST, true, {SENT, AWAY}, "s-", "settled", false, 1},
	{false, FIRST, true, {SENT, REFUSED}, "sr", "settled", false, 1},
	{true, FIRST, false, {SENT, AWAY_SEEN, REJECT}, "stt", "open", true, 1},
};

/* smtp: Postfix answered after the verdict. */
static void stage(struct send_rig *rig, struct send *send, const struct ended *ended, bool smtp)
{
	const struct key *key = &rig->request.admission.key;
	struct email *row = &send->composed.row;
	struct temp_tenant tenant = {.domain = "example.com"};

	memcpy(tenant.company_id, key->company_id, ID_SIZE);
	memcpy(tenant.key_id, key->id, ID_SIZE);
	temp_db_email(&tenant, row);
	memcpy(send->result->id, row->id, ID_SIZE);
	OK(store_email_stage(rig->db, row, &why));
	if (ended->recorded)
		store_email_record(rig->db, row->ticket, "Q", 1, NULL);
	if (ended->end == SEND_REFUSED)
		store_email_refuse(rig->db, row->ticket, "Q", "no", 1, NULL);
	send->end = ended->end;
	send->rejected = ended->rejected;
	send->doubted = smtp && (ended->end == SEND_UNSURE || ended->end == SEND_FAILED);
	if (ended->problem != PROBLEM_NONE)
		problem_set(&send->result->problem, ended->problem, "a\nb");
}

static struct idempotency_lock *stage_key(struct send_rig *rig, bool is_repeat)
{
	struct idempotency_lock *lock = keyed_request_lock(rig, 1);
	struct idempotency row = {.created_us = INT64_MAX / 2};

	memcpy(row.payload, lock->entry.payload, sizeof(row.payload));
	strv_add(&row.results, "x");
	OK(store_idempotency_add(rig->db, &lock->entry.key, &row, &why));
	store_idempotency_clear(&row);
	lock->found = is_repeat;
	return lock;
}

/* Each email's row by its letter. */
static void read_rows(const struct send_rig *rig, size_t n, char *rows_r)
{
	for (size_t i = 0; i < n; i++) {
		enum email_state state;
		_cleanup_free_ char *refusal = NULL;
		int found = store_email_outcome(rig->db, rig->ids[i], &state, &refusal, NULL);

		rows_r[i] = found == 0              ? '-'
			    : state == EMAIL_STAGED ? 't'
			    : state == EMAIL_SENT   ? 's'
						    : 'r';
	}
	rows_r[n] = '\0';
}

static const char *key_row(const struct send_rig *rig)
{
	static const char sql_key[] =
		"SELECT CASE count(*) WHEN 0 THEN 2"
		" ELSE max(settled) END FROM idempotency";
	static const char *const words[] = {"open", "settled", "none"};

	return words[temp_db_number(rig->db, sql_key)];
}

/* The commits that settling took. */
static uint64_t settle(struct send_rig *rig, size_t at)
{
	struct send_group *group;
	uint64_t before;
	size_t n = strlen(cases[at].rows);

	group = send_group_new(&rig->request, n, cases[at].permissive, send_rig_on_done);
	if (cases[at].key != NO_KEY)
		group->lock = stage_key(rig, cases[at].key == REPEAT);
	for (size_t i = 0; i < n; i++)
		stage(rig, &group->sends[i], &cases[at].emails[i], cases[at].smtp);
	before = committer_stats(rig->shared.committer).commits;
	rig->done = 0;
	send_settle(group);
	send_rig_wait(rig);
	return committer_stats(rig->shared.committer).commits - before;
}

static void test_ends(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char rows[EMAILS_MAX + 1];
		struct send_rig *rig;

		send_rig_setup(state);
		rig = *state;
		print_message("case %zu\n", i);
		assert_int_equal(settle(rig, i), cases[i].commits);
		read_rows(rig, strlen(cases[i].rows), rows);
		assert_string_equal(rows, cases[i].rows);
		assert_string_equal(key_row(rig), cases[i].key_row);
		assert_int_equal(rig->unfinished, cases[i].unfinished);
		send_rig_teardown(state);
	}
}

/* Results stand in lines: an id, or why there is none. */
static void test_results(void **state)
{
	static const struct ended ended[] = {SENT, LATE, UNSURE, AWAY, REFUSED};
	static const bool has_id[] = {true, true, true, false, false};
	struct send_rig *rig = *state;
	_cleanup_strv_ struct strv results = {0};
	struct send_group *group = send_group_new(
		&rig->request, ARRAY_SIZE(ended), true, send_rig_on_done);

	for (size_t i = 0; i < ARRAY_SIZE(ended); i++)
		stage(rig, &group->sends[i], &ended[i], false);
	send_group_results(group, &results);
	assert_int_equal(results.n, ARRAY_SIZE(ended));
	for (size_t i = 0; i < ARRAY_SIZE(ended); i++)
		assert_string_equal(results.items[i], has_id[i] ? group->results[i].id : "!a b");
	send_group_free(group);
}

/* What cannot be written is logged, and the client still gets its answer. */
static void test_store_fails(void **state)
{
	static const struct ended failed = AWAY;
	struct send_rig *rig = *state;
	struct send_group *group = send_group_new(&rig->request, 1, false, send_rig_on_done);

	stage(rig, &group->sends[0], &failed, false);
	OK(db_exec(rig->db,
		"CREATE TRIGGER no BEFORE DELETE ON email BEGIN"
		" SELECT RAISE (ABORT, 'no'); END",
		&why));
	rig->done = 0;
	send_settle(group);
	send_rig_wait(rig);
	assert_int_equal(rig->problems[0].kind, PROBLEM_UNAVAILABLE);
	assert_int_equal(send_rig_state(rig, 0), EMAIL_STAGED);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(test_##name, send_rig_setup, send_rig_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		test(results),
		test(store_fails),
	};
	int failed;

	mime_init();
	failed = cmocka_run_group_tests_name("send_settle", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
