/*
 * send: requests of several emails, requests with an Idempotency-Key, and what
 * is done when they come again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <string.h>

#include "core/conf/conf.h"
#include "core/mime/mime_gmime.h"
#include "httpd/send/idempotency.h"
#include "tests/unit/keyed_request.h"
#include "tests/unit/temp_db.h"

enum { N = KEYED_EMAILS };

static const char sql_keys[] = "SELECT count(*) FROM idempotency";
static const char sql_emails[] = "SELECT count(*) FROM email";
static const char sql_superseded[] = "SELECT count(*) FROM superseded_ticket";

static int64_t count(struct send_rig *rig, const char *sql)
{
	return temp_db_number(rig->db, sql);
}

static void test_all_sent(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request batch = {.n = N, .key = 1};
	char ids[N][ID_SIZE];

	assert_false(keyed_request_send(rig, &batch));
	assert_int_equal(rig->sent, N);
	assert_int_equal(rig->inject->submitted, N);
	memcpy(ids, rig->ids, sizeof(ids));
	for (int i = 0; i < 3; i++) {
		assert_true(keyed_request_send(rig, &batch));
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
	const struct keyed_request batch = {.n = N};

	assert_false(keyed_request_send(rig, &batch));
	assert_false(keyed_request_send(rig, &batch));
	assert_int_equal(count(rig, sql_emails), 2 * N);
	assert_int_equal(count(rig, sql_keys), 0);
}

/* One that cannot be read: none goes, or the others go. */
static void test_one_is_bad(void **state)
{
	struct send_rig *rig = *state;
	struct keyed_request batch = {.n = N, .key = 1, .bad = 2};

	assert_false(keyed_request_send(rig, &batch));
	assert_int_equal(rig->sent, 0);
	assert_int_equal(rig->problems[1].kind, PROBLEM_VALIDATION);
	assert_int_equal(count(rig, sql_emails), 0);
	assert_int_equal(count(rig, sql_keys), 0);

	batch.permissive = true;
	assert_false(keyed_request_send(rig, &batch));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rig->sent, N - 1);
		assert_int_equal(rig->problems[0].kind, PROBLEM_NONE);
		assert_int_equal(rig->problems[1].kind, PROBLEM_VALIDATION);
		assert_string_equal(rig->problems[1].text, "two\nlines");
		assert_true(keyed_request_send(rig, &batch));
	}
	assert_int_equal(count(rig, sql_emails), N - 1);
}

static void test_all_are_bad(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request batch = {.n = 1, .key = 1, .permissive = true, .bad = 1};

	assert_false(keyed_request_send(rig, &batch));
	assert_int_equal(rig->sent, 0);
	assert_int_equal(count(rig, sql_keys), 0);
}

/* The rest of a batch, and only that, goes out with the same ids. */
static void test_rest_is_sent(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request batch = {.n = N, .key = 1};
	char ids[N][ID_SIZE], first_ticket[64];

	rig->inject->only_to = keyed_request_to[N - 1];
	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &batch);
	memcpy(ids, rig->ids, sizeof(ids));
	strcpy(first_ticket, rig->inject->ticket);

	rig->inject->only_to = "nobody@dst.test";
	assert_false(keyed_request_send(rig, &batch));
	assert_memory_equal(ids, rig->ids, sizeof(ids));
	assert_string_not_equal(first_ticket, rig->inject->ticket);
	assert_non_null(strstr(rig->inject->message, ids[N - 1]));
	assert_int_equal(count(rig, sql_superseded), 1);
	for (size_t i = 0; i < N; i++)
		assert_int_equal(send_rig_state(rig, i), EMAIL_SENT);
	assert_true(keyed_request_send(rig, &batch));
	assert_int_equal(rig->inject->submitted, N + 1);
}

