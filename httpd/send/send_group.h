/*
 * send_group: the emails of one request on their way to the outbox, and the steps of the way that
 * have files of their own.
 *
 * What there is of one email, from the body of the request to the answer:
 *
 *   struct        made by         lives until             holds
 *   draft         the dialect's   it is composed          what the client wants to send
 *                 parse()
 *   send_email    send_emails     done returns            how far the email is, and:
 *    composed     send_compose    the outbox takes over   its row and its message
 *   send_result   send_emails     done returns            what the answer needs: id, problem
 *   outbox_mail   send.c          the outbox releases it  row and message; then the outcome
 *
 * Emails that recipient variables make of one draft have a draft of their own only while they are
 * composed (struct send_personal).
 */
#ifndef POSTERN_HTTPD_SEND_SEND_GROUP_H
#define POSTERN_HTTPD_SEND_SEND_GROUP_H

#include "core/store/email/store_email.h"
#include "httpd/outbox/outbox.h"
#include "httpd/send/idempotency.h"
#include "httpd/send/send.h"
#include "httpd/worker/store_read.h"
#include "httpd/worker/work_pool.h"

/* A message and its row, for the store and Postfix. Starts zeroed. */
struct composed {
	struct email row;
	struct buf message;
};

/* How far an email is. All but SEND_OPEN are ends. */
enum send_end {
	SEND_OPEN,
	SEND_BAD,         /* the key may not send it, or it cannot be composed */
	SEND_SENT,        /* recorded by the milter */
	SEND_QUEUED,      /* in the outbox */
	SEND_REJECTED,    /* Postfix has refused it for good */
	SEND_REFUSED,     /* the milter has refused it */
	SEND_NOT_ALLOWED, /* an earlier request stored it, but the key of this one may not send it:
			     the client learns no more than that */
};

struct send_email {
	struct send_group *group;
	struct send_result *result;
	enum send_end end;
	bool test;
	bool stored; /* an earlier request has stored it, and it is open */
	struct composed composed;
};

/* The emails of one request. Lives until done; between two steps it is with the worker, the pool
 * or the outbox. */
struct send_group {
	struct worker *worker;
	struct admission *admission;
	const char *request_id;
	send_done *done;
	void *arg;
	bool permissive;
	int64_t created_us; /* creation time of all emails */
	bool has_payload;   /* the request has an Idempotency-Key: */
	uint8_t payload[SECRET_HASH_LEN];
	struct idempotency_lock *lock; /* NULL: no key, or not yet */
	struct problem problem;        /* problem of the whole request */
	struct send_email *emails;
	struct send_result *results;
	size_t n;

	struct store_read read; /* for deciding */

	/* For composing. */
	struct work work;
	struct draft *draft; /* n, or one with personal */
	struct send_personal *personal;
	size_t composed_n;    /* number of emails that are composed */
	uint64_t draft_bytes; /* counted in the admission's account for draft */
};

static inline size_t send_group_drafts(const struct send_group *group)
{
	return group->personal ? 1 : group->n;
}

static inline size_t send_group_count(const struct send_group *group, enum send_end end)
{
	size_t n = 0;

	for (size_t i = 0; i < group->n; i++)
		n += group->emails[i].end == end;
	return n;
}

/* Composes the open emails, many or large ones on a thread of the pool. Then done runs on the
 * worker, perhaps before this returns. The group has a problem if there is not enough memory. */
void send_compose_group(struct send_group *group, void (*done)(struct task *task));

/* For a repeat: sets the current end of each email. Those that stay open are in the outbox, and
 * have to be waited for. Returns 0, or -1 with err: the store failed. */
int send_repeat_read(struct send_group *group, struct db *db, struct err *err);

#endif
