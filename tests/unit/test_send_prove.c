/*
 * send: whether Postfix is known to have an email, and what is done about one
 * that it may have lost.
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
static const char sql_superseded[] = "SELECT count(*) FROM superseded_ticket";

static int64_t count(struct send_rig *rig, const char *sql)
{
	return temp_db_number(rig->db, sql);
}

/* The first message may have come through: whatever becomes of the repeats, the
 * email stays known, and keeps its id. */
static void test_never_forgotten(void **state)
{
	static const struct {
		enum inject_result result;
		enum err_code code;
		enum fake_milter milter;
		int status;
	} repeats[] = {
		{INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_AWAY, 503},
		{INJECT_REJECTED, ERR_INVALID, MILTER_AWAY, 422},
		{INJECT_REJECTED, ERR_INVALID, MILTER_RECORDS, 422},
		{INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_RECORDS, 503},
		{INJECT_UNKNOWN, ERR_TEMPORARY, MILTER_RECORDS, 503},
	};
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};
	char id[ID_SIZE];

	fake_inject_verdict_first(rig->inject);
	rig->inject->result = INJECT_UNKNOWN;
	assert_false(keyed_request_send(rig, &single));
	memcpy(id, rig->ids[0], sizeof(id));
	for (size_t i = 0; i < ARRAY_SIZE(repeats); i++) {
		rig->inject->result = repeats[i].result;
		rig->inject->code = repeats[i].code;
		rig->inject->milter = repeats[i].milter;
		assert_false(keyed_request_send(rig, &single));
		assert_int_equal(problem_status(&rig->problems[0]), repeats[i].status);
		assert_int_equal(send_rig_state(rig, 0), EMAIL_STAGED);
		assert_string_equal(rig->ids[0], id);
		assert_int_equal(count(rig, sql_keys), 1);
	}
	rig->inject->result = INJECT_QUEUED;
	assert_false(keyed_request_send(rig, &single));
	assert_int_equal(rig->sent, 1);
	assert_string_equal(rig->ids[0], id);
	assert_true(keyed_request_send(rig, &single));
}

/* How many emails Postfix was not heard to have. */
static void assert_unproven(struct send_rig *rig, int n)
{
	assert_int_equal(count(rig, "SELECT count(run) FROM email"), n);
}

/* The power goes, or Postfix is started anew, before anything was proven. */
static void next_run(struct send_rig *rig)
{
	OK(db_exec(rig->db, "UPDATE email SET run = 'the last'", &why));
}

/* Where the answers of Postfix are lost with httpd, after the milter's record. */
static void lose_answers(struct send_rig *rig)
{
	OK(db_exec(rig->db, "UPDATE email SET state = 'sent', last_event = 'sent'", &why));
}

/* sendmail(1) has put the message on the disk before the milter sees it. */
static void test_record_proves(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};

	rig->inject->result = INJECT_UNKNOWN;
	assert_false(keyed_request_send(rig, &single));
	assert_unproven(rig, 0);
}

/* By SMTP only the answer does, for each email by itself; without it a record
 * counts for the time being, until the client was told so. */
static void test_answer_proves(void **state)
{
	static const bool permissive[] = {false, true};
	struct send_rig *rig = *state;

	fake_inject_verdict_first(rig->inject);
	for (size_t i = 0; i < ARRAY_SIZE(permissive); i++) {
		const struct keyed_request batch = {.n = N, .key = 1, .permissive = permissive[i]};

		rig->inject->only_to = keyed_request_to[1];
		rig->inject->result = INJECT_UNKNOWN;
		assert_false(keyed_request_send(rig, &batch));
		assert_unproven(rig, 1);
		lose_answers(rig);
		assert_true(keyed_request_send(rig, &batch));
		assert_int_equal(rig->sent, N);
		assert_unproven(rig, 0);
		keyed_request_forget_all(rig);
	}
}