/* The message that is sent again is the first one but for its ticket. */
static void test_same_message(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};
	_cleanup_free_ char *first = NULL;
	const char *second;

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &single);
	first = mem_strdup(rig->inject->message);
	keyed_request_send(rig, &single);
	second = rig->inject->message;
	assert_string_not_equal(first, second);
	assert_non_null(strstr(first, "\nDate: "));
	/* But for boundaries, which are random, too. */
	assert_int_equal(strcspn(strstr(first, "\nDate: "), "\r\n"),
		strcspn(strstr(second, "\nDate: "), "\r\n"));
	assert_memory_equal(strstr(first, "\nDate: "), strstr(second, "\nDate: "), 38);
	assert_memory_equal(strstr(first, "\nMessage-I"), strstr(second, "\nMessage-I"), 60);
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
	const struct keyed_request single = {.n = 1, .key = 1};
	const struct timeval soon = {.tv_usec = 20000};

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &single);
	rig->worker.conf->submission.record_wait_ms = 60000;
	event_base_once(rig->worker.base, -1, EV_TIMEOUT, on_first_arrives, rig, &soon);
	assert_false(keyed_request_send(rig, &single));
	assert_int_equal(rig->sent, 1);
	assert_int_equal(rig->inject->submitted, 1);
	assert_int_equal(count(rig, sql_superseded), 0);
}

/* Meanwhile the domain sleeps: the email may be out or not, so the key stays. */
static void test_not_allowed_any_more(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &single);
	OK(db_exec(rig->db, "UPDATE domain SET active = 0", &why));
	keyed_request_send(rig, &single);
	assert_int_equal(problem_status(&rig->problems[0]), 403);
	assert_int_equal(rig->inject->submitted, 1);
	assert_int_equal(count(rig, sql_keys), 1);
	OK(db_exec(rig->db, "UPDATE domain SET active = 1", &why));
	rig->inject->result = INJECT_QUEUED;
	rig->inject->milter = MILTER_RECORDS;
	assert_false(keyed_request_send(rig, &single));
	assert_int_equal(rig->sent, 1);
}

/* A refusal that nobody was told of: the repeat tells it, the next one sends. */
static void test_refused_before(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &single);
	assert_int_equal(store_email_refuse(rig->db, rig->inject->ticket, "Q", "No.", 1, NULL), 1);
	assert_true(keyed_request_send(rig, &single));
	assert_int_equal(problem_status(&rig->problems[0]), 403);
	assert_string_equal(rig->problems[0].text, "No.");
	assert_int_equal(count(rig, sql_keys), 0);
	rig->inject->result = INJECT_QUEUED;
	rig->inject->milter = MILTER_RECORDS;
	assert_false(keyed_request_send(rig, &single));
	assert_int_equal(rig->sent, 1);
}

/* Claims the request's key and lets it go; the problem with that. */
static enum problem_kind lock_once(
	const struct request *request, const uint8_t payload[static SECRET_HASH_LEN])
{
	struct problem problem = PROBLEM_INIT;
	struct idempotency_lock *lock = NULL;

	idempotency_lock(request, payload, &lock, &problem);
	idempotency_unlock(lock);
	return problem.kind;
}

static void test_conflicts(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};
	const uint8_t other[SECRET_HASH_LEN] = {43};
	struct idempotency_lock *first;
	struct request second = rig->request;

	keyed_request_send(rig, &single);
	first = keyed_request_lock(rig, 1);
	memset(second.admission.idempotency_key, 1, SECRET_HASH_LEN);
	assert_int_equal(lock_once(&second, keyed_request_payload), PROBLEM_CONCURRENT);
	assert_int_equal(lock_once(&second, other), PROBLEM_OTHER_PAYLOAD);
	idempotency_unlock(first);
	assert_int_equal(lock_once(&second, other), PROBLEM_OTHER_PAYLOAD);
	assert_int_equal(lock_once(&second, keyed_request_payload), PROBLEM_NONE);
}

/* Leaves a request that was not finished. */
static void leave_unknown(struct send_rig *rig)
{
	const struct keyed_request single = {.n = 1, .key = 1};

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &single);
	rig->inject->result = INJECT_QUEUED;
	rig->inject->submitted = 0;
}

