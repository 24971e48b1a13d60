/* send: requests of several emails, requests with an Idempotency-Key, and what
 * is done when they come again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <string.h>

#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/mail/mime_init.h"
#include "core/store/store_email.h"
#include "httpd/http/idempotency.h"
#include "tests/unit/send_rig.h"
#include "tests/unit/temp_db.h"

enum { N = 3 };

static const char *const to[N] = {"a@dst.test", "b@dst.test", "c@dst.test"};

static const char sql_keys[] = "SELECT count(*) FROM idempotency";
static const char sql_emails[] = "SELECT count(*) FROM email";
static const char sql_superseded[] = "SELECT count(*) FROM superseded_ticket";

/* What a test sends, and under which key; 0: none. */
struct request_of {
	size_t n;
	uint8_t key;
	bool permissive;
	size_t bad; /* the email, from 1, that cannot be read; 0: none */
};

static const uint8_t payload[SECRET_HASH_LEN] = {42};

static void claim(struct send_rig *rig, uint8_t key)
{
	struct admission *admission = &rig->request.admission;
	struct problem problem;

	memset(admission->idempotency_key, key, SECRET_HASH_LEN);
	assert_int_equal(idempotency_claim(&rig->request, payload, &problem), 0);
}

static void unclaim(struct send_rig *rig)
{
	idempotency_end(rig->request.claim);
	rig->request.claim = NULL;
}

static void send_all(struct send_rig *rig, const struct request_of *what)
{
	struct outgoing emails[N] = {0};
	struct problem problems[N] = {0};
	const struct send_spec spec = {
		.outgoing = emails,
		.problems = problems,
		.n = what->n,
		.permissive = what->permissive,
		.done = send_rig_on_done,
	};

	for (size_t i = 0; i < what->n; i++)
		send_rig_email("hello@example.com", to[i], &emails[i]);
	if (what->bad)
		problem_set(&problems[what->bad - 1], PROBLEM_VALIDATION,
			"two\nlines");
	send_rig_send(rig, &spec);
	for (size_t i = 0; i < what->n; i++)
		outgoing_clear(&emails[i]);
}

/* The request, once; whether it was answered without a look at its body. */
static bool request(struct send_rig *rig, const struct request_of *what)
{
	bool known = false;

	if (what->key)
		claim(rig, what->key);
	rig->done = 0;
	known = send_repeat(&rig->request, what->permissive, send_rig_on_done);
	if (known)
		send_rig_wait(rig);
	else
		send_all(rig, what);
	unclaim(rig);
	return known;
}

static int64_t count(struct send_rig *rig, const char *sql)
{
	return temp_db_number(rig->db, sql);
}

static void test_all_sent(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of batch = {.n = N, .key = 1};
	char ids[N][ID_SIZE];

	assert_false(request(rig, &batch));
	assert_int_equal(rig->sent, N);
	assert_int_equal(rig->inject->submitted, N);
	memcpy(ids, rig->ids, sizeof(ids));
	for (int i = 0; i < 3; i++) {
		assert_true(request(rig, &batch));
		assert_int_equal(rig->n, N);
		assert_int_equal(rig->sent, N);
		assert_memory_equal(ids, rig->ids, sizeof(ids));
	}
	assert_int_equal(rig->inject->submitted, N);
	assert_int_equal(count(rig, sql_emails), N);
	assert_int_equal(count(rig, sql_keys), 1);
}

static void test_without_key(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of batch = {.n = N};

	assert_false(request(rig, &batch));
	assert_false(request(rig, &batch));
	assert_int_equal(count(rig, sql_emails), 2 * N);
	assert_int_equal(count(rig, sql_keys), 0);
}

