/* admission: what a head alone decides, by the columns of its route. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "core/db/committer.h"
#include "core/store/company/store_domain.h"
#include "httpd/worker/worker.h"
#include "httpd/admission/admission.h"
#include "httpd/admission/key_use.h"
#include "core/policy/rate.h"
#include "tests/unit/temp_db.h"

enum { MESSAGE_MAX = 1000, BODY_MAX = 2 * MESSAGE_MAX };

static const struct route table[] = {
	{.method = "POST",
		.pattern = "/emails",
		.auth = AUTH_BEARER,
		.scopes = KEY_SENDING,
		.idempotent = true,
		.body = BODY_JSON},
	{.method = "GET",
		.pattern = "/emails",
		.auth = AUTH_BEARER,
		.scopes = KEY_READING,
		.body = BODY_IGNORED},
	{.method = "POST",
		.pattern = "/v3/{}/messages",
		.dialect = DIALECT_FORM,
		.auth = AUTH_BASIC,
		.scopes = KEY_SENDING,
		.names_domain = true,
		.body = BODY_FORM},
	{.method = "GET", .pattern = "/open", .auth = AUTH_NONE},
	{.method = "POST",
		.pattern = "/domains",
		.auth = AUTH_BEARER,
		.scopes = KEY_MANAGING,
		.body = BODY_JSON_SMALL},
	{.method = NULL},
};

struct rig {
	struct worker_shared shared;
	struct worker worker;
	struct budget budget;
};

/* A token by six letters of its own. */
#define TOKEN(name) "ps_" name "0123456789012345678901234567890123456"

static void add_keys(struct db *db)
{
	static const struct {
		const char *token, *domain;
		unsigned scopes;
	} keys[] = {
		{TOKEN("all---"), NULL, KEY_ALL},
		{TOKEN("sender"), NULL, KEY_SENDING},
		{TOKEN("reader"), NULL, KEY_READING},
		{TOKEN("bound-"), "example.com", KEY_SENDING},
	};
	struct temp_tenant tenant, other;
	struct domain domain;

	temp_db_tenant(db, "Own", "example.com", &tenant);
	temp_db_tenant(db, "Other", "other.example", &other);
	OK(store_domain_add(db, tenant.company_id, "second.example",
		&(const struct domain){.active = true}, 2, &domain, &why));
	store_domain_clear(&domain);
	OK(store_domain_add(db, tenant.company_id, "asleep.example",
		&(const struct domain){.active = false}, 2, &domain, &why));
	store_domain_clear(&domain);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const struct key_spec spec = {.domain = keys[i].domain, .scopes = keys[i].scopes};
		struct key key;

		temp_db_key(db, &tenant, keys[i].token, &spec, &key);
		store_key_clear(&key);
	}
}

static int setup(void **state)
{
	struct rig *rig = mem_new(struct rig);
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = rig;
	add_keys(temp->db);
	rig->shared.routes = table;
	rig->shared.clock = &clock_system;
	rig->shared.committer = committer_new_inline(temp->db);
	rig->shared.budget = &rig->budget;
	rig->shared.rates = rate_table_new();
	rig->worker.shared = &rig->shared;
	rig->worker.db = temp->db;
	rig->worker.database_watch.path = temp->name;
	rig->worker.conf = conf_default();
	rig->worker.conf->http.max_message_bytes = MESSAGE_MAX;
	rig->worker.conf->http.rate_limit = 0;
	rig->worker.keys = key_use_new(rig->shared.committer);
	return 0;
}

static int teardown(void **state)
{
	struct temp_db *temp = *state;
	struct rig *rig = temp->more;

	key_use_free(rig->worker.keys);
	conf_free(rig->worker.conf);
	rate_table_free(rig->shared.rates);
	committer_free(rig->shared.committer);
	return temp_db_teardown(state);
}

/* The kind of the problem, PROBLEM_NONE when the head is admitted. The first
 * line is that of a request without its version. */
static enum problem_kind decide(
	struct rig *rig, const char *line, const char *fields, struct admission *admission_r)
{
	_cleanup_free_ char *text = mem_printf("%s HTTP/1.1\r\nHost: x\r\n%s\r\n", line, fields);
	struct http_fault fault;
	struct admission_rows rows;
	struct err err = ERR_INIT;
	struct http_head head;
	int result;

