/*
 * outbox: accepted means kept. Emails are stored together with their messages, and submitted
 * until Postfix is known to have them, whatever happens to the request that brought them.
 *
 *   a request:   outbox_send() ─(one commit)─> done, with the outcome of each email
 *   the outbox:  due ─> an attempt ─> sent, refused, failed; or put off, and due again
 *
 * One thread submits the emails of all workers and companies, in turns (dispatcher.c). An email
 * that was just committed is handed over in memory. One that cannot be submitted now returns to
 * the store, and is taken from there when it is due (feeder.c).
 *
 * Threads: outbox_send() and outbox_batch_release() may be called by any worker; done runs on
 * that worker's thread. The other functions say who may call them.
 */
#ifndef POSTERN_HTTPD_OUTBOX_OUTBOX_H
#define POSTERN_HTTPD_OUTBOX_OUTBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/db/committer.h"
#include "core/store/email/store_email.h"
#include "core/store/host/store_host.h"
#include "core/store/email/store_idempotency.h"
#include "httpd/admission/budget.h"
#include "httpd/outbox/breaker.h"
#include "httpd/outbox/record_watch.h"
#include "httpd/worker/work_pool.h"

struct conf;
struct outbox;
struct outbox_batch;
struct probe_report;
struct worker_counts;
struct worker_shared;

/* The outcome of an email when its request is answered. */
enum outbox_outcome {
	OUTBOX_PENDING,
	OUTBOX_SENT,     /* the milter has recorded it, and Postfix has it */
	OUTBOX_REFUSED,  /* the milter has refused it */
	OUTBOX_REJECTED, /* Postfix has refused it for good, and its row is gone */
	OUTBOX_ACCEPTED, /* it is durable, and the outbox keeps trying to submit it */
	OUTBOX_UNKEPT,   /* the store could not make it durable: its acceptance is not confirmed */
};

/* An email of a batch. */
struct outbox_mail {
	/* From the maker. Way and answered of the row are set by outbox_send(). */
	struct email row;
	struct buf message;
	size_t index; /* index of its result in the answer to the request */
	bool test;    /* recorded at once, and delivered to nobody */
	bool stored;  /* an earlier request has stored it: only row.id is given, and its outcome
		       * is waited for */

	/* Set when done is called, for the maker. */
	bool paused; /* it waits until an admin ends the pause of its company, domain or key */
	enum outbox_outcome outcome;
	char *refusal;  /* with OUTBOX_REFUSED */
	struct err err; /* with OUTBOX_REJECTED and OUTBOX_UNKEPT */

	/* The outbox's. */
	struct outbox_batch *batch;
	bool awaited; /* the batch waits for its outcome */
	struct watched watched;
};

/* The emails of one request, staged by one commit, and those that an earlier request has stored.
 * The maker fills in the first part, and releases the batch at done. */
struct outbox_batch {
	struct outbox_mail *mails;
	size_t n;
	char request_id[ID_SIZE]; /* for the log */
	char company_id[ID_SIZE];
	bool has_key; /* an Idempotency-Key: */
	bool is_repeat;
	struct idempotency_key key;
	struct idempotency idempotency; /* the known results of all emails of the request */
	/* The maximum wait for outcomes; 0 for none. Without effect for more than OUTBOX_WAITED_MAX
	 * emails, which are never waited for. */
	int64_t wait_ms;
	struct task_queue *tasks; /* task queue of the maker's worker */
	/* Called once, on its thread. */
	void (*done)(struct outbox_batch *batch);
	void *arg;

	/* At done: 0; or -1 if the store cannot take the batch: nothing of it is kept, unless only
	 * the sync failed (see batch.c). ERR_EXISTS: somebody else has used the Idempotency-Key
	 * meanwhile. */
	int result;
	struct err err;
	/* The memory of messages that are still being submitted when the request is answered:
	 * the maker moves its own account here. */
	struct budget_share share;

	/* The outbox's. */
	struct outbox *outbox;
	struct work work; /* writes large messages */
	size_t written;   /* mails that were looked at for that */
	struct task task;
	struct task staged;
	struct commit_job job;
	size_t step_from, step_end; /* the mails of the commit that prepares or removes some */
	atomic_int refs;
	size_t left; /* outcomes that are waited for */
	bool lazy;   /* only a later commit makes it durable */
	bool answered;
	struct event *timer;
	TAILQ_ENTRY(outbox_batch) link;
};

/* The maximum number of emails whose outcomes a request waits for. */
enum { OUTBOX_WAITED_MAX = 50 };

struct outbox_batch *outbox_batch_new(size_t n);
/* Releases the maker's reference: when done was called, or instead of outbox_send(). */
void outbox_batch_release(struct outbox_batch *batch);

/* Stages and submits the emails. done is called when all have an outcome, and after wait_ms at
 * the latest. */
void outbox_send(struct outbox *outbox, struct outbox_batch *batch);

/* Functions that the outbox calls. */
struct outbox_hooks {
	/* Called for each email that the milter has decided about. */
	void (*recorded)(struct probe_report *report);
	/* For other hosts and their admins: adds in words what is wrong with this host, and
	 * returns the time up to which its log is read, or 0. On the committer's thread. */
	int64_t (*tell_host)(const struct worker_shared *shared, struct buf *words);
	/* After a heartbeat: all hosts, of which this one has the name own. On the outbox's
	 * thread. */
	void (*hosts_seen)(
		const struct worker_shared *shared, const char *own, const struct host_list *hosts);
};

/* Makes the outbox, before there is any worker. Uses what shared has by then, and takes ownership
 * of conf. outbox_start() starts the thread. */
int outbox_new(const struct worker_shared *shared, struct conf *conf,
	const struct outbox_hooks *hooks, struct outbox **outbox_r, struct err *err);
int outbox_start(struct outbox *outbox, struct err *err);
/* The server stops and the drain timeout is over: ends the wait of all requests. Any thread. */
void outbox_cut_short(struct outbox *outbox);
/* Ends the thread. Call it when no worker runs, while the committer and the pool still do. */
void outbox_stop(struct outbox *outbox);
/* Call it after the committer has ended. NULL is fine. */
void outbox_free(struct outbox *outbox);

/* Applies new settings, and takes ownership of conf. For the server. */
void outbox_reload(struct outbox *outbox, struct conf *conf);

/* While withheld is true, emails stay in the outbox: Postfix does not ask the milter, and would
 * send mail to tickets to another host. A change is logged once. Any thread. */
void outbox_withhold(struct outbox *outbox, bool withheld);

/* The outbox's counters, like those of a worker. Any thread. */
const struct worker_counts *outbox_counts(const struct outbox *outbox);

/* The bytes of messages that the outbox (an opaque pointer, for op.outbox_bytes) holds, and how
 * many of them are the company's, or of companies that share a count with it. Any thread. */
void outbox_bytes_get(void *outbox, const char *company_id, int64_t *all_r, int64_t *own_r);

/* The state of the outbox. */
struct outbox_state {
	int64_t emails, bytes;
	int64_t in_hand; /* of the emails: they are being submitted */
	bool disk_full;  /* new emails would use what outbox.min_free reserves */
	bool no_inodes;  /* large messages, each of which is a file, cannot be stored */
	bool full;       /* hardly anything is left of outbox.max_bytes */
	bool crowded;    /* an email found no room lately, perhaps because of its own company */
	struct breaker_state breaker;
};
/* Any thread. */
void outbox_state_get(struct outbox *outbox, struct outbox_state *state_r);

#endif
