/*
 * inject: submits a finished message to the local Postfix.
 *
 * This is the seam between httpd and the ways into Postfix's queue. An injector
 * belongs to one event base. submit and done run on that loop's thread, and
 * done is never called from within submit.
 *
 * The submitter owns a submission, and keeps it and the message unchanged until
 * done. The injector does not use it after that. Every submission gets exactly
 * one done.
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
	INJECT_REJECTED,  /* Postfix refused it for good (5xx); not queued */
	INJECT_TEMPORARY, /* Postfix cannot take it now; not queued */
	INJECT_UNKNOWN,   /* may have been queued or not */
};

/* The reason for INJECT_TEMPORARY. */
enum inject_obstacle {
	INJECT_PUT_OFF, /* Postfix answered so */
	INJECT_AWAY,    /* no session could be opened, or it was lost */
	INJECT_NO_TURN, /* all sessions were busy: Postfix was not asked */
};

/* The outcome of a submission. */
struct inject_answer {
	enum inject_result result;
	/* As in the ops. True: the milter decided before Postfix answered, or
	 * not at all. What the store says of the message is then final. But
	 * without INJECT_QUEUED a record does not prove that the message is in
	 * the queue, and nothing of it waits anywhere to be presented to the
	 * milter again. False: the milter decides on what is queued. A record
	 * will come, and is proof whatever the result. */
	bool verdict_first;
	enum inject_obstacle obstacle;
	const struct err *err; /* why, unless result is INJECT_QUEUED */
};

struct submission {
	const char *sender;        /* envelope sender, no <> */
	const char *recipient;     /* the only envelope recipient, no <> */
	const struct buf *message; /* complete; lines end in LF */
	const char *company_id;    /* the company whose turn it uses */
	bool utf8;                 /* some final recipient is not ASCII: needs SMTPUTF8 */
	/* Use a new session for this message alone. An open session may use
	 * Postfix's settings from before a reload. And while it lasts,
	 * master(8) may count its smtpd, which was started just before the
	 * reload, as a free one, and keep other clients waiting. */
	bool fresh;
	/* Answer at once with INJECT_AWAY while Postfix is away, instead of
	 * waiting. */
	bool prompt;
	/* answer is valid during the call only. */
	void (*done)(struct submission *submission, const struct inject_answer *answer);
	/* The injector uses what follows. deadline_us: first of the wait for a
	 * turn; once taken, of the wait for an answer. */
	int64_t deadline_us;
	int64_t timeout_ms; /* how long each of these waits may last */
	bool taken;
	unsigned tries; /* attempts that ended without an answer */
	TAILQ_ENTRY(submission) by_deadline, by_turn;
};

struct inject;

/* The functions of an implementation. */
struct inject_ops {
	/* Postfix accepts a message only after the milter has recorded its
	 * verdict: see struct inject_answer. */
	bool verdict_first;
	void (*submit)(struct inject *inject, struct submission *submission);
	/* Answers what is being submitted with INJECT_UNKNOWN or
	 * INJECT_TEMPORARY, and what waits or is submitted later with
	 * INJECT_TEMPORARY. */
	void (*stop)(struct inject *inject);
	/* Frees it. No submission may be under way or waiting. */
	void (*free)(struct inject *inject);
};

/* The first member of each implementation. */
struct inject {
	const struct inject_ops *ops;
	bool stopping; /* inject_stop() was called */
	/* The maximum of sessions with a message at the same time; 0 means no
	 * such limit. The owner may change it at any time. */
	size_t busy_max;
	/* The most messages of one company at a time. */
	size_t company_max;
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

/* Makes the injector that the settings choose. conf must outlive it. */
struct inject *inject_new(struct event_base *base, const struct conf *conf);

/* Submits by SMTP to conf->submission.smtp_server, in at most
 * conf->submission.sessions sessions; more messages wait. While the server
 * accepts no connections, one message at a time tries, with exponential
 * backoff, and the others wait until their timeout
 * (conf->submission.timeout_ms). A message whose session is lost is tried again
 * in a new one, a few times, if Postfix surely does not have it. */
struct inject *inject_smtp_new(struct event_base *base, const struct conf *conf);

/* Submits by sendmail(1) -bs: one process for each session, at most conf->submission.processes. */
struct inject *inject_sendmail_new(struct event_base *base, const struct conf *conf);

/* Checks that the programs and files named by the settings exist and this user
 * may use them; otherwise every email would fail. Postfix need not run. Returns
 * 0, or -1 with ERR_CONFIG, which names the setting. Blocking file system
 * calls: for start and reload. */
int inject_settings_check(const struct conf *conf, struct err *err);

/*
 * For implementations: the answer, and the queue of submissions that wait.
 * Companies take turns, so a thousand emails of one delay those of another by
 * one at a time; those of one company go in order (FIFO). A submission that
 * waits past its deadline gets INJECT_TEMPORARY.
 */

/* Calls done. err is as in struct inject_answer. */
void inject_answer(const struct inject *inject, struct submission *submission,
	enum inject_result result, const struct err *err);
/* Answers with INJECT_TEMPORARY and an obstacle other than INJECT_PUT_OFF. */
void inject_answer_obstacle(const struct inject *inject, struct submission *submission,
	enum inject_obstacle obstacle, const struct err *err);

/* The time until its deadline; at least 1. */
int64_t inject_left_ms(const struct submission *submission);

struct inject_queue;

/* The event loop calls serve after something was added or the queue was woken,
 * not from within these calls. The injector then takes what it can serve.
 * may_start tells if a company may have one more; those that may not are passed
 * over, and keep their turn. */
struct inject_queue *inject_queue_new(struct event_base *base, struct inject *inject,
	void (*serve)(struct inject *inject),
	bool (*may_start)(const struct inject *inject, const char *company_id));
/* Nothing may wait any more. */
void inject_queue_free(struct inject_queue *queue);

/* Adds it behind the others of its company. timeout_ms bounds the wait for its
 * turn, and then again the wait for an answer. */
void inject_queue_add(
	struct inject_queue *queue, struct submission *submission, int64_t timeout_ms);
/* Puts it back at the head of the queue. It keeps its deadline. */
void inject_queue_add_again(struct inject_queue *queue, struct submission *submission);

/* Sets why nothing is served now, for the answer to those that time out. NULL:
 * they only waited for their turn. */
void inject_queue_set_cause(struct inject_queue *queue, const struct err *err);

/* The next submission of a company that may start one; NULL if there is none. */
struct submission *inject_queue_next(const struct inject_queue *queue);
/* Removes the next submission from the queue and returns it, or NULL. */
struct submission *inject_queue_take(struct inject_queue *queue);

/* Has serve called, because there is room again. */
void inject_queue_wake(struct inject_queue *queue);

/* The server is stopping: what waits or is added later is answered with
 * INJECT_NO_TURN. */
void inject_queue_stop(struct inject_queue *queue);

#endif
