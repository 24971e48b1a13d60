/*
 * outbox: accepted means kept. Emails are written down with their messages, and
 * handed to Postfix until it is known to have them, whatever becomes of the
 * requests that brought them.
 *
 *   a request: outbox_send() ─(one commit)─> the dispatcher ─> done, with outcomes
 *   the dispatcher: due -> submit -> outcome; again, while it is put off
 *
 * One thread, the dispatcher's, submits what all workers have taken, in turns of the
 * companies (dispatcher.c). What was committed is handed over in memory; what it
 * cannot submit at once it lets go, and reads from the store when its time has come
 * (feeder.c).
 *
 * Threads: outbox_send() and outbox_batch_release() are for any worker; done is run
 * on that worker's. The others say so.
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
#include "core/store/store_email.h"
#include "core/store/store_idempotency.h"
#include "httpd/admission/budget.h"
#include "httpd/outbox/breaker.h"
#include "httpd/worker/work_pool.h"

struct conf;
struct outbox;
struct parcel;
struct probe_report;
struct worker_counts;
struct worker_shared;

/* What is known of an email when its request is answered. */
enum outbox_outcome {
	OUTBOX_PENDING,
	OUTBOX_SENT,     /* the milter has recorded it, and Postfix has it */
	OUTBOX_REFUSED,  /* by the milter */
	OUTBOX_REJECTED, /* by Postfix, for good: its row is gone */
	OUTBOX_ACCEPTED, /* it is durable, and the dispatcher goes on */
	OUTBOX_UNKEPT,   /* the store could not make it durable: nothing is promised */
};

/* An email of a batch. */
struct outbox_mail {
	/* From the request. Its way and answered are set here. */
	struct email row;
	struct buf message;
	size_t place; /* of its result among those of the request */
	bool test;    /* recorded at once, and delivered to nobody */
	bool waits;   /* only row.id is given: it is in the outbox already, and its
		       * outcome is waited for */

	/* For the request, at done. */
	bool paused; /* it waits until an admin resumes its company, domain or key */
	enum outbox_outcome outcome;
	char *refusal;  /* with OUTBOX_REFUSED */
	struct err err; /* with OUTBOX_REJECTED and OUTBOX_UNKEPT */

	struct parcel *parcel; /* the dispatcher's */
};

/* The emails of one request, which are staged in one commit; and those that an
 * earlier request has staged. Its maker fills in what comes first, and lets go of it
 * by outbox_batch_release(). */
struct outbox_batch {
	struct outbox_mail *mails;
	size_t n;
	char request_id[ID_SIZE]; /* for the log */
	char company_id[ID_SIZE];
	bool has_key; /* an Idempotency-Key: */
	bool is_repeat;
	struct idempotency_key key;
	struct idempotency kept; /* what is known of all emails of the request */
	/* How long it is waited for the outcomes; 0: not, which is right as well
	 * for OUTBOX_WAITED_MAX emails and more. */
	int64_t wait_ms;
	struct task_queue *tasks; /* of the maker's worker */
	/* Called once, on its thread. */
	void (*done)(struct outbox_batch *batch);
	void *arg;

	/* At done: 0, or -1 when the store cannot take it, and nothing of it is
	 * kept. ERR_EXISTS: somebody has used the Idempotency-Key meanwhile. */
	int result;
	struct err err;
	/* The memory of what is still on its way when the request is answered. The
	 * maker moves its own account here. */
	struct budget_share share;

	/* The outbox's. */
	struct outbox *outbox;
	struct work work; /* large messages are written */
	size_t written;   /* mails that were looked at for that */
	struct task task;
	struct task staged;
	struct commit_job job;
	atomic_int refs;
	size_t left; /* mails that are waited for */
	bool lazy;   /* it is durable only with a later commit */
	bool answered;
	struct event *timer;
	TAILQ_ENTRY(outbox_batch) link;
};

/* So many emails of a request are waited for. */
enum { OUTBOX_WAITED_MAX = 50 };

struct outbox_batch *outbox_batch_new(size_t n);
/* By its maker, at done or instead of outbox_send(). */
void outbox_batch_release(struct outbox_batch *batch);

/* Has the emails staged and submitted. done is called when all have an outcome, at
 * the latest when wait_ms are over. */
void outbox_send(struct outbox *outbox, struct outbox_batch *batch);

/* Before any worker is. Reads of shared what is there by then; conf is taken over.
 * recorded is called for each email that the milter has decided about. The thread
 * starts with outbox_start(). */
int outbox_new(const struct worker_shared *shared, struct conf *conf,
	void (*recorded)(struct probe_report *report), struct outbox **outbox_r, struct err *err);
int outbox_start(struct outbox *outbox, struct err *err);
/* Any thread: no request waits any more, since the server stops and its time is up. */
void outbox_cut_short(struct outbox *outbox);
/* When no worker runs any more; the committer and the pool do. Ends the thread. */
void outbox_stop(struct outbox *outbox);
/* When the committer has ended. NULL is fine. */
void outbox_free(struct outbox *outbox);

/* By the server: other settings, which are taken over. */
void outbox_reload(struct outbox *outbox, struct conf *conf);

/* For any thread: what it has counted, as a worker's. */
const struct worker_counts *outbox_counts(const struct outbox *outbox);

/* For any thread, of an outbox: how many bytes of messages it has, and of these the company's, with
 * those of companies that count as one with it (op.outbox_bytes). */
void outbox_bytes_get(void *outbox, const char *company_id, int64_t *all_r, int64_t *own_r);

/* For any thread: what is in the outbox. */
struct outbox_state {
	int64_t emails, bytes;
	int64_t in_hand; /* of the emails: on their way into Postfix */
	bool disk_full;  /* new emails would take what outbox.min_free leaves */
	bool full;       /* hardly anything is left of outbox.max_bytes */
	bool crowded;    /* an email found no room a moment ago, perhaps for its company alone */
	struct breaker_state breaker;
};
void outbox_state_get(struct outbox *outbox, struct outbox_state *state_r);

#endif
