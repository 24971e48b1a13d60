/*
 * change: one write that a request makes, other than sending.
 *
 * Threads: the worker's, but for on_change_committed(), which is called on the
 * committer's.
 */
#include "httpd/http/change.h"

#include "core/base/log.h"
#include "httpd/base/worker.h"
#include "httpd/http/request.h"

static void on_change_delivered(struct letter *letter)
{
	struct change *change = (struct change *)letter;

	change->done(change);
}

static void on_change_committed(void *arg, int result, const struct err *err)
{
	struct change *change = arg;

	change->result = result;
	if (result < 0)
		change->err = *err;
	inbox_post(change->request->worker->inbox, &change->letter);
}

void change_submit(struct request *request, struct change *change,
	int (*run)(struct db *db, void *arg, struct err *err),
	void (*done)(struct change *change))
{
	change->letter.deliver = on_change_delivered;
	change->request = request;
	change->done = done;
	change->job.run = run;
	change->job.done = on_change_committed;
	change->job.arg = change;
	committer_submit(request->worker->shared->committer, &change->job);
}

int change_failed(
	const struct change *change, const char *event, struct problem *problem)
{
	log_error(change->request->worker->log, event, "request",
		change->request->id, "error", change->err.text);
	return problem_from_err(problem, &change->err);
}
