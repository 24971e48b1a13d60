/*
 * send_prove: writes down that Postfix has an email.
 *
 * Nothing waits for it, and it may be later than the request: a job of its own,
 * for each email as soon as Postfix has said so.
 *
 * Threads: the worker's; prove_run and prove_done are the committer's.
 */
#include <string.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "httpd/worker/worker.h"
#include "httpd/gate/request.h"
#include "httpd/send/send_private.h"

struct proof {
	struct commit_job job;
	struct log *log; /* of all workers */
	char ticket[SECRET_TICKET_SIZE];
};

/* A ticket that is superseded by now proves nothing. */
static int prove_run(struct db *db, void *arg, struct err *err)
{
	const struct proof *proof = arg;

	return store_email_prove(db, proof->ticket, err) < 0 ? -1 : 0;
}

static void prove_done(void *arg, int result, const struct err *err)
{
	const struct proof *proof = arg;

	if (result < 0)
		log_warn(proof->log, "proof_failed", "error", err->text);
	free(arg);
}

void send_prove(const struct send *send, const char *ticket)
{
	const struct worker_shared *shared = send->group->worker->shared;
	struct proof *proof = mem_new(struct proof);

	proof->log = shared->log;
	memcpy(proof->ticket, ticket, sizeof(proof->ticket));
	proof->job.run = prove_run;
	proof->job.done = prove_done;
	proof->job.arg = proof;
	proof->job.lazy = true;
	committer_submit(shared->committer, &proof->job);
}
