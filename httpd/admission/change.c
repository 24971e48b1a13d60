/*
 * change: one write that a request makes, other than sending.
 *
 * Threads: the worker's; run_change() and on_change_committed() run on the committer's.
 */
#include "httpd/admission/change.h"

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/store_audit.h"
#include "httpd/worker/worker.h"

static void on_change_done(struct task *task)
{
	struct change *change = CONTAINER_OF(task, struct change, task);
	struct committer *committer = change->request->worker->shared->committer;

	if (change->result == STORE_MORE && committer) {
		change->begun = true;
		committer_submit(committer, &change->job);
		return;
	}
	if (change->result == STORE_MORE)
		change->result = err_set(&change->err, ERR_TEMPORARY,
			"the program ends, and not all is removed yet");
	change->done(change);
}

static void on_change_committed(void *arg, int result, const struct err *err)
{
	struct change *change = arg;

	change->result = result;
	if (result < 0)
		change->err = *err;
	task_queue_post(change->request->worker->tasks, &change->task);
}

/* The caller was admitted when the head arrived; the body may have come much later. The idle
 * timeout is not checked: this request uses the session. Returns 0, with change->refused set if the
 * caller may not do it any more, or -1. */
static int check_caller(struct db *db, struct change *change, struct err *err)
{
	const struct admission *admission = &change->request->admission;
	const struct key *key = &admission->key;
	enum user_role role;
	struct key now;
	int found = 0;

	if (admission->session.login) {
		found = store_session_is_good(
			db, admission->session.id, change->now_us, 0, &role, err);
		if (found == 0)
			problem_fixed(&change->refused, PROBLEM_LOGIN);
		else if (found > 0 && role < admission->route->role)
			problem_fixed(&change->refused, PROBLEM_FORBIDDEN);
	} else if (*key->id) {
		found = store_key_get(db, key->company_id, key->id, &now, err);
		if (found == 0)
			problem_fixed(&change->refused, PROBLEM_INVALID_KEY);
		else if (found > 0)
			store_key_clear(&now);
	}
	return found < 0 ? -1 : 0;
}

static int run_change(struct db *db, void *arg, struct err *err)
{
	struct change *change = arg;
	/* A change in steps may have removed the caller's key in the first one. */
	int result = change->begun ? 0 : check_caller(db, change, err);

	if (result == 0 && change->refused.kind == PROBLEM_NONE)
		result = change->run(db, change, err);
	if (change->refused.kind != PROBLEM_NONE)
		return err_set(err, ERR_TEMPORARY, "%s", change->refused.text);
	/* The last step makes those before it durable. Each would wait for the disk otherwise. */
	change->job.lazy = result == STORE_MORE;
	return result;
}

void change_submit(struct request *request, struct change *change,
	int (*run)(struct db *db, void *arg, struct err *err), void (*done)(struct change *change))
{
	const struct key *key = &request->admission.key;
	const struct session *session = &request->admission.session;
	const bool is_operator = session->company_id[0] == '\0';
	const struct db_actor user = {
		"user", session->user_id, session->login, request->client, is_operator};
	const struct db_actor token = {
		"token", session->id, session->name, request->client, is_operator};
	const struct db_actor api_key = {
		"key", key->id, key->name ? key->name : "", request->client, false};

	if (session->login)
		change->actor = session->kind == SESSION_TOKEN ? token : user;
	else
		change->actor = api_key;
	change->job.actor = &change->actor;
	change->task.run = on_change_done;
	change->request = request;
	change->now_us = clock_now_us(request->worker->shared->clock);
	change->run = run;
	change->done = done;
	change->refused = PROBLEM_INIT;
	change->job.run = run_change;
	change->job.done = on_change_committed;
	change->job.arg = change;
	change->job.company_id = admission_whose(&request->admission);
	change->job.weight = COMMIT_LONG;
	committer_submit(request->worker->shared->committer, &change->job);
}

int change_failed(const struct change *change, const char *event, struct problem *problem)
{
	if (change->refused.kind != PROBLEM_NONE) {
		*problem = change->refused;
		return -1;
	}
	return request_failed(change->request, event, &change->err, problem);
}