/* One that cannot be read: none goes, or the others go. */
static void test_one_is_bad(void **state)
{
	struct send_rig *rig = *state;
	struct request_of batch = {.n = N, .key = 1, .bad = 2};

	assert_false(request(rig, &batch));
	assert_int_equal(rig->sent, 0);
	assert_int_equal(rig->problems[1].kind, PROBLEM_VALIDATION);
	assert_int_equal(count(rig, sql_emails), 0);
	assert_int_equal(count(rig, sql_keys), 0);

	batch.permissive = true;
	assert_false(request(rig, &batch));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rig->sent, N - 1);
		assert_int_equal(rig->problems[0].kind, PROBLEM_NONE);
		assert_int_equal(rig->problems[1].kind, PROBLEM_VALIDATION);
		assert_string_equal(
			rig->problems[1].text, i ? "two lines" : "two\nlines");
		assert_true(request(rig, &batch));
	}
	assert_int_equal(count(rig, sql_emails), N - 1);
}

static void test_all_are_bad(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of batch = {
		.n = 1, .key = 1, .permissive = true, .bad = 1};

	assert_false(request(rig, &batch));
	assert_int_equal(rig->sent, 0);
	assert_int_equal(count(rig, sql_keys), 0);
}

/* What becomes of a request whose second email meets this, and of its repeat
 * when all is well again. */
struct misfortune {
	const char *name;
	struct request_of what;
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
	{"single, temporary", {.n = 1, .key = 1}, INJECT_TEMPORARY,
		ERR_TEMPORARY, MILTER_AWAY, 503, 0, false, 0, 0, false, 1, 1},
	{"single, rejected", {.n = 1, .key = 1}, INJECT_REJECTED, ERR_INTERNAL,
		MILTER_RECORDS, 500, 0, false, 0, 0, false, 1, 1},
	{"single, refused", {.n = 1, .key = 1}, INJECT_QUEUED, ERR_TEMPORARY,
		MILTER_REFUSES, 403, 0, false, 1, 0, false, 1, 1},
	{"single, unknown", {.n = 1, .key = 1}, INJECT_UNKNOWN, ERR_TEMPORARY,
		MILTER_AWAY, 503, 0, true, 1, 1, false, 1, 1},
	{"single, late", {.n = 1, .key = 1}, INJECT_QUEUED, ERR_TEMPORARY,
		MILTER_AWAY, 0, 1, false, 1, 1, true, 1, 0},
	{"strict, temporary", {.n = N, .key = 1}, INJECT_TEMPORARY,
		ERR_TEMPORARY, MILTER_AWAY, 503, N - 1, true, N, 1, false, N, 1},
	{"strict, unknown", {.n = N, .key = 1}, INJECT_UNKNOWN, ERR_TEMPORARY,
		MILTER_AWAY, 503, N - 1, true, N, 1, false, N, 1},
	{"strict, rejected", {.n = N, .key = 1}, INJECT_REJECTED, ERR_INTERNAL,
		MILTER_RECORDS, 500, N - 1, false, N - 1, 1, true, N - 1, 0},
	{"strict, refused", {.n = N, .key = 1}, INJECT_QUEUED, ERR_TEMPORARY,
		MILTER_REFUSES, 403, N - 1, false, N, 1, true, N - 1, 0},
	{"strict, late", {.n = N, .key = 1}, INJECT_QUEUED, ERR_TEMPORARY,
		MILTER_AWAY, 0, N, false, N, 1, true, N, 0},
	{"permissive, temporary", {.n = N, .key = 1, .permissive = true},
		INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_AWAY, 503, N - 1, false,
		N - 1, 1, true, N - 1, 0},
	{"permissive, rejected", {.n = N, .key = 1, .permissive = true},
		INJECT_REJECTED, ERR_INTERNAL, MILTER_RECORDS, 500, N - 1,
		false, N - 1, 1, true, N - 1, 0},
	{"no key, temporary", {.n = N}, INJECT_TEMPORARY, ERR_TEMPORARY,
		MILTER_AWAY, 503, N - 1, false, N - 1, 0, false, N, N},
	{"no key, rejected", {.n = N}, INJECT_REJECTED, ERR_INTERNAL,
		MILTER_RECORDS, 500, N - 1, false, N - 1, 0, false, N, N},
};