/* What is not in the store any more was taken back: it is not claimed to have
 * been sent. */
static void test_row_is_gone(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};

	leave_unknown(rig);
	OK(db_exec(rig->db, "DELETE FROM email", &why));
	keyed_request_send(rig, &single);
	assert_int_equal(rig->sent, 0);
	assert_int_equal(rig->problems[0].kind, PROBLEM_UNAVAILABLE);
	assert_int_equal(rig->inject->submitted, 0);
}

/* Another version of the program may read a payload in another way. */
static void test_other_number(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request batch = {.n = 2, .key = 1};

	leave_unknown(rig);
	keyed_request_send(rig, &batch);
	assert_int_equal(rig->problems[0].kind, PROBLEM_OTHER_PAYLOAD);
	assert_int_equal(rig->inject->submitted, 0);
}

/* Two httpds on one store, as while one is restarted: the other adds the key
 * between our look and our commit. */
static void test_other_httpd(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};

	OK(db_exec(rig->db,
		"CREATE TRIGGER other_httpd AFTER INSERT ON email BEGIN"
		" INSERT INTO idempotency (company_id, key_hash, payload,"
		" created_us, settled, results)"
		" VALUES (new.company_id, CAST(replace(printf('%032d', 0), '0',"
		" char(1)) AS BLOB), zeroblob(32), new.created_us, 0, 'x');"
		"END",
		&why));
	keyed_request_send(rig, &single);
	assert_int_equal(rig->problems[0].kind, PROBLEM_CONCURRENT);
	assert_int_equal(rig->inject->submitted, 0);
	assert_int_equal(count(rig, sql_emails), 0);
}

static void bind_key(struct send_rig *rig, const char *domain)
{
	struct key *key = &rig->request.admission.key;

	free(key->domain);
	key->domain = domain ? mem_strdup(domain) : NULL;
}

/* Whatever became of the first one: a key that may not send it is told so, and
 * changes nothing. */
static void test_repeat_is_decided(void **state)
{
	static const struct {
		enum inject_result result;
		enum fake_milter milter;
		size_t n;
	} firsts[] = {
		{INJECT_QUEUED, MILTER_RECORDS, 1},
		{INJECT_QUEUED, MILTER_RECORDS, N},
		{INJECT_QUEUED, MILTER_AWAY, 1},
		{INJECT_UNKNOWN, MILTER_AWAY, 1},
		{INJECT_UNKNOWN, MILTER_AWAY, N},
	};
	struct send_rig *rig = *state;

	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++) {
		const struct keyed_request what = {.n = firsts[i].n, .key = 1};
		char ids[N][ID_SIZE];
		size_t sent;

		keyed_request_forget_all(rig);
		rig->inject->result = firsts[i].result;
		rig->inject->milter = firsts[i].milter;
		keyed_request_send(rig, &what);
		memcpy(ids, rig->ids, sizeof(ids));
		sent = rig->sent;
		rig->inject->result = INJECT_QUEUED;
		rig->inject->milter = MILTER_RECORDS;
		rig->inject->submitted = 0;

		bind_key(rig, "second.example");
		keyed_request_send(rig, &what);
		assert_int_equal(rig->sent, 0);
		assert_int_equal(rig->inject->submitted, 0);
		for (size_t k = 0; k < what.n; k++) {
			assert_int_equal(rig->problems[k].kind, PROBLEM_RESTRICTED_KEY);
			assert_string_not_equal(rig->ids[k], ids[k]);
		}
		assert_int_equal(count(rig, sql_keys), 1);

		bind_key(rig, NULL);
		keyed_request_send(rig, &what);
		assert_int_equal(rig->sent, what.n);
		assert_memory_equal(ids, rig->ids, what.n * ID_SIZE);
		assert_int_equal(rig->inject->submitted, what.n - sent);
	}
}

