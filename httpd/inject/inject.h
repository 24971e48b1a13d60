/*
 * inject: hands a finished message to the local Postfix.
 *
 * The seam between httpd and how mail gets into the queue. Each worker has one
 * injector on its own event base; submit and done run on that worker's thread,
 * and done is never called from inside submit.
 *
 * A submission is owned by its submitter, who keeps it and the message
 * untouched until done, after which the injector has forgotten it. Every
 * submission gets exactly one done.
 */
#ifndef POSTERN_HTTPD_INJECT_INJECT_H
#define POSTERN_HTTPD_INJECT_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct conf;
struct event_base;

enum inject_result {
	INJECT_QUEUED,    /* durable in Postfix's queue or maildrop */
	INJECT_REJECTED,  /* Postfix said no for good; not queued */
	INJECT_TEMPORARY, /* Postfix cannot take it now; not queued */
	INJECT_UNKNOWN,   /* may have been queued or not */
};

/* What was in the way, with INJECT_TEMPORARY. */
enum inject_obstacle {
	INJECT_PUT_OFF, /* Postfix said so */
	INJECT_AWAY,    /* there was no session for the message */
	INJECT_NO_TURN, /* all sessions were taken: Postfix was not asked */
};

/* What became of a submission. */
struct inject_answer {
	enum inject_result result;
	/* As in the ops: the milter decided before Postfix answered, or not at
	 * all: what the store says of the message is final, but without INJECT_QUEUED a
	 * record is no proof that the message is in the queue, and nothing of
	 * it waits anywhere to be presented again.
	 * When false, the milter decides about what is queued: a record will
	 * come, and is proof whatever the result. */
	bool verdict_first;
	enum inject_obstacle obstacle;
	const struct err *err; /* why, when result is not INJECT_QUEUED */
};

struct submission {
	const char *sender;        /* envelope sender, no <> */
	const char *recipient;     /* the one of the envelope, no <> */
	const struct buf *message; /* complete; lines end in LF */
	const char *company_id;    /* whose turn it takes */
	bool utf8;                 /* it will go to recipients that are not all ASCII */
	/* By a session of its own, which ends with it: one that is open may go by
	 * settings of Postfix from before a reload. And while it lasts, master may take
	 * its smtpd, which was started just before a reload, for one that is free, and
	 * lets others wait. */
	bool fresh;
	/* It does not wait for a Postfix that is away, but is answered so. */
	bool prompt;
	/* answer lives for the call. */
	void (*done)(struct submission *submission, const struct inject_answer *answer);
	/* The injector's, as what follows: for its turn; then, once it was taken, for
	 * an answer. */
	int64_t deadline_us;
	int64_t timeout_ms; /* of each */
	bool taken;
	unsigned tries; /* that ended without an answer to it */
	TAILQ_ENTRY(submission) by_deadline, by_turn;
};

struct inject;

/* What an implementation is made of. */
struct inject_ops {
	/* Postfix takes a message only after the milter has written its verdict
	 * down: see struct inject_answer. */
	bool verdict_first;
	void (*submit)(struct inject *inject, struct submission *submission);
	/* Ends what still runs with INJECT_UNKNOWN, and what waits or is
	 * submitted from now on with INJECT_TEMPORARY. */
	void (*stop)(struct inject *inject);
	/* Nothing is under way any more. */
	void (*free)(struct inject *inject);
};

/* The first member of each implementation. */
struct inject {
	const struct inject_ops *ops;
	bool stopping; /* nothing will be queued any more */
	/* So many sessions have a message at once; 0: as many as there are. Its owner
	 * changes it at any time. */
	size_t busy_max;
};

static inline void inject_submit(struct inject *inject, struct submission *submission)
{
	inject->ops->submit(inject, submission);
}

static inline void inject_stop(struct inject *inject)
{
	inject->stopping = true;
	inject->ops->stop(inject);
}

static inline void inject_free(struct inject *inject)
{
	if (inject)
		inject->ops->free(inject);
}

/* The injector that the settings choose. conf must last as long as it. */
struct inject *inject_new(struct event_base *base, const struct conf *conf);

/* Submission by SMTP over conf->submission.smtp_server, in at most
 * conf->submission.sessions sessions at once; more messages wait. While the
 * server takes no connections, one after the other is tried in growing pauses,
 * and messages wait until their time is up (conf->submission.timeout_ms). One
 * whose session is lost is tried again in a new one, a few times, when Postfix
 * surely has not got it. */
struct inject *inject_smtp_new(struct event_base *base, const struct conf *conf);

/* The same over sendmail(1) -bs, with at most conf->submission.processes of
 * these, each for a session. */
struct inject *inject_sendmail_new(struct event_base *base, const struct conf *conf);

/* Whether there are the programs and files that the settings name, and this
 * user may use them; else every email would fail. Whether Postfix runs does not
 * matter. ERR_CONFIG names the setting. For start and reload: looks at files. */
int inject_settings_check(const struct conf *conf, struct err *err);

/*
 * For implementations: the answer, and the queue of submissions that wait until
 * they can be served. Companies take turns, so that a thousand emails of one
 * hold up those of another by one at a time; those of one company go in order.
 * A submission that has waited until its deadline gets INJECT_TEMPORARY.
 */

/* Calls done; err as in struct inject_answer. */
void inject_answer(const struct inject *inject, struct submission *submission,
	enum inject_result result, const struct err *err);
/* The same for INJECT_TEMPORARY with another obstacle than Postfix's word. */
void inject_answer_obstacle(const struct inject *inject, struct submission *submission,
	enum inject_obstacle obstacle, const struct err *err);

/* How much of its time is left; at least 1. */
int64_t inject_left_ms(const struct submission *submission);

struct inject_queue;

/* serve is called in a round of the event loop of its own after something was
 * added or the queue was woken: then the injector takes what it can serve. */
struct inject_queue *inject_queue_new(
	struct event_base *base, struct inject *inject, void (*serve)(struct inject *inject));
/* Nothing waits any more. */
void inject_queue_free(struct inject_queue *queue);

/* Behind those of its company: for its turn it waits so long at most, and so long
 * for an answer. */
void inject_queue_add(
	struct inject_queue *queue, struct submission *submission, int64_t timeout_ms);
/* Back to the head of all, with the deadline that it has. */
void inject_queue_add_again(struct inject_queue *queue, struct submission *submission);

/* Why nothing is served now, for those whose time is up; NULL: they only waited
 * for their turn. */
void inject_queue_set_cause(struct inject_queue *queue, const struct err *err);

/* The next; NULL when none waits. */
struct submission *inject_queue_next(const struct inject_queue *queue);
/* The same, which then waits no longer. */
struct submission *inject_queue_take(struct inject_queue *queue);

/* There is room: serve will be called. */
void inject_queue_wake(struct inject_queue *queue);

/* The server is stopping: what waits, or is added from now on, has no turn. */
void inject_queue_stop(struct inject_queue *queue);

#endif
