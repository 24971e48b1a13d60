/* send_rig: a worker without a server, for tests of the pipeline. */
#include "tests/unit/send_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/conf/conf.h"
#include "core/db/committer.h"
#include "core/store/company/store_company.h"
#include "core/store/company/store_domain.h"
#include "core/store/email/store_email.h"
#include "httpd/admission/counts.h"
#include "httpd/admission/route.h"
#include "httpd/worker/task_queue.h"
#include "core/postfix/postfix_run.h"
#include "tests/unit/temp_db.h"
#include "tests/unit/temp_folder.h"
#include "httpd/worker/work_pool.h"
#include "httpd/send/idempotency.h"
#include "httpd/outbox/outbox_private.h"

static const struct route no_routes[] = {{.method = NULL}};

static struct send_rig *current;

static void add_domain(struct send_rig *rig, const char *company_id, const char *name, bool active)
{
	struct domain domain;

	assert_int_equal(store_domain_add(rig->db, company_id, name,
				 &(const struct domain){.active = active}, 1, &domain, NULL),
		0);
	store_domain_clear(&domain);
}

static void fill_store(struct send_rig *rig)
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
	assert_int_equal(
		store_key_create(rig->db, &spec, hash, 1, &rig->request.admission.key, NULL), 0);
	store_company_clear(&own);
	store_company_clear(&other);
}

static void on_rig_recorded(struct probe_report *report)
{
	(void)report;
}

static int64_t tell_no_problem(const struct worker_shared *shared, struct buf *words)
{
	(void)shared;
	(void)words;
	return 0;
}

static void no_hosts_seen(
	const struct worker_shared *shared, const char *own, const struct host_list *hosts)
{
	(void)shared;
	(void)own;
	(void)hosts;
}

/* Without its thread, and without what comes by time: the worker's loop is its loop. */
static void set_outbox(struct send_rig *rig)
{
	static const struct outbox_hooks hooks = {on_rig_recorded, tell_no_problem, no_hosts_seen};
	struct outbox *outbox;
	struct err err = ERR_INIT;

	assert_int_equal(
		outbox_new(&rig->shared, conf_copy(rig->worker.conf), &hooks, &outbox, &err), 0);
	event_del(outbox->janitor);
	inject_free(outbox->inject);
	rig->inject = fake_inject_new(outbox->base, rig->db);
	outbox->inject = &rig->inject->inject;
	rig->shared.outbox = outbox;
	rig->worker.base = outbox->base;
}

int64_t send_rig_waiting(struct send_rig *rig)
{
	struct outbox_state state;

	outbox_state_get(rig->shared.outbox, &state);
	return state.emails;
}

int send_rig_setup(void **state)
{
	struct send_rig *rig = mem_new(struct send_rig);
	struct worker *worker = &rig->worker;

	rig->folder = temp_folder_new();
	rig->path = mem_printf("%s/db", rig->folder);
	temp_db_make(rig->path);
	assert_int_equal(db_open(rig->path, DB_WRITE, &rig->db, NULL), 0);
	fill_store(rig);

	rig->shared.clock = &clock_system;
	rig->shared.committer = committer_new_inline(rig->db);
	rig->shared.database_path = rig->path;
	rig->shared.store = rig->path;
	rig->shared.routes = no_routes;
	rig->shared.takes_hyphen = &rig->takes_hyphen;
	rig->shared.running = running_new();
	rig->shared.budget = &rig->budget;
	rig->shared.pool = work_pool_new(2);
	assert_non_null(rig->shared.pool);
	rig->request.admission.limits = (struct admission_limits){
		.memory = SEND_RIG_MEMORY, .message = SEND_RIG_MEMORY};
	rig->shared.run = postfix_run_new();
	rig->postfix = fake_master_new();
	fake_master_start(rig->postfix);
	postfix_run_watch(rig->shared.run, rig->postfix->queue);
	worker->shared = &rig->shared;
	worker->conf = conf_default();
	worker->conf->submission.record_wait_ms = 20;
	assert_int_equal(db_open(rig->path, DB_READ, &worker->db, NULL), 0);
	set_outbox(rig);
	worker->tasks = task_queue_new(worker->base);
	worker->counts = counts_new(no_routes);
	rig->request.worker = worker;
	*state = current = rig;
	return 0;
}

int send_rig_teardown(void **state)
{
	struct send_rig *rig = *state;

	work_pool_free(rig->shared.pool);
	task_queue_free(rig->worker.tasks);
	db_close(rig->worker.db);
	outbox_free(rig->shared.outbox);
	conf_free(rig->worker.conf);
	free(rig->worker.counts);
	committer_free(rig->shared.committer);
	running_free(rig->shared.running);
	postfix_run_free(rig->shared.run);
	fake_master_free(rig->postfix);
	db_close(rig->db);
	store_key_clear(&rig->request.admission.key);
	temp_folder_free(rig->folder);
	free(rig->path);
	free(rig);
	return 0;
}

void send_rig_on_done(struct request *request, const struct send_outcome *outcome)
{
	struct send_rig *rig = current;

	assert_ptr_equal(request, &rig->request);
	assert_true(outcome->n <= SEND_RIG_EMAILS);
	rig->done++;
	rig->n = outcome->n;
	rig->sent = outcome->sent;
	rig->composed = 0;
	for (size_t i = 0; i < outcome->n; i++) {
		const struct send_result *result = &outcome->results[i];

		memcpy(rig->ids[i], result->id, ID_SIZE);
		rig->problems[i] = outcome->problem ? *outcome->problem : result->problem;
		rig->composed += result->message_id != NULL;
	}
	event_base_loopbreak(rig->worker.base);
}

void send_rig_wait(struct send_rig *rig)
{
	if (rig->done == 0)
		event_base_dispatch(rig->worker.base);
	assert_int_equal(rig->done, 1);
	/* What it waited for no longer is at its end, too. */
	while (rig->shared.outbox->under_way > 0 || rig->shared.outbox->to_start > 0)
		event_base_loop(rig->worker.base, EVLOOP_ONCE);
}

void send_rig_begin(struct send_rig *rig, const struct send_spec *spec)
{
	rig->done = 0;
	send_request_emails(&rig->request, spec, send_rig_on_done);
}

void send_rig_send(struct send_rig *rig, const struct send_spec *spec)
{
	send_rig_begin(rig, spec);
	send_rig_wait(rig);
}

static void add(struct addr_list *list, const char *address)
{
	assert_int_equal(addr_parse(address, addr_list_add(list), NULL), 0);
}

void send_rig_email(const char *from, const char *to, struct draft *draft_r)
{
	struct mime_message *message = &draft_r->message;

	*draft_r = (struct draft){0};
	assert_int_equal(addr_parse(from, &message->from, NULL), 0);
	add(&message->to, to);
	add(&draft_r->bcc, "Secret <hidden@dst.test>");
	message->subject = mem_strdup("Hi");
	message->html = mem_strdup("<p>Hello</p>");
}

int send_rig_state(struct send_rig *rig, size_t index)
{
	enum email_state state;
	char *refusal = NULL;
	int found = store_email_outcome(rig->db, rig->ids[index], &state, &refusal, NULL);

	free(refusal);
	assert_true(found >= 0);
	return found ? (int)state : -1;
}
