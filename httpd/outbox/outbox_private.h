/*
 * outbox_private: what the files of the outbox share.
 *
 *   outbox.c      what it holds, and its thread
 *   batch.c       the emails of a request: staged, settled, answered
 *   dispatcher.c  parcels: submitted, and what comes of that
 *   feeder.c      what is due in the store becomes parcels
 *   in_hand.c     how much of each company is in hand
 *   journal.c     what is to be written down of emails that nobody waits for
 *
 * All runs on the outbox's thread where it is not said otherwise.
 */
#ifndef POSTERN_HTTPD_OUTBOX_PRIVATE_H
#define POSTERN_HTTPD_OUTBOX_PRIVATE_H

#include <pthread.h>

#include "core/store/store_outbox.h"
#include "httpd/inject/inject.h"
#include "httpd/outbox/breaker.h"
#include "httpd/outbox/in_hand.h"
#include "httpd/outbox/outbox.h"
#include "httpd/outbox/record_watch.h"
#include "httpd/worker/work_pool.h"

struct db;
struct event;
struct event_base;
struct feeder;
struct journal;
struct log;
struct probe_report;

/* An email in hand: on its way into Postfix, or, with a watch alone, waited for. */
struct parcel {
	struct outbox *outbox;
	struct outbox_row row;
	bool in_hand; /* it is counted there: it is to be submitted */
	bool fed;     /* the feeder took it from the store */
	/* Both as it came in a batch, which holds the message as long; NULL: it was
	 * read from the store, and holds it itself. */
	struct outbox_batch *batch;
	struct outbox_mail *mail;
	bool awaited; /* the batch is to be told its outcome */
	struct buf own;
	char *recipient; /* of the envelope: the ticket's address */
	bool probes;     /* whether Postfix is back */
	bool unknown;    /* whether Postfix has it, until the milter says so */
	struct submission submission;
	struct watched watched;
};

/* How many bytes of the outbox each company has; companies whose ids fall together
 * count as one. Any thread. */
enum { OUTBOX_COMPANIES = 4096 };
struct outbox_account {
	_Atomic int64_t bytes, emails;
	_Atomic int64_t by_company[OUTBOX_COMPANIES];
};

struct outbox {
	const struct worker_shared *shared;
	struct log *log;
	struct conf *conf;
	_Atomic int64_t max_bytes;  /* of conf, for other threads */
	_Atomic int64_t disk_room;  /* bytes that new emails may take of the disk */
	int64_t disk_look_us;       /* monotonic: when it is looked at again */
	_Atomic int64_t refused_us; /* monotonic: the last email that found no room in it; 0 */
	atomic_bool disk_full;      /* and it was logged */
	/* Whether the outbox's thread waits longer for the CPU than it has it. */
	struct {
		int fd; /* of its schedstat; -1: there is none */
		int64_t look_us;
		int64_t ran_ns, waited_ns; /* until the last look */
		bool crowded;
		int64_t staged_us; /* when a batch came last that nobody waits for */
		size_t sessions;   /* that keep the cores busy */
	} cpu;
	void (*recorded)(struct probe_report *report);
	struct worker_counts *counts;
	struct outbox_account account;

	pthread_t thread;
	bool running;
	struct event_base *base;
	struct task_queue *tasks;
	struct event *janitor;
	struct db *db; /* for reading */
	struct inject *inject;
	struct record_watch *watch;
	struct breaker breaker;
	struct feeder *feeder;
	struct journal *journal;

	TAILQ_HEAD(, outbox_batch) waiting; /* with requests that wait */
	struct in_hand in_hand;             /* parcels that are to be submitted */
	int64_t parcels;                    /* all */
	_Atomic int64_t to_begin;           /* batches that are staged and have no parcels yet */
	atomic_bool cut_short;
	atomic_bool stopping; /* no worker runs any more */
	int64_t stopping_us;  /* since when; 0: it was not seen yet */
	struct task reload;
	_Atomic(struct conf *) fresh;
};

static inline enum email_way outbox_way(const struct outbox *outbox)
{
	return outbox->inject->ops->verdict_first ? EMAIL_WAY_SMTP : EMAIL_WAY_SENDMAIL;
}

/* outbox.c */

/* Lets as many sessions have a message as is good now. */
void outbox_set_sessions(struct outbox *outbox);

/* An email that was put there by others is counted from now on; one has left the outbox. */
void outbox_account_join(struct outbox *outbox, const char *company_id, int64_t bytes);
void outbox_account_leave(struct outbox *outbox, const char *company_id, int64_t bytes);
/* Emails of a request are counted from now on; ERR_TEMPORARY: there is no room for them. Any
 * thread. */
int outbox_account_enter(struct outbox *outbox, const char *company_id, int64_t bytes,
	int64_t emails, struct err *err);

/* batch.c */

/* The mail of the parcel has this outcome, if anybody waits for it. */
void outbox_tell(struct parcel *parcel, enum outbox_outcome outcome);
/* Nobody waits any longer for what has no outcome: it is accepted. */
void outbox_end_wait(struct outbox_batch *batch);

/* dispatcher.c */

/* Submits the parcel, which is the dispatcher's from now on; or lets it go, when its
 * turn has not come. */
void dispatcher_begin(struct parcel *parcel);
/* Waits for what becomes of an email that is on its way already. */
void dispatcher_wait(struct parcel *parcel);
void parcel_free(struct parcel *parcel);

/* feeder.c */

struct feeder *feeder_new(struct outbox *outbox);
void feeder_free(struct feeder *feeder);
/* A parcel is out of hand: there may be room for others. */
void feeder_left(struct feeder *feeder);
/* Something is due then, by the clock of the store. */
void feeder_hint(struct feeder *feeder, int64_t due_us);
/* To be called often: takes what is due, when there is room. */
void feeder_look(struct feeder *feeder);
bool feeder_is_idle(const struct feeder *feeder);

/* journal.c: written down with the next commit, and again should that fail. */

struct journal *journal_new(struct outbox *outbox);
/* What was not written is forgotten. */
void journal_free(struct journal *journal);
void journal_remove(struct journal *journal, const struct outbox_row *row);
void journal_put_off(
	struct journal *journal, const struct outbox_row *row, const struct outbox_delay *delay);
/* What the feeder took, perhaps in vain, is due again in us. */
void journal_give_back(
	struct journal *journal, const struct outbox_row *row, int64_t us, const char *reason);
void journal_fail(struct journal *journal, const struct outbox_row *row, const char *reason);
void journal_cancel(struct journal *journal, const struct outbox_row *row);
void journal_looked(struct journal *journal, const struct outbox_row *row, bool found);
/* What was put off for an attempt that failed is due now. */
void journal_hurry(struct journal *journal);
/* The circuit breaker has opened, or closed. */
void journal_break(struct journal *journal, enum breaker_cause cause, const char *words);
void journal_mend(struct journal *journal);
/* To be called often. */
void journal_look(struct journal *journal);
bool journal_is_empty(const struct journal *journal);

#endif