/* The others of a batch do not go out twice. */
static void test_next_run_of_a_batch(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request batch = {.n = N, .key = 1};

	fake_inject_verdict_first(rig->inject);
	rig->inject->only_to = keyed_request_to[1];
	rig->inject->result = INJECT_TEMPORARY;
	rig->inject->code = ERR_TEMPORARY;
	rig->inject->milter = MILTER_AWAY;
	assert_false(keyed_request_send(rig, &batch));
	assert_true(rig->unfinished);
	assert_unproven(rig, 1);
	OK(db_exec(rig->db, "UPDATE email SET run = 'the last' WHERE run <> ''", &why));
	rig->inject->result = INJECT_QUEUED;
	rig->inject->milter = MILTER_RECORDS;
	assert_false(keyed_request_send(rig, &batch));
	assert_int_equal(rig->sent, N);
	assert_int_equal(rig->inject->submitted, N + 1);
	assert_unproven(rig, 0);
	assert_true(keyed_request_send(rig, &batch));
}

/* While no master is alive nothing proves that one has it. */
static void test_no_run(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};

	fake_inject_verdict_first(rig->inject);
	fake_master_stop(rig->postfix);
	rig->inject->result = INJECT_UNKNOWN;
	assert_false(keyed_request_send(rig, &single));
	assert_unproven(rig, 1);
	lose_answers(rig);
	rig->inject->result = INJECT_QUEUED;
	assert_false(keyed_request_send(rig, &single));
	/* Each time with another ticket, as often as that is tried. */
	assert_int_equal(rig->inject->submitted, 1 + 3 + 1);
	assert_unproven(rig, 0);
	assert_true(keyed_request_send(rig, &single));
}

/* What was recorded, and not proven, goes out again with the same id, and stays
 * sent whatever comes of that. */
static void test_next_run(void **state)
{
	static const struct {
		enum inject_result result;
		enum err_code code;
		enum fake_milter milter;
		int status; /* 0: it is taken */
	} repeats[] = {
		{INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_AWAY, 503},
		{INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_RECORDS, 503},
		{INJECT_REJECTED, ERR_INVALID, MILTER_AWAY, 422},
		{INJECT_UNKNOWN, ERR_TEMPORARY, MILTER_RECORDS, 503},
		{INJECT_QUEUED, ERR_NONE, MILTER_RECORDS, 0},
	};
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};
	char id[ID_SIZE];

	fake_inject_verdict_first(rig->inject);
	assert_false(keyed_request_send(rig, &single));
	memcpy(id, rig->ids[0], sizeof(id));
	next_run(rig);
	for (size_t i = 0; i < ARRAY_SIZE(repeats); i++) {
		const struct problem *problem = &rig->problems[0];

		assert_unproven(rig, 1);
		rig->inject->result = repeats[i].result;
		rig->inject->code = repeats[i].code;
		rig->inject->milter = repeats[i].milter;
		assert_false(keyed_request_send(rig, &single));
		assert_int_equal(problem->kind ? problem_status(problem) : 0, repeats[i].status);
		assert_string_equal(rig->ids[0], id);
		assert_int_equal(send_rig_state(rig, 0), EMAIL_SENT);
		assert_int_equal(rig->inject->submitted, i + 2);
	}
	assert_int_equal(count(rig, sql_superseded), ARRAY_SIZE(repeats));
	assert_unproven(rig, 0);
	assert_true(keyed_request_send(rig, &single));
}

/* What was answered before counts in each run. */
static void test_proven_stays(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};

	fake_inject_verdict_first(rig->inject);
	assert_false(keyed_request_send(rig, &single));
	fake_master_stop(rig->postfix);
	assert_true(keyed_request_send(rig, &single));
	assert_int_equal(rig->inject->submitted, 1);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(test_##name, send_rig_setup, send_rig_teardown)
	const struct CMUnitTest tests[] = {
		test(never_forgotten),
		test(record_proves),
		test(answer_proves),
		test(next_run_of_a_batch),
		test(no_run),
		test(next_run),
		test(proven_stays),
	};
	int failed;

	mime_init();
	failed = cmocka_run_group_tests_name("send_prove", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