	assert_int_equal(http_head_parse(text, strlen(text), &head, &fault), 0);
	if (admission_begin(&rig->worker, &head, false, admission_r, &rows)) {
		result = admission_read(rig->worker.db, &rows, &err);
		admission_end(&rig->worker, &head, admission_r, &rows, result, &err);
	}
	if (!admission_has_room(&rig->worker, admission_r))
		admission_insist_on_room(&rig->worker, admission_r);
	return admission_r->problem.kind;
}

#define JSON          "Content-Type: application/json\r\n"
#define BEARER(token) "Authorization: Bearer " token "\r\n"
#define KEY(name)     BEARER(TOKEN(name))
#define BASIC(pair)   "Authorization: Basic " pair "\r\n"
/* api:TOKEN("sender") and so on */
#define BASIC_SENDER BASIC("YXBpOnBzX3NlbmRlcjAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY=")
#define BASIC_READER BASIC("YXBpOnBzX3JlYWRlcjAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY=")
#define BASIC_BOUND  BASIC("YXBpOnBzX2JvdW5kLTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY=")

static const struct {
	const char *line, *fields;
	enum problem_kind kind;
} cases[] = {
	/* the route */
	{"GET /open", "", PROBLEM_NONE},
	{"GET /nothing", KEY("all---"), PROBLEM_NOT_FOUND},
	{"PUT /emails", KEY("all---"), PROBLEM_METHOD},
	/* the key */
	{"POST /emails", JSON KEY("sender"), PROBLEM_NONE},
	{"POST /emails", JSON, PROBLEM_MISSING_KEY},
	{"POST /emails", JSON BASIC_SENDER, PROBLEM_MISSING_KEY},
	{"POST /emails", JSON KEY("nobody"), PROBLEM_INVALID_KEY},
	{"POST /emails", JSON BEARER("ps_short"), PROBLEM_INVALID_KEY},
	{"POST /v3/example.com/messages", BASIC_SENDER, PROBLEM_NONE},
	{"POST /v3/example.com/messages", KEY("sender"), PROBLEM_MISSING_KEY},
	/* its scope */
	{"POST /emails", JSON KEY("reader"), PROBLEM_RESTRICTED_KEY},
	{"GET /emails", KEY("sender"), PROBLEM_RESTRICTED_KEY},
	{"GET /emails", KEY("reader"), PROBLEM_NONE},
	{"GET /emails", KEY("all---"), PROBLEM_NONE},
	/* the domain of the path */
	{"POST /v3/EXAMPLE.com/messages", BASIC_BOUND, PROBLEM_NONE},
	{"POST /v3/second.example/messages", BASIC_SENDER, PROBLEM_NONE},
	{"POST /v3/second.example/messages", BASIC_BOUND, PROBLEM_DOMAIN},
	{"POST /v3/asleep.example/messages", BASIC_SENDER, PROBLEM_DOMAIN},
	{"POST /v3/example.com/messages", BASIC_READER, PROBLEM_DOMAIN},
	{"POST /v3/other.example/messages", BASIC_SENDER, PROBLEM_NOT_FOUND},
	{"POST /v3/other.example/messages", BASIC_READER, PROBLEM_NOT_FOUND},
	{"POST /v3/x..y/messages", BASIC_SENDER, PROBLEM_NOT_FOUND},
	/* the Idempotency-Key, where one is taken */
	{"POST /emails", JSON KEY("all---") "Idempotency-Key: k\r\n", PROBLEM_NONE},
	{"POST /emails", JSON KEY("all---") "Idempotency-Key:\r\n", PROBLEM_IDEMPOTENCY_KEY},
	{"GET /emails", KEY("all---") "Idempotency-Key:\r\n", PROBLEM_NONE},
	/* the body */
	{"POST /emails", KEY("all---"), PROBLEM_MEDIA_TYPE},
	{"POST /emails", KEY("all---") "Content-Type: application/jsonp\r\n", PROBLEM_MEDIA_TYPE},
	{"POST /emails", KEY("all---") "Content-Type: Application/JSON;charset=x\r\n",
		PROBLEM_NONE},
	{"POST /emails", JSON KEY("all---") "Content-Length: 2000\r\n", PROBLEM_NONE},
	{"POST /emails", JSON KEY("all---") "Content-Length: 2001\r\n", PROBLEM_TOO_LARGE},
	{"GET /emails", KEY("all---") "Content-Length: 2001\r\n", PROBLEM_NONE},
	{"POST /domains", KEY("all---"), PROBLEM_MEDIA_TYPE},
	{"POST /domains", JSON KEY("all---") "Content-Length: 65536\r\n", PROBLEM_NONE},
	{"POST /domains", JSON KEY("all---") "Content-Length: 65537\r\n", PROBLEM_TOO_LARGE},
	/* Who has no key learns nothing of the rest. */
	{"POST /emails", "Content-Length: 2001\r\n", PROBLEM_MISSING_KEY},
	{"POST /v3/other.example/messages", "", PROBLEM_MISSING_KEY},
};

