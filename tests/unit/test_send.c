/* send: the pipeline from a parsed email to its record, and each of its ends. A
 * real store, a fake injector that plays Postfix and the milter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/committer.h"
#include "core/db/migrate.h"
#include "core/mail/mime_build.h"
#include "core/store/store_company.h"
#include "core/store/store_domain.h"
#include "core/store/store_email.h"
#include "core/store/store_key.h"
#include "httpd/inbox.h"
#include "httpd/send/record_watch.h"
#include "httpd/http/request.h"
#include "httpd/send/send.h"
#include "httpd/worker.h"
#include "tests/unit/fake_inject.h"

struct rig {
	char folder[40];
	char *path;
	struct db *db; /* the committer's, the milter's and the test's */
	struct worker_shared shared;
	struct worker worker;
	struct fake_inject *inject;
	struct request request;
	int done;
	char email_id[ID_SIZE];
	struct problem problem;
};

static struct rig *current;

static void add_domain(
	struct rig *rig, const char *company_id, const char *name, bool active)
{
	struct domain domain;

	assert_int_equal(store_domain_add(rig->db, company_id, name, active, 1,
				 &domain, NULL),
		0);
	store_domain_clear(&domain);
}

static void fill_store(struct rig *rig)
{
	static const uint8_t hash[SECRET_HASH_LEN] = {1};
	struct company own, other;
	struct key_spec spec = {.name = "test", .scopes = KEY_SENDING};

	assert_int_equal(store_company_add(rig->db, "Own", 1, &own, NULL), 0);
	assert_int_equal(store_company_add(rig->db, "Other", 1, &other, NULL), 0);
	add_domain(rig, own.id, "example.com", true);
	add_domain(rig, own.id, "second.example", true);
	add_domain(rig, own.id, "asleep.example", false);
	add_domain(rig, other.id, "other.example", true);
	spec.company_id = own.id;
	assert_int_equal(store_key_create(rig->db, &spec, hash, 1,
				 &rig->request.admission.key, NULL),
		0);
	store_company_clear(&own);
	store_company_clear(&other);
}

static int set_up(void **state)
{
	struct rig *rig = mem_new(struct rig);
	struct worker *worker = &rig->worker;
	int applied;

	snprintf(rig->folder, sizeof(rig->folder), "/tmp/postern-unit.XXXXXX");
	assert_non_null(mkdtemp(rig->folder));
	rig->path = mem_printf("%s/db", rig->folder);
	assert_int_equal(db_open(rig->path, DB_CREATE, &rig->db, NULL), 0);
	assert_int_equal(migrate_run(rig->db, 1, &applied, NULL), 0);
	fill_store(rig);

	rig->shared.committer = committer_new_inline(rig->db);
	worker->shared = &rig->shared;
	worker->conf = conf_default();
	worker->conf->submission.record_wait_ms = 20;
	worker->base = event_base_new();
	assert_int_equal(db_open(rig->path, DB_READ, &worker->db, NULL), 0);
	worker->inbox = inbox_new(worker->base);
	rig->inject = fake_inject_new(worker->base, rig->db);
	worker->inject = &rig->inject->inject;
	worker->watch = record_watch_new(worker->base, worker->db, NULL);
	rig->request.worker = worker;
	*state = current = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;
	_cleanup_free_ char *remove = mem_printf("rm -r %s", rig->folder);

	inbox_free(rig->worker.inbox);
	inject_free(rig->worker.inject);
	record_watch_free(rig->worker.watch);
	db_close(rig->worker.db);
	event_base_free(rig->worker.base);
	conf_free(rig->worker.conf);
	committer_free(rig->shared.committer);
	db_close(rig->db);
	store_key_clear(&rig->request.admission.key);
	free(rig->path);
	free(rig);
	return system(remove);
}

static void on_done(
	struct request *request, const struct send_result *results, size_t n)
{
	struct rig *rig = current;

	assert_ptr_equal(request, &rig->request);
	rig->done++;
	assert_int_equal(n, 1);
	memcpy(rig->email_id, results[0].id, ID_SIZE);
	rig->problem = results[0].problem;
	event_base_loopbreak(rig->worker.base);
}

static void add(struct addr_list *list, const char *address)
{
	assert_int_equal(
		addr_parse(address, mime_message_add_addr(list), NULL), 0);
}

/* Sends an email from the address to its end. */
static void send_from(struct rig *rig, const char *from)
{
	struct outgoing outgoing = {0};

	assert_int_equal(addr_parse(from, &outgoing.message.from, NULL), 0);
	add(&outgoing.message.to, "Ann <a@dst.test>");
	add(&outgoing.message.to, "b@dst.test");
	add(&outgoing.message.cc, "a@dst.test");
	add(&outgoing.bcc, "Secret <c@dst.test>");
	outgoing.message.subject = mem_strdup("Hi");
	outgoing.message.html = mem_strdup("<p>Hello</p>");
	send_emails(&rig->request, &outgoing, 1, on_done);
	if (rig->done == 0)
		event_base_dispatch(rig->worker.base);
	assert_int_equal(rig->done, 1);
	outgoing_clear(&outgoing);
}

