/*
 * send: from the body of a request to the answer.
 *
 *   send_request ─> read_body ─(pool)─> on_read
 *     ─> send_emails: decide, lock the Idempotency-Key
 *     ─> send_compose_group ─(pool)─> on_composed
 *     ─> stage ─(committer)─> on_send_staged
 *     ─> send_submit, for each ─(Postfix, milter)─> send_finish
 *     ─> send_settle ─(committer)─> send_group_end: done() answers
 *
 * A request that came before leaves this at the lock, when all of it has an
 * answer, or after composing, and comes back at send_settle: see send_repeat.
 *
 * The answer waits for the records: after it the emails are in Postfix's queue,
 * their rows are durable, and GET finds them.
 *
 * Threads: the worker's, but for read_body() and composing, which are the
 * pool's when they may take long, and for stage_run(), which is the committer's.
 */
#include "httpd/send/send.h"

#include <event2/buffer.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/policy/ticket.h"
#include "httpd/gate/request.h"
#include "httpd/gate/sender.h"
#include "httpd/send/record_watch.h"
#include "httpd/send/send_group.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

static bool begins_with_hyphen(const struct addr *addr)
{
	return addr->local[strspn(addr->local, "\"")] == '-';
}

/* Mail to the domain of tickets would wait for its end, since Postfix is told
 * to keep it; and pass for an email that waits for the milter. */
static int check_list(const struct addr_list *list, bool takes_hyphen, struct problem *problem)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct addr *addr = &list->items[i];
		bool to_nobody = str_eq(addr->domain, TICKET_DOMAIN);
		_cleanup_free_ char *spec = NULL;

		if (!to_nobody && (takes_hyphen || !begins_with_hyphen(addr)))
			continue;
		spec = addr_spec(addr);
		return problem_set(problem, PROBLEM_VALIDATION,
			to_nobody ? "The mail server delivers nothing to this domain: %s"
				  : "The mail server takes no address that begins with "
				    "a hyphen: %s",
			spec);
	}
	return 0;
}

/* Whether Postfix, as it is configured, takes the sender and the recipients.
 * The problem names the address. */
static int check_addresses(
	const struct worker *worker, const struct outgoing *outgoing, struct problem *problem)
{
	bool takes_hyphen = *worker->shared->takes_hyphen;
	struct addr from = outgoing->message.from;
	const struct addr_list *lists[] = {&(struct addr_list){&from, 1}, &outgoing->envelope,
		&outgoing->bcc, &outgoing->message.to, &outgoing->message.cc};
	/* What a finished message says is not where it goes. */
	size_t n = ARRAY_SIZE(lists) - (outgoing->finished.len > 0 ? 2 : 0);

	for (size_t i = 0; i < n; i++)
		if (check_list(lists[i], takes_hyphen, problem) < 0)
			return -1;
	return 0;
}

static int stage_run(struct db *db, void *arg, struct err *err)
{
	const struct send_group *group = arg;
	struct idempotency kept = {.created_us = group->created_us};
	int result;

	for (size_t i = 0; i < group->n; i++) {
		const struct send *send = &group->sends[i];
		const struct email *row = &send->composed.row;

		if (send->end != SEND_OPEN)
			continue;
		if (store_email_stage(db, row, err) < 0)
			return -1;
		/* It goes no further: nobody else can record it. */
		if (send->test && store_email_record(db, row->ticket, "", row->created_us, err) < 0)
			return -1;
	}
	if (group->lock == NULL)
		return 0;
	memcpy(kept.payload, group->lock->entry.payload, sizeof(kept.payload));
	send_group_results(group, &kept.results);
	result = store_idempotency_add(db, &group->lock->entry.key, &kept, err);
	store_idempotency_clear(&kept);
	return result;
}

static void submit_or_end(struct send *send)
{
	if (send->test)
		send_finish(send, SEND_SENT);
	else
		send_submit(send);
}

static void on_send_staged(struct task *task)
{
	struct send_group *group = CONTAINER_OF(task, struct send_group, task);
	struct problem problem = PROBLEM_INIT;

	if (group->job_result == 0) {
		send_group_each_open(group, submit_or_end, send_settle);
		return;
	}
	log_error(group->worker->log, "stage_failed", "request", group->request->id, "error",
		group->job_err.text);
	/* Another httpd on the same store has added the key meanwhile, as when
	 * one is restarted. */
	if (group->lock && group->job_err.code == ERR_EXISTS)
		problem_fixed(&problem, PROBLEM_CONCURRENT);
	else
		problem_from_err(&problem, &group->job_err);
	send_group_fail(group, &problem);
}

