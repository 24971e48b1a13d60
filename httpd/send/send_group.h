/*
 * send_group: the emails of a request on their way to the outbox, and the steps that
 * they take, which stand in files of their own.
 *
 * One email is, from the body to the answer:
 *
 *   struct       made by            until           holds
 *   draft     the dialect's      it is composed  what the client wants sent
 *                parse
 *   send_result  send_emails        done returns    what the answer tells: its id, its
 *                                                   problem
 *   send         send_emails        done returns    how far it has come, and:
 *    composed    send_compose       the outbox has  its row and its message
 *                                   taken it over
 *   outbox_mail  send.c             the outbox      the same; then its outcome
 *                                   lets go of it
 *
 * Emails made of one by recipient variables have one draft, and each another
 * that lasts while it is composed (struct send_personal).
 */
#ifndef POSTERN_HTTPD_SEND_SEND_GROUP_H
#define POSTERN_HTTPD_SEND_SEND_GROUP_H

#include "core/store/store_email.h"
#include "httpd/outbox/outbox.h"
#include "httpd/send/idempotency.h"
#include "httpd/send/draft.h"
#include "httpd/worker/work_pool.h"

struct admission;
struct worker;

/* What goes to Postfix and to the store. Starts zeroed. */
struct composed {
	struct email row;
	struct buf message;
};

/* How far an email has come. */
enum send_end {
	SEND_OPEN,
	SEND_BAD,         /* it may not be sent, or cannot be composed */
	SEND_SENT,        /* recorded */
	SEND_QUEUED,      /* in the outbox */
	SEND_REJECTED,    /* by Postfix, for good */
	SEND_REFUSED,     /* by the milter */
	SEND_NOT_ALLOWED, /* staged by an earlier request; this one's key may not
			   * send it, and is told no more */
};

struct send {
	struct send_group *group;
	struct send_result *result;
	enum send_end end;
	bool test;
	bool waits; /* open, and in the outbox already */
	struct composed composed;
};

/* The emails of one request. Lives until its done; between two steps it is with the
 * worker, with the pool or with the outbox. */
struct send_group {
	struct work work;    /* composing: */
	struct draft *draft; /* one with personal, else n */
	struct send_personal *personal;
	size_t composed_n;    /* so many are done with */
	uint64_t draft_bytes; /* that are counted for draft */
	struct worker *worker;
	struct admission *admission;
	const char *request_id;
	struct idempotency_lock *lock; /* NULL: it has no key, or none yet */
	send_done *done;
	void *arg;
	bool permissive;
	int64_t created_us;     /* of all its emails */
	struct problem problem; /* of the whole request */
	struct send *sends;
	struct send_result *results;
	size_t n;
};

static inline size_t send_group_count(const struct send_group *group, enum send_end end)
{
	size_t n = 0;

	for (size_t i = 0; i < group->n; i++)
		n += group->sends[i].end == end;
	return n;
}

/* Composes the open emails; those of many or large ones on a thread of the
 * pool. Then done runs on the worker, perhaps before this returns: the
 * group has a problem when they take more memory than there is. */
void send_compose_group(struct send_group *group, void (*done)(struct task *task));

/* A request that came before: gives each email the end that it has by now; those that
 * are open are to be waited for. */
void send_repeat_read(struct send_group *group);

#endif