/* Postfix cannot take the message after the milter let it pass: who knows. */
static const struct misfortune late_misfortunes[] = {
	{"single", {.n = 1, .key = 1}, INJECT_TEMPORARY, ERR_TEMPORARY,
		MILTER_RECORDS, 503, 0, true, 1, 1, false, 1, 1},
	{"strict", {.n = N, .key = 1}, INJECT_TEMPORARY, ERR_TEMPORARY,
		MILTER_RECORDS, 503, N - 1, true, N, 1, false, N, 1},
	{"permissive", {.n = N, .key = 1, .permissive = true}, INJECT_TEMPORARY,
		ERR_TEMPORARY, MILTER_RECORDS, 503, N - 1, false, N, 1, false,
		N, 1},
	{"no key", {.n = N}, INJECT_TEMPORARY, ERR_TEMPORARY, MILTER_RECORDS,
		503, N - 1, false, N, 0, false, N, N},
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

static void forget_everything(struct send_rig *rig)
{
	OK(db_exec(rig->db,
		"DELETE FROM email; DELETE FROM idempotency;"
		"DELETE FROM superseded_ticket",
		&why));
	rig->inject->result = INJECT_QUEUED;
	rig->inject->milter = MILTER_RECORDS;
	rig->inject->only_to = NULL;
	rig->inject->submitted = 0;
}

static void meet(struct send_rig *rig, const struct misfortune *misfortune)
{
	const struct request_of *what = &misfortune->what;

	forget_everything(rig);
	rig->inject->only_to = what->n == 1 ? to[0] : to[1];
	rig->inject->result = misfortune->result;
	rig->inject->code = misfortune->code;
	rig->inject->milter = misfortune->milter;
	assert_false(request(rig, what));
	check_first(rig, misfortune);

	rig->inject->only_to = "nobody@dst.test";
	rig->inject->submitted = 0;
	assert_int_equal(request(rig, what), misfortune->known);
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

	fake_inject_after_verdict(rig->inject);
	for (size_t i = 0; i < ARRAY_SIZE(misfortunes); i++)
		meet(rig, &misfortunes[i]);
	for (size_t i = 0; i < ARRAY_SIZE(late_misfortunes); i++)
		meet(rig, &late_misfortunes[i]);
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
	const struct request_of single = {.n = 1, .key = 1};
	char id[ID_SIZE];

	fake_inject_after_verdict(rig->inject);
	rig->inject->result = INJECT_UNKNOWN;
	assert_false(request(rig, &single));
	memcpy(id, rig->ids[0], sizeof(id));
	for (size_t i = 0; i < ARRAY_SIZE(repeats); i++) {
		rig->inject->result = repeats[i].result;
		rig->inject->code = repeats[i].code;
		rig->inject->milter = repeats[i].milter;
		assert_false(request(rig, &single));
		assert_int_equal(
			problem_status(&rig->problems[0]), repeats[i].status);
		assert_int_equal(send_rig_state(rig, 0), EMAIL_STAGED);
		assert_string_equal(rig->ids[0], id);
		assert_int_equal(count(rig, sql_keys), 1);
	}
	rig->inject->result = INJECT_QUEUED;
	assert_false(request(rig, &single));
	assert_int_equal(rig->sent, 1);
	assert_string_equal(rig->ids[0], id);
	assert_true(request(rig, &single));
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
	OK(db_exec(rig->db,
		"UPDATE email SET state = 'sent', last_event = 'sent'", &why));
}

/* sendmail(1) has put the message on the disk before the milter sees it. */
static void test_record_proves(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of single = {.n = 1, .key = 1};

	rig->inject->result = INJECT_UNKNOWN;
	assert_false(request(rig, &single));
	assert_unproven(rig, 0);
}

/* By SMTP only the answer does, for each email by itself; without it a record
 * counts for the time being, until the client was told so. */
static void test_answer_proves(void **state)
{
	static const bool permissive[] = {false, true};
	struct send_rig *rig = *state;

	fake_inject_after_verdict(rig->inject);
	for (size_t i = 0; i < ARRAY_SIZE(permissive); i++) {
		const struct request_of batch = {
			.n = N, .key = 1, .permissive = permissive[i]};

		rig->inject->only_to = to[1];
		rig->inject->result = INJECT_UNKNOWN;
		assert_false(request(rig, &batch));
		assert_unproven(rig, 1);
		lose_answers(rig);
		assert_true(request(rig, &batch));
		assert_int_equal(rig->sent, N);
		assert_unproven(rig, 0);
		forget_everything(rig);
	}
}

/* The others of a batch do not go out twice. */
static void test_next_run_of_a_batch(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of batch = {.n = N, .key = 1};

	fake_inject_after_verdict(rig->inject);
	rig->inject->only_to = to[1];
	rig->inject->result = INJECT_TEMPORARY;
	rig->inject->code = ERR_TEMPORARY;
	rig->inject->milter = MILTER_AWAY;
	assert_false(request(rig, &batch));
	assert_true(rig->unfinished);
	assert_unproven(rig, 1);
	OK(db_exec(rig->db, "UPDATE email SET run = 'the last' WHERE run <> ''",
		&why));
	rig->inject->result = INJECT_QUEUED;
	rig->inject->milter = MILTER_RECORDS;
	assert_false(request(rig, &batch));
	assert_int_equal(rig->sent, N);
	assert_int_equal(rig->inject->submitted, N + 1);
	assert_unproven(rig, 0);
	assert_true(request(rig, &batch));
}

/* While no master is alive nothing proves that one has it. */
static void test_no_run(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of single = {.n = 1, .key = 1};

	fake_inject_after_verdict(rig->inject);
	fake_master_stop(rig->postfix);
	rig->inject->result = INJECT_UNKNOWN;
	assert_false(request(rig, &single));
	assert_unproven(rig, 1);
	lose_answers(rig);
	rig->inject->result = INJECT_QUEUED;
	assert_false(request(rig, &single));
	assert_int_equal(rig->inject->submitted, 2);
	assert_unproven(rig, 0);
	assert_true(request(rig, &single));
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
	const struct request_of single = {.n = 1, .key = 1};
	char id[ID_SIZE];

	fake_inject_after_verdict(rig->inject);
	assert_false(request(rig, &single));
	memcpy(id, rig->ids[0], sizeof(id));
	next_run(rig);
	for (size_t i = 0; i < ARRAY_SIZE(repeats); i++) {
		const struct problem *problem = &rig->problems[0];

		assert_unproven(rig, 1);
		rig->inject->result = repeats[i].result;
		rig->inject->code = repeats[i].code;
		rig->inject->milter = repeats[i].milter;
		assert_false(request(rig, &single));
		assert_int_equal(problem->kind ? problem_status(problem) : 0,
			repeats[i].status);
		assert_string_equal(rig->ids[0], id);
		assert_int_equal(send_rig_state(rig, 0), EMAIL_SENT);
		assert_int_equal(rig->inject->submitted, i + 2);
	}
	assert_int_equal(count(rig, sql_superseded), ARRAY_SIZE(repeats));
	assert_unproven(rig, 0);
	assert_true(request(rig, &single));
}

/* What was answered before counts in each run. */
static void test_proven_stays(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of single = {.n = 1, .key = 1};

	fake_inject_after_verdict(rig->inject);
	assert_false(request(rig, &single));
	fake_master_stop(rig->postfix);
	assert_true(request(rig, &single));
	assert_int_equal(rig->inject->submitted, 1);
}

/* The rest of a batch, and only that, goes out with the same ids. */
static void test_rest_is_sent(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of batch = {.n = N, .key = 1};
	char ids[N][ID_SIZE], first_ticket[64];

	rig->inject->only_to = to[N - 1];
	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	request(rig, &batch);
	memcpy(ids, rig->ids, sizeof(ids));
	strcpy(first_ticket, rig->inject->ticket);

	rig->inject->only_to = "nobody@dst.test";
	assert_false(request(rig, &batch));
	assert_memory_equal(ids, rig->ids, sizeof(ids));
	assert_string_not_equal(first_ticket, rig->inject->ticket);
	assert_non_null(strstr(rig->inject->message, ids[N - 1]));
	assert_int_equal(count(rig, sql_superseded), 1);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(send_rig_state(rig, i), EMAIL_SENT);
	assert_true(request(rig, &batch));
	assert_int_equal(rig->inject->submitted, N + 1);
}

/* The message that is sent again is the first one but for its ticket. */
static void test_same_message(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of single = {.n = 1, .key = 1};
	_cleanup_free_ char *first = NULL;
	const char *second;

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	request(rig, &single);
	first = mem_strdup(rig->inject->message);
	request(rig, &single);
	second = rig->inject->message;
	assert_string_not_equal(first, second);
	assert_non_null(strstr(first, "\nDate: "));
	/* But for boundaries, which are random, too. */
	assert_int_equal(strcspn(strstr(first, "\nDate: "), "\r\n"),
		strcspn(strstr(second, "\nDate: "), "\r\n"));
	assert_memory_equal(
		strstr(first, "\nDate: "), strstr(second, "\nDate: "), 38);
	assert_memory_equal(strstr(first, "\nMessage-I"),
		strstr(second, "\nMessage-I"), 60);
}

/* The milter records the first message while the repeat waits for it. */
static void on_first_arrives(evutil_socket_t fd, short what, void *arg)
{
	struct send_rig *rig = arg;

	(void)fd;
	(void)what;
	store_email_record(rig->db, rig->inject->ticket, "FIRST", 1, NULL);
}

static void test_first_arrives_late(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of single = {.n = 1, .key = 1};
	const struct timeval soon = {.tv_usec = 20000};

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	request(rig, &single);
	rig->worker.conf->submission.record_wait_ms = 60000;
	event_base_once(
		rig->worker.base, -1, EV_TIMEOUT, on_first_arrives, rig, &soon);
	assert_false(request(rig, &single));
	assert_int_equal(rig->sent, 1);
	assert_int_equal(rig->inject->submitted, 1);
	assert_int_equal(count(rig, sql_superseded), 0);
}

/* Meanwhile the domain sleeps: the email may be out or not, so the key stays. */
static void test_not_allowed_any_more(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of single = {.n = 1, .key = 1};

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	request(rig, &single);
	OK(db_exec(rig->db, "UPDATE domain SET active = 0", &why));
	assert_false(request(rig, &single));
	assert_int_equal(problem_status(&rig->problems[0]), 403);
	assert_int_equal(rig->inject->submitted, 1);
	assert_int_equal(count(rig, sql_keys), 1);
	OK(db_exec(rig->db, "UPDATE domain SET active = 1", &why));
	rig->inject->result = INJECT_QUEUED;
	rig->inject->milter = MILTER_RECORDS;
	assert_false(request(rig, &single));
	assert_int_equal(rig->sent, 1);
}

/* A refusal that nobody was told of: the repeat tells it, the next one sends. */
static void test_refused_before(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of single = {.n = 1, .key = 1};

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	request(rig, &single);
	assert_int_equal(store_email_refuse(rig->db, rig->inject->ticket, "Q",
				 "No.", 1, NULL),
		1);
	assert_true(request(rig, &single));
	assert_int_equal(problem_status(&rig->problems[0]), 403);
	assert_string_equal(rig->problems[0].text, "No.");
	assert_int_equal(count(rig, sql_keys), 0);
	rig->inject->result = INJECT_QUEUED;
	rig->inject->milter = MILTER_RECORDS;
	assert_false(request(rig, &single));
	assert_int_equal(rig->sent, 1);
}

static void test_conflicts(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of single = {.n = 1, .key = 1};
	const uint8_t other[SECRET_HASH_LEN] = {43};
	struct request second = rig->request;
	struct problem problem;

	request(rig, &single);
	claim(rig, 1);
	second.admission.has_idempotency_key = true;
	memset(second.admission.idempotency_key, 1, SECRET_HASH_LEN);
	assert_int_equal(idempotency_claim(&second, payload, &problem), -1);
	assert_int_equal(problem.kind, PROBLEM_CONCURRENT);
	assert_int_equal(idempotency_claim(&second, other, &problem), -1);
	assert_int_equal(problem.kind, PROBLEM_OTHER_PAYLOAD);
	assert_null(second.claim);
	unclaim(rig);

	assert_int_equal(idempotency_claim(&second, other, &problem), -1);
	assert_int_equal(problem.kind, PROBLEM_OTHER_PAYLOAD);
	idempotency_end(second.claim);
}

/* Two httpds on one store, as while one is restarted. */
/* Leaves a request that was not finished. */
static void leave_unknown(struct send_rig *rig)
{
	const struct request_of single = {.n = 1, .key = 1};

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	request(rig, &single);
	rig->inject->result = INJECT_QUEUED;
	rig->inject->submitted = 0;
}

/* What is not in the store any more was taken back: it is not claimed to have
 * been sent. */
static void test_row_is_gone(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of single = {.n = 1, .key = 1};

	leave_unknown(rig);
	OK(db_exec(rig->db, "DELETE FROM email", &why));
	request(rig, &single);
	assert_int_equal(rig->sent, 0);
	assert_int_equal(rig->problems[0].kind, PROBLEM_UNAVAILABLE);
	assert_int_equal(rig->inject->submitted, 0);
}

/* Another version of the program may read a payload in another way. */
static void test_other_number(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of batch = {.n = 2, .key = 1};

	leave_unknown(rig);
	request(rig, &batch);
	assert_int_equal(rig->problems[0].kind, PROBLEM_OTHER_PAYLOAD);
	assert_int_equal(rig->inject->submitted, 0);
}

static void test_other_httpd(void **state)
{
	struct send_rig *rig = *state;
	const struct request_of single = {.n = 1, .key = 1};
	struct idempotency row = {.created_us = INT64_MAX / 2};
	struct idempotency_key key = {0};

	claim(rig, 1);
	key = rig->request.claim->entry.key;
	strv_add(&row.results, "x");
	OK(store_idempotency_add(rig->db, &key, &row, &why));
	send_all(rig, &single);
	unclaim(rig);
	assert_int_equal(rig->problems[0].kind, PROBLEM_CONCURRENT);
	assert_int_equal(rig->inject->submitted, 0);
	assert_int_equal(count(rig, sql_emails), 0);
	store_idempotency_clear(&row);
}

int main(void)
{
#define test(name)                                                             \
	cmocka_unit_test_setup_teardown(                                       \
		test_##name, send_rig_setup, send_rig_teardown)
	const struct CMUnitTest tests[] = {
		test(all_sent),
		test(without_key),
		test(one_is_bad),
		test(all_are_bad),
		test(misfortunes),
		test(misfortunes_after_verdict),
		test(never_forgotten),
		test(record_proves),
		test(answer_proves),
		test(next_run),
		test(next_run_of_a_batch),
		test(no_run),
		test(proven_stays),
		test(rest_is_sent),
		test(same_message),
		test(first_arrives_late),
		test(not_allowed_any_more),
		test(refused_before),
		test(conflicts),
		test(row_is_gone),
		test(other_number),
		test(other_httpd),
	};
	int failed;

	mime_init();
	failed = cmocka_run_group_tests_name("send_again", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