/* The row's state; -1 when it is not there. */
static int state_of(struct rig *rig)
{
	enum email_state state;
	char *refusal = NULL;
	int found = store_email_outcome(
		rig->db, rig->email_id, &state, &refusal, NULL);

	free(refusal);
	assert_true(found >= 0);
	return found ? (int)state : -1;
}

static void test_sent(void **state)
{
	struct rig *rig = *state;
	const struct email_scope all = {0};
	struct email email;

	send_from(rig, "Acme <hello@example.com>");
	assert_int_equal(rig->problem.kind, PROBLEM_NONE);
	assert_int_equal(state_of(rig), EMAIL_SENT);
	assert_string_equal(rig->inject->sender, "hello@example.com");
	assert_string_equal(
		rig->inject->recipients, "a@dst.test b@dst.test c@dst.test");
	assert_null(strstr(rig->inject->message, "c@dst.test"));
	assert_non_null(strstr(rig->inject->message, rig->email_id));

	assert_int_equal(
		store_email_get(rig->db, rig->email_id, &all, &email, NULL), 1);
	assert_string_equal(email.from, "Acme <hello@example.com>");
	assert_string_equal(email.to.items[0], "Ann <a@dst.test>");
	assert_string_equal(email.bcc.items[0], "Secret <c@dst.test>");
	assert_string_equal(email.html, "<p>Hello</p>");
	assert_non_null(strstr(email.text, "Hello"));
	assert_string_equal(email.queue_id, "QUEUEID");
	store_email_clear(&email);
}

static void test_milter_away(void **state)
{
	struct rig *rig = *state;

	rig->inject->milter = MILTER_AWAY;
	send_from(rig, "hello@example.com");
	assert_int_equal(rig->problem.kind, PROBLEM_NONE);
	assert_int_equal(state_of(rig), EMAIL_STAGED);
}

static void test_milter_refuses(void **state)
{
	struct rig *rig = *state;

	rig->inject->milter = MILTER_REFUSES;
	send_from(rig, "hello@example.com");
	assert_int_equal(problem_status(&rig->problem), 403);
	assert_string_equal(rig->problem.text, "The key was revoked.");
	assert_int_equal(state_of(rig), EMAIL_REFUSED);
}

static const struct {
	enum inject_result result;
	enum err_code code;
	int status;
	int state;
} failures[] = {
	{INJECT_TEMPORARY, ERR_TEMPORARY, 503, -1},
	{INJECT_TEMPORARY, ERR_CONFIG, 503, -1},
	{INJECT_REJECTED, ERR_INTERNAL, 500, -1},
	{INJECT_UNKNOWN, ERR_TEMPORARY, 503, EMAIL_STAGED},
};

static void test_submission_fails(void **state)
{
	struct rig *rig = *state;

	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		rig->done = 0;
		rig->inject->result = failures[i].result;
		rig->inject->code = failures[i].code;
		send_from(rig, "hello@example.com");
		assert_int_equal(
			problem_status(&rig->problem), failures[i].status);
		assert_int_equal(state_of(rig), failures[i].state);
		assert_null(strstr(rig->problem.text, "as the test wants"));
	}
}

static const struct {
	const char *from;
	const char *key_domain;
	const char *text;
} forbidden[] = {
	{"a@nobody.example", NULL,
		"The nobody.example domain is not verified. Please, add and "
		"verify your domain."},
	{"a@other.example", NULL,
		"The other.example domain is not verified. Please, add and "
		"verify your domain."},
	{"a@sub.example.com", NULL,
		"The sub.example.com domain is not verified. Please, add and "
		"verify your domain."},
	{"a@asleep.example", NULL,
		"The asleep.example domain is not active for sending."},
	{"a@second.example", "example.com",
		"This API key is not authorized to send emails from "
		"second.example"},
};

static void test_forbidden(void **state)
{
	struct rig *rig = *state;
	struct key *key = &rig->request.admission.key;

	for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++) {
		rig->done = 0;
		free(key->domain);
		key->domain = mem_strdup(forbidden[i].key_domain);
		send_from(rig, forbidden[i].from);
		assert_int_equal(problem_status(&rig->problem), 403);
		assert_string_equal(rig->problem.text, forbidden[i].text);
		assert_int_equal(state_of(rig), -1);
	}
	assert_int_equal(rig->inject->submitted, 0);
}

static void test_too_large(void **state)
{
	struct rig *rig = *state;

	rig->worker.postfix_limit = 200;
	send_from(rig, "hello@example.com");
	assert_int_equal(problem_status(&rig->problem), 413);
	assert_non_null(strstr(rig->problem.text, "of 200 bytes"));
	assert_int_equal(rig->inject->submitted, 0);
}

static void test_store_fails(void **state)
{
	struct rig *rig = *state;

	assert_int_equal(db_exec(rig->db, "DROP TABLE email_content", NULL), 0);
	send_from(rig, "hello@example.com");
	assert_true(problem_status(&rig->problem) >= 500);
	assert_int_equal(rig->inject->submitted, 0);
	assert_int_equal(state_of(rig), -1);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(test_sent),
		test(test_milter_away),
		test(test_milter_refuses),
		test(test_submission_fails),
		test(test_forbidden),
		test(test_too_large),
		test(test_store_fails),
	};
	int failed;

	mime_build_init();
	failed = cmocka_run_group_tests_name("send", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