static void on_composed(struct task *task)
{
	struct send_group *group = CONTAINER_OF(task, struct send_group, work.done);
	size_t open = send_group_count(group, SEND_OPEN);
	size_t bad = send_group_count(group, SEND_BAD);

	if (group->problem.kind != PROBLEM_NONE) {
		send_group_end(group);
	} else if (send_group_is_repeat(group)) {
		send_repeat(group);
	} else if (open > 0 && (bad == 0 || group->permissive)) {
		send_note_way(group);
		group->lazy = send_commit_is_lazy(group);
		send_group_commit(group, stage_run, on_send_staged, group->lazy);
	} else {
		send_group_end(group);
	}
}

/* Whether there is room, and hope that it gets recorded. The emails of a
 * request come in together. */
static bool can_send(struct send_group *group)
{
	const struct worker *worker = group->worker;
	const char *company = group->request->admission.key.company_id;

	return places_enter(&worker->shared->budget->emails, worker->conf->submission.max_pending,
		       company, (int64_t)group->n, &group->places) == PLACES_ENTERED &&
	       record_gate_enter(worker->shared->gate, company, clock_monotonic_us());
}

static void refuse_all(struct send_group *group, enum problem_kind kind)
{
	struct problem problem = PROBLEM_INIT;

	problem_fixed(&problem, kind);
	send_group_fail(group, &problem);
}

/* The emails are decided: what has no answer yet is composed. The same payload
 * has the same number of emails, unless another version of this program has
 * read it. */
static void lock_and_compose(struct send_group *group, const uint8_t *payload)
{
	struct problem problem = PROBLEM_INIT;
	bool is_repeat;

	if (payload && idempotency_lock(group->request, payload, &group->lock, &problem) < 0) {
		send_group_fail(group, &problem);
		return;
	}
	is_repeat = send_group_is_repeat(group);
	if (is_repeat && group->lock->earlier.results.n != group->n) {
		refuse_all(group, PROBLEM_OTHER_PAYLOAD);
		return;
	}
	if (is_repeat)
		send_repeat_read(group);
	if (is_repeat && send_group_count(group, SEND_OPEN) == 0)
		send_settle(group);
	else if (!can_send(group))
		refuse_all(group, PROBLEM_UNAVAILABLE);
	else
		send_compose_group(group, on_composed);
}

/* A repeat is decided like a first request, before anything is told of that.
 * The rules are asked once for emails in a row that are of one domain. */
static void decide_all(struct send_group *group, const struct send_spec *spec)
{
	struct problem decision = PROBLEM_INIT;
	const char *decided = NULL;

	for (size_t i = 0; i < group->n; i++) {
		const struct outgoing *outgoing = &group->outgoing[group->personal ? 0 : i];
		const char *domain = outgoing->message.from.domain;
		struct problem *problem = &group->results[i].problem;

		id_new(group->results[i].id);
		if (spec->problems && spec->problems[i].kind != PROBLEM_NONE) {
			*problem = spec->problems[i];
		} else if (group->personal && i > 0) {
			*problem = group->results[0].problem;
		} else {
			if (decided == NULL || !str_eq(domain, decided)) {
				decision = PROBLEM_INIT;
				sender_check(group->worker, &group->request->admission.key, domain,
					SENDER_OF_EMAIL, group->request->id, &decision);
				decided = domain;
			}
			*problem = decision;
			if (problem->kind == PROBLEM_NONE)
				check_addresses(group->worker, outgoing, problem);
		}
		if (problem->kind != PROBLEM_NONE)
			group->sends[i].end = SEND_BAD;
	}
}

/* The rows of their recipients are written in one commit, for which all other
 * companies wait: some ten milliseconds for so many. */
enum { RECIPIENTS_MAX = 10000 };

static int check_recipients(const struct send_group *group, struct problem *problem)
{
	size_t each = group->personal ? group->n : 1, n = 0;

	for (size_t i = 0; i < (group->personal ? 1 : group->n); i++) {
		const struct outgoing *outgoing = &group->outgoing[i];
		const struct mime_message *message = &outgoing->message;

		n += (group->personal ? 1 : message->to.n) + message->cc.n + outgoing->bcc.n;
	}
	if (n * each <= RECIPIENTS_MAX)
		return 0;
	return problem_set(problem, PROBLEM_TOO_LARGE,
		"Too many recipients in one request, max is %d: %zu emails have %zu, with cc and "
		"bcc of each",
		RECIPIENTS_MAX, group->n, n * each);
}