/* Also while the first one is under way, and with another payload. */
static void test_lock_is_not_told(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request single = {.n = 1, .key = 1};
	struct idempotency_lock *first;

	bind_key(rig, "second.example");
	first = keyed_request_lock(rig, 1);
	keyed_request_send(rig, &single);
	assert_int_equal(rig->problems[0].kind, PROBLEM_RESTRICTED_KEY);
	bind_key(rig, NULL);
	keyed_request_send(rig, &single);
	assert_int_equal(rig->problems[0].kind, PROBLEM_CONCURRENT);
	idempotency_unlock(first);
}

/* One that may send some of a batch finishes these, and leaves the others and
 * what is known of them to a key that may. */
static void test_repeat_is_decided_for_each(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request batch = {.n = N,
		.key = 1,
		.permissive = true,
		.from = {NULL, "a@second.example", "a@asleep.example"}};
	char ids[N][ID_SIZE];

	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &batch);
	memcpy(ids, rig->ids, sizeof(ids));
	assert_int_equal(rig->problems[2].kind, PROBLEM_DOMAIN);
	rig->inject->result = INJECT_QUEUED;
	rig->inject->milter = MILTER_RECORDS;
	rig->inject->submitted = 0;

	bind_key(rig, "second.example");
	for (int i = 0; i < 2; i++) {
		keyed_request_send(rig, &batch);
		assert_int_equal(rig->sent, 1);
		assert_int_equal(rig->inject->submitted, 1);
		assert_string_equal(rig->ids[1], ids[1]);
		assert_string_not_equal(rig->ids[0], ids[0]);
		assert_int_equal(rig->problems[0].kind, PROBLEM_RESTRICTED_KEY);
		assert_int_equal(rig->problems[2].kind, PROBLEM_RESTRICTED_KEY);
	}
	bind_key(rig, NULL);
	keyed_request_send(rig, &batch);
	assert_int_equal(rig->sent, 2);
	assert_int_equal(rig->inject->submitted, 2);
	assert_string_equal(rig->ids[0], ids[0]);
	assert_string_equal(rig->ids[1], ids[1]);
	assert_int_equal(rig->problems[2].kind, PROBLEM_DOMAIN);
}

/* The only email that this key may send is refused: that of the other one stays
 * known. */
static void test_barred_stays_known(void **state)
{
	struct send_rig *rig = *state;
	const struct keyed_request batch = {
		.n = 2, .key = 1, .permissive = true, .from = {NULL, "a@second.example"}};
	char id[ID_SIZE];

	rig->inject->only_to = keyed_request_to[1];
	rig->inject->result = INJECT_UNKNOWN;
	rig->inject->milter = MILTER_AWAY;
	keyed_request_send(rig, &batch);
	memcpy(id, rig->ids[0], sizeof(id));
	bind_key(rig, "second.example");
	rig->inject->result = INJECT_QUEUED;
	rig->inject->milter = MILTER_REFUSES;
	keyed_request_send(rig, &batch);
	assert_int_equal(rig->sent, 0);
	bind_key(rig, NULL);
	rig->inject->submitted = 0;
	assert_true(keyed_request_send(rig, &batch));
	assert_int_equal(rig->sent, 1);
	assert_string_equal(rig->ids[0], id);
	assert_int_equal(rig->inject->submitted, 0);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(test_##name, send_rig_setup, send_rig_teardown)
	const struct CMUnitTest tests[] = {
		test(all_sent),
		test(without_key),
		test(one_is_bad),
		test(all_are_bad),
		test(rest_is_sent),
		test(same_message),
		test(first_arrives_late),
		test(not_allowed_any_more),
		test(refused_before),
		test(conflicts),
		test(row_is_gone),
		test(other_number),
		test(other_httpd),
		test(repeat_is_decided),
		test(lock_is_not_told),
		test(repeat_is_decided_for_each),
		test(barred_stays_known),
	};
	int failed;

	mime_init();
	failed = cmocka_run_group_tests_name("send_repeat", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
