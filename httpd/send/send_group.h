/*
 * send_group: the emails of a request on their way, and the steps that they
 * take, which stand in files of their own.
 *
 * One email is, from the body to the answer:
 *
 *   struct       made by           until           holds
 *   outgoing     the dialect's     it is composed  what the client wants sent
 *                parse
 *   send_result  send_group_new    done returns    what the answer tells: its
 *                                                  id, its problem
 *   send         send_group_new    done returns    how far it has come, and:
 *    composed    send_compose      done returns    its row; its message, until
 *                                                  Postfix has it
 *    submission  send_submit       Postfix's       the message in inject
 *                                  answer
 *    watched     send_watch        the milter's    the wait for that
 *                                  record
 *
 * Emails made of one by recipient variables have one outgoing, and each another
 * that lasts while it is composed (struct send_personal).
 */
#ifndef POSTERN_HTTPD_SEND_SEND_GROUP_H
#define POSTERN_HTTPD_SEND_SEND_GROUP_H

#include "core/db/committer.h"
#include "core/postfix/postfix_run.h"
#include "core/store/store_email.h"
#include "httpd/gate/budget.h"
#include "httpd/worker/task_queue.h"
#include "httpd/worker/work_pool.h"
#include "httpd/inject/inject.h"
#include "httpd/send/idempotency.h"
#include "httpd/send/record_watch.h"
#include "httpd/send/outgoing.h"

struct worker;

/* What goes to Postfix and to the store. Starts zeroed. */
struct composed {
	struct email row;
	char *recipient; /* of the envelope: the ticket's address */
	struct buf message;
};

/* How far an email has come. */
enum send_end {
	SEND_OPEN,
	SEND_BAD,     /* it may not be sent, or cannot be composed */
	SEND_SENT,    /* recorded */
	SEND_LATE,    /* in Postfix's queue, not recorded yet */
	SEND_UNSURE,  /* perhaps in the queue */
	SEND_FAILED,  /* surely not in the queue */
	SEND_REFUSED, /* by the milter */
	SEND_BARRED,  /* staged by an earlier request; this one's key may not
		       * send it, and is told no more */
};

struct send {
	struct send_group *group;
	struct send_result *result;
	enum send_end end;
	bool test;
	bool found_decided; /* by the milter, when it was to be sent again */
	bool rejected;      /* by Postfix, for good */
	bool unproven;      /* Postfix is still to say that it has it */
	bool doubted;       /* a record of its message is no proof, see
			     * struct inject_answer */
	/* Of an earlier attempt in this run: good enough an answer when it is
	 * sent; "": none. */
	char earlier_ticket[SECRET_TICKET_SIZE];
	struct composed composed;
	struct submission submission;
	struct watched watched;
	/* Of another ticket for it, see send_submit: */
	struct task task;
	struct commit_job job;
	int superseded; /* as store_email_supersede() */
	unsigned resubmissions;
	bool recorded_before;       /* its first message was; Postfix may have it */
	char run[POSTFIX_RUN_SIZE]; /* of Postfix, when the session was lost */
};

/* The emails of one request. Lives until its done; between two steps it is
 * with the emails that are open, with its job or with the pool. */
struct send_group {
	struct task task; /* from the committer to the worker */
	struct commit_job job;
	struct work work;          /* composing: */
	struct outgoing *outgoing; /* one with personal, else n */
	struct send_personal *personal;
	size_t composed_n;       /* so many are done with */
	uint64_t outgoing_bytes; /* that are counted for outgoing */
	int job_result;
	struct err job_err;
	struct worker *worker;
	struct request *request;       /* gone after done */
	struct places_share places;    /* of its emails */
	struct idempotency_lock *lock; /* NULL: it has no key, or none yet */
	send_done *done;
	bool permissive;
	bool unfinished;
	bool lazy;              /* staged, but durable only with a later commit */
	int64_t created_us;     /* of all its emails */
	struct problem problem; /* of the whole request */
	struct send *sends;
	struct send_result *results;
	size_t n;
	size_t left;                            /* have not left the present step */
	void (*next)(struct send_group *group); /* when all have */
};

/* One of n emails that have nothing in them. */
struct send_group *send_group_new(
	struct request *request, size_t n, bool permissive, send_done *done);
void send_group_free(struct send_group *group);
size_t send_group_count(const struct send_group *group, enum send_end end);
/* Whether the request came before. */
bool send_group_is_repeat(const struct send_group *group);
/* Whether Postfix has any of the emails, or may have it; whether no repeat can
 * change what became of them. */
bool send_group_is_out(const struct send_group *group);
bool send_group_is_final(const struct send_group *group);
/* For each email what is kept for a repeat, see struct idempotency. */
void send_group_results(const struct send_group *group, struct strv *results);
/* Tells the outcome and frees the group. */
void send_group_end(struct send_group *group);
/* The same, with the problem as that of the whole request. */
void send_group_fail(struct send_group *group, const struct problem *problem);

/* Calls step for each email that is open. Each leaves the step by send_finish(),
 * at its end, or by send_leave(), still open; when all have, next is called. */
void send_group_each_open(struct send_group *group, void (*step)(struct send *send),
	void (*next)(struct send_group *group));
void send_finish(struct send *send, enum send_end end);
void send_leave(struct send *send);

/* Has the committer run the job, and then the worker done. A lazy job is
 * durable only with a later commit. */
void send_group_commit(struct send_group *group,
	int (*run)(struct db *db, void *group, struct err *err), void (*done)(struct task *task),
	bool lazy);

/* Composes the open emails; those of many or large ones on a thread of the
 * pool. Then done runs on the worker, perhaps before this returns: the
 * group has a problem when they take more memory than there is. */
void send_compose_group(struct send_group *group, void (*done)(struct task *task));

/* Before the rows of the open emails are written: notes in them the way by
 * which their messages go; and of a request with a key the run of Postfix,
 * where its answer is to prove that it has them. */
void send_note_way(struct send_group *group);
/* Whether the rows need not be durable yet: the milter's record, which comes
 * before Postfix takes a message, will make them so. */
bool send_commit_is_lazy(const struct send_group *group);
/* Submits the message and waits for the record. */
void send_submit(struct send *send);
/* Waits for the record of an email that is with Postfix. */
void send_watch(struct send *send);
/* Postfix has the message with this ticket. Is written down when there is time:
 * should that be lost, a repeat may deliver twice. */
void send_prove(const struct send *send, const char *ticket);

/* A request that came before. Gives the emails that have an answer now their
 * ends; the others are open. */
void send_repeat_read(struct send_group *group);
/* Sends the open ones, which are composed, unless the milter decides first. */
void send_repeat(struct send_group *group);

/* Every email has come to an end: puts the store in order, then ends the
 * group. */
void send_settle(struct send_group *group);

#endif