void send_emails(struct request *request, const struct send_spec *spec)
{
	struct problem problem = PROBLEM_INIT;
	struct send_group *group = send_group_new(request, spec->n, spec->permissive, spec->done);
	size_t outgoing_n = spec->personal ? 1 : spec->n, bad;
	size_t size = outgoing_n * sizeof(*group->outgoing);

	/* They are taken over. */
	group->outgoing = mem_alloc(outgoing_n, sizeof(*group->outgoing));
	memcpy(group->outgoing, spec->outgoing, size);
	memset(spec->outgoing, 0, size);
	group->personal = spec->personal;
	decide_all(group, spec);
	bad = send_group_count(group, SEND_BAD);
	if (check_recipients(group, &problem) < 0)
		send_group_fail(group, &problem);
	else if (bad == 0 || (group->permissive && bad < spec->n))
		lock_and_compose(group, spec->payload);
	else
		send_group_end(group);
}

/* A body that is read on the worker's loop. Nothing in so few bytes takes a
 * millisecond, and to hand them over would take as long as they do. */
enum { PARSE_ON_LOOP_MAX = 8 * 1024 };

struct reading {
	struct work work;
	const struct send_dialect *dialect;
	struct send_body body;
	char *type, *encoding;
	bool has_key; /* an Idempotency-Key that counts: */
	uint8_t payload[SECRET_HASH_LEN];
	struct send_parsed parsed;
	struct problem problem;
};

void send_body_drop(struct send_body *body)
{
	if (body->held)
		evbuffer_free(body->held);
	body->held = NULL;
	body->data = NULL;
}

static void clear_parsed(struct send_parsed *parsed)
{
	size_t n = parsed->personal ? 1 : parsed->n;

	for (size_t i = 0; parsed->emails && i < n; i++)
		outgoing_clear(&parsed->emails[i]);
	if (parsed->personal)
		parsed->personal->free(parsed->personal);
	free(parsed->emails);
	free(parsed->problems);
	free(parsed->answer_id);
	*parsed = (struct send_parsed){0};
}

static bool read_body(struct work *work)
{
	struct reading *reading = CONTAINER_OF(work, struct reading, work);
	const struct send_dialect *dialect = reading->dialect;
	struct send_body *body = &reading->body;

	if (body->len > 0)
		body->data = (const char *)evbuffer_pullup(body->held, -1);
	if (reading->has_key)
		idempotency_hash(dialect->action, body->data, body->len, reading->payload);
	if (dialect->parse(body, &reading->parsed, &reading->problem) < 0) {
		clear_parsed(&reading->parsed);
		if (reading->problem.kind == PROBLEM_NONE)
			problem_fixed(&reading->problem, PROBLEM_INTERNAL);
	}
	send_body_drop(body);
	return true;
}

static void on_read(struct task *task)
{
	struct reading *reading = CONTAINER_OF(task, struct reading, work.done);
	struct request *request = reading->body.request;
	struct send_parsed *parsed = &reading->parsed;

	if (reading->problem.kind != PROBLEM_NONE) {
		reply_problem(request, &reading->problem);
	} else {
		request->answer_id = TAKE_PTR(parsed->answer_id);
		send_emails(request, &(const struct send_spec){
					     .outgoing = parsed->emails,
					     .personal = TAKE_PTR(parsed->personal),
					     .problems = parsed->problems,
					     .n = parsed->n,
					     .permissive = reading->dialect->permissive,
					     .payload = reading->has_key ? reading->payload : NULL,
					     .done = reading->dialect->done,
				     });
		/* They were taken over, or cleared. */
		parsed->n = 0;
	}
	clear_parsed(parsed);
	free(reading->type);
	free(reading->encoding);
	free(reading);
}

static char *field(struct request *request, const char *name)
{
	const char *value = request_header(request, name);

	return mem_strdup(value ? value : "");
}

void send_request(struct request *request, const struct send_dialect *dialect)
{
	struct reading *reading = mem_new(struct reading);
	struct send_body *body = &reading->body;

	reading->dialect = dialect;
	reading->type = field(request, "Content-Type");
	reading->encoding = field(request, "Content-Encoding");
	reading->has_key = request->admission.has_idempotency_key && dialect->action;
	reading->problem = PROBLEM_INIT;
	*body = (struct send_body){
		.request = request,
		.data = "",
		.held = request_take_body(request),
		.type = reading->type,
		.encoding = reading->encoding,
	};
	body->len = evbuffer_get_length(body->held);
	reading->work = (struct work){
		.done = {.run = on_read},
		.tasks = request->worker->tasks,
		.company_id = request->admission.key.company_id,
		.run = read_body,
	};
	if (body->len > PARSE_ON_LOOP_MAX || *body->encoding) {
		work_pool_submit(request->worker->shared->pool, &reading->work);
	} else {
		read_body(&reading->work);
		on_read(&reading->work.done);
	}
}
