/*
 * send: what becomes of a request one of whose emails meets a misfortune, and
 * of its repeat.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <string.h>

#include "core/mime/mime_gmime.h"
#include "tests/unit/keyed_request.h"
#include "tests/unit/temp_db.h"

enum { N = KEYED_EMAILS };

static const char sql_keys[] = "SELECT count(*) FROM idempotency";
static const char sql_emails[] = "SELECT count(*) FROM email";

static int64_t count(struct send_rig *rig, const char *sql)
{
	return temp_db_number(rig->db, sql);
}

/* What becomes of a request whose second email meets this, and of its repeat
 * when all is well again. */
struct misfortune {
	const char *name;
	struct keyed_request what;
	enum inject_result result;
	enum err_code code;
	enum fake_milter milter;
	int status; /* of the second email; 0: no problem */
	size_t sent;
	bool unfinished;
	int64_t emails, keys; /* rows that are left */
	bool known;           /* the repeat is answered as before */
	size_t sent_again;    /* by the repeat: its outcome */
	int submitted_again;
};

static const struct misfortune misfortunes[] = {
	{"single, temporary", {.n = 1, .key = 1}, INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_AWAY, 503,
		0, false, 0, 0, false, 1, 1},
	{"single, rejected", {.n = 1, .key = 1}, INJECT_REJECTED, ERR_INTERNAL, MILTER_RECORDS, 500,
		0, false, 0, 0, false, 1, 1},
	{"single, refused", {.n = 1, .key = 1}, INJECT_QUEUED, ERR_TEMPORARY, MILTER_REFUSES, 403,
		0, false, 1, 0, false, 1, 1},
	{"single, unknown", {.n = 1, .key = 1}, INJECT_UNKNOWN, ERR_TEMPORARY, MILTER_AWAY, 503, 0,
		true, 1, 1, false, 1, 1},
	{"single, late", {.n = 1, .key = 1}, INJECT_QUEUED, ERR_TEMPORARY, MILTER_AWAY, 0, 1, false,
		1, 1, true, 1, 0},
	{"strict, temporary", {.n = N, .key = 1}, INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_AWAY, 503,
		N - 1, true, N, 1, false, N, 1},
	{"strict, unknown", {.n = N, .key = 1}, INJECT_UNKNOWN, ERR_TEMPORARY, MILTER_AWAY, 503,
		N - 1, true, N, 1, false, N, 1},
	{"strict, rejected", {.n = N, .key = 1}, INJECT_REJECTED, ERR_INTERNAL, MILTER_RECORDS, 500,
		N - 1, false, N - 1, 1, true, N - 1, 0},
	{"strict, refused", {.n = N, .key = 1}, INJECT_QUEUED, ERR_TEMPORARY, MILTER_REFUSES, 403,
		N - 1, false, N, 1, true, N - 1, 0},
	{"strict, late", {.n = N, .key = 1}, INJECT_QUEUED, ERR_TEMPORARY, MILTER_AWAY, 0, N, false,
		N, 1, true, N, 0},
	{"permissive, temporary", {.n = N, .key = 1, .permissive = true}, INJECT_TEMPORARY,
		ERR_TEMPORARY, MILTER_AWAY, 503, N - 1, false, N - 1, 1, true, N - 1, 0},
	{"permissive, rejected", {.n = N, .key = 1, .permissive = true}, INJECT_REJECTED,
		ERR_INTERNAL, MILTER_RECORDS, 500, N - 1, false, N - 1, 1, true, N - 1, 0},
	{"no key, temporary", {.n = N}, INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_AWAY, 503, N - 1,
		false, N - 1, 0, false, N, N},
	{"no key, rejected", {.n = N}, INJECT_REJECTED, ERR_INTERNAL, MILTER_RECORDS, 500, N - 1,
		false, N - 1, 0, false, N, N},
};

/* Postfix cannot take the message after the milter let it pass: who knows. */
static const struct misfortune late_misfortunes[] = {
	{"single", {.n = 1, .key = 1}, INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_RECORDS, 503, 0,
		true, 1, 1, false, 1, 1},
	{"strict", {.n = N, .key = 1}, INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_RECORDS, 503, N - 1,
		true, N, 1, false, N, 1},
	{"permissive", {.n = N, .key = 1, .permissive = true}, INJECT_TEMPORARY, ERR_TEMPORARY,
		MILTER_RECORDS, 500, N - 1, false, N, 1, false, N, 1},
	{"no key", {.n = N}, INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_RECORDS, 500, N - 1, false, N,
		0, false, N, N},
};

static void check_first(struct send_rig *rig, const struct misfortune *misfortune)
{
	const size_t at = misfortune->what.n == 1 ? 0 : 1;
	const struct problem *problem = &rig->problems[at];
	int status = problem->kind ? problem_status(problem) : 0;

	print_message("%s\n", misfortune->name);
	assert_int_equal(status, misfortune->status);
	assert_int_equal(rig->sent, misfortune->sent);
	assert_int_equal(rig->unfinished, misfortune->unfinished);
	assert_int_equal(count(rig, sql_emails), misfortune->emails);
	assert_int_equal(count(rig, sql_keys), misfortune->keys);
}

static void meet(struct send_rig *rig, const struct misfortune *misfortune)
{
	const struct keyed_request *what = &misfortune->what;

	keyed_request_forget_all(rig);
	rig->inject->only_to = what->n == 1 ? keyed_request_to[0] : keyed_request_to[1];
	rig->inject->result = misfortune->result;
	rig->inject->code = misfortune->code;
	rig->inject->milter = misfortune->milter;
	assert_false(keyed_request_send(rig, what));
	check_first(rig, misfortune);

	rig->inject->only_to = "nobody@dst.test";
	rig->inject->submitted = 0;
	assert_int_equal(keyed_request_send(rig, what), misfortune->known);
	assert_int_equal(rig->sent, misfortune->sent_again);
	assert_int_equal(rig->inject->submitted, misfortune->submitted_again);
	assert_false(rig->unfinished);
}

static void test_misfortunes(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(misfortunes); i++)
		meet(*state, &misfortunes[i]);
}

/* Postfix may fail when the milter has recorded the email already: that record
 * is no proof. */
static void test_misfortunes_after_verdict(void **state)
{
	struct send_rig *rig = *state;

	fake_inject_verdict_first(rig->inject);
	for (size_t i = 0; i < ARRAY_SIZE(misfortunes); i++)
		meet(rig, &misfortunes[i]);
	for (size_t i = 0; i < ARRAY_SIZE(late_misfortunes); i++)
		meet(rig, &late_misfortunes[i]);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(test_##name, send_rig_setup, send_rig_teardown)
	const struct CMUnitTest tests[] = {
		test(misfortunes),
		test(misfortunes_after_verdict),
	};
	int failed;

	mime_init();
	failed = cmocka_run_group_tests_name("send_misfortunes", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