static void test_columns(void **state)
{
	struct temp_db *temp = *state;
	struct rig *rig = temp->more;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct admission admission;
		enum problem_kind kind = decide(rig, cases[i].line, cases[i].fields, &admission);

		if (kind != cases[i].kind)
			fail_msg("%s, %s: %d instead of %d", cases[i].line, cases[i].fields, kind,
				cases[i].kind);
		assert_int_equal(
			admission.share.requests.n, kind == PROBLEM_NONE && admission.key.id[0]);
		admission_clear(&admission);
	}
	assert_int_equal(rig->budget.requests.taken, 0);
	assert_int_equal(budget_used(&rig->budget), 0);
}

static void test_what_is_learnt(void **state)
{
	struct temp_db *temp = *state;
	struct admission admission;

	decide(temp->more, "POST /v3/Example.COM/messages", BASIC_BOUND, &admission);
	assert_ptr_equal(admission.route, &table[2]);
	assert_string_equal(admission.param, "example.com");
	assert_string_equal(admission.key.domain, "example.com");
	assert_int_equal(admission.body_limit, BODY_MAX);
	assert_false(admission.has_idempotency_key);
	admission_clear(&admission);

	decide(temp->more, "PUT /emails", "", &admission);
	assert_string_equal(admission.problem.allow, "POST, GET");
	admission_clear(&admission);
}

static void test_rate(void **state)
{
	struct temp_db *temp = *state;
	struct rig *rig = temp->more;
	enum problem_kind kind = PROBLEM_NONE;
	struct admission admission;

	rig->worker.conf->http.rate_limit = 1;
	rig->worker.conf->http.rate_burst = 2;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(kind, PROBLEM_NONE);
		kind = decide(rig, "GET /emails", KEY("all---"), &admission);
		admission_clear(&admission);
	}
	assert_int_equal(kind, PROBLEM_RATE);
	assert_true(admission.problem.retry_after_s > 0);
}

/* While the database is away, only what could be a key has to come again. */
static void test_without_the_database(void **state)
{
	struct temp_db *temp = *state;
	struct rig *rig = temp->more;
	const struct {
		const char *fields;
		enum problem_kind kind;
	} keys[] = {
		{KEY("all---"), PROBLEM_UNAVAILABLE},
		{KEY("nobody"), PROBLEM_UNAVAILABLE},
		{BEARER("ps_short"), PROBLEM_INVALID_KEY},
		{"", PROBLEM_MISSING_KEY},
	};

	rig->worker.database_watch.gone = true;
	rig->worker.database_watch.next_us = INT64_MAX;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct admission admission;

		assert_int_equal(
			decide(rig, "GET /emails", keys[i].fields, &admission), keys[i].kind);
		admission_clear(&admission);
	}
}

/* Under way are as many as the limit; what ends makes room. */
static void test_too_many(void **state)
{
	struct temp_db *temp = *state;
	struct rig *rig = temp->more;
	struct admission first, second;

	rig->worker.conf->http.max_requests = 1;
	assert_int_equal(decide(rig, "GET /emails", KEY("all---"), &first), PROBLEM_NONE);
	assert_int_equal(decide(rig, "GET /emails", KEY("all---"), &second), PROBLEM_UNAVAILABLE);
	assert_int_equal(second.share.requests.n, 0);
	admission_clear(&second);
	admission_clear(&first);
	assert_int_equal(decide(rig, "GET /emails", KEY("all---"), &first), PROBLEM_NONE);
	admission_clear(&first);
}

int main(void)
{
#define WITH_RIG(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_RIG(test_columns),
		WITH_RIG(test_what_is_learnt),
		WITH_RIG(test_rate),
		WITH_RIG(test_without_the_database),
		WITH_RIG(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
