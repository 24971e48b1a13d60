/*
 * outbox_private: what the files of the outbox share.
 *
 *   outbox.c      the outbox as a whole: how full it is, its thread, start and stop
 *   batch.c       the emails of one request: staged, waited for, settled, answered
 *   dispatcher.c  attempts to hand an email to Postfix, and what follows from their outcomes
 *   feeder.c      starts attempts for emails that are due in the store
 *   in_hand.c     how much each company has in hand
 *   hosts.c       this host's heartbeat, and the outbox of a host that is lost
 *   journal.c     writes down what happened to emails that nobody waits for
 *
 * batch.c and feeder.c start attempts; the dispatcher knows neither. It tells whoever started an
 * attempt how it ended.
 *
 * Everything runs on the outbox's thread unless a comment says otherwise.
 */
#ifndef POSTERN_HTTPD_OUTBOX_PRIVATE_H
#define POSTERN_HTTPD_OUTBOX_PRIVATE_H

#include <pthread.h>

#include "core/store/outbox/store_outbox.h"
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
struct hosts;
struct journal;
struct log;

/* The bytes of messages in the outbox, in total and by company. Companies whose ids hash to the
 * same slot share a count. Any thread. */
enum { OUTBOX_COMPANIES = 4096 };
struct outbox_account {
	_Atomic int64_t bytes, emails;
	_Atomic int64_t by_company[OUTBOX_COMPANIES];
};

struct outbox {
	const struct worker_shared *shared;
	struct log *log;
	struct conf *conf;
	_Atomic int64_t max_bytes;  /* the setting, copied for other threads */
	_Atomic int64_t disk_room;  /* bytes of the disk that new emails may use */
	int64_t disk_look_us;       /* monotonic: when the disk is checked again */
	_Atomic int64_t refused_us; /* monotonic: when an email last found no room; 0: never */
	atomic_bool disk_full;      /* the disk is full, which was logged */
	atomic_bool no_inodes;      /* for files of large messages */
	atomic_bool withheld;       /* set by outbox_withhold() */
	/* Detects that the outbox's thread waits for the CPU longer than it runs. */
	struct {
		int fd; /* descriptor of the thread's schedstat file; -1 for none */
		int64_t look_us;
		int64_t ran_ns, waited_ns; /* until the last look */
		bool crowded;
		int64_t staged_us; /* when the last batch arrived that nobody waits for */
		size_t sessions;   /* enough to keep the cores busy */
		/* The company of the last attempt, and when two attempts in a row were of different
		 * companies. */
		char company_id[ID_SIZE];
		int64_t several_us;
	} cpu;
	struct outbox_hooks hooks;
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
	struct hosts *hosts;

	TAILQ_HEAD(, outbox_batch) waiting; /* batches whose requests wait */
	struct in_hand in_hand;             /* attempts that are being made */
	int64_t under_way;                  /* attempts, and emails that a batch watches */
	_Atomic int64_t to_start;           /* staged batches whose attempts have not started yet */
	atomic_bool cut_short;
	atomic_bool stopping; /* no worker runs any more */
	int64_t stopping_us;  /* since when; 0: it was not noticed yet */
	struct task reload;
	_Atomic(struct conf *) fresh;
};

static inline enum email_way outbox_way(const struct outbox *outbox)
{
	return outbox->inject->ops->verdict_first ? EMAIL_WAY_SMTP : EMAIL_WAY_SENDMAIL;
}

/* outbox.c */

/* The reason why emails are withheld. */
#define OUTBOX_WITHHELD_WORDS                                                                      \
	"Postfix does not ask postern-milter, and mail to postern.invalid would leave this host"

/* The reason shown for an email that was not tried because Postfix took none of the emails before
 * it. Postfix's own reply is not shown: it may name addresses of another company. */
#define OUTBOX_AWAY_WORDS "Postfix takes no mail now"

/* The handle from which the loop reads; NULL with err while the database server is known not to
 * answer: each statement would hold up the loop until its deadline. */
struct db *outbox_reads(struct outbox *outbox, struct err *err);

/* Sets how many sessions with Postfix may carry a message now, in total and of one company. */
void outbox_set_sessions(struct outbox *outbox);
/* Notes whose email is about to be submitted. */
void outbox_note_company(struct outbox *outbox, const char *company_id);

/* Count an email that another program added, and one that has left. Any thread. */
void outbox_account_join(struct outbox *outbox, const char *company_id, int64_t bytes);
void outbox_account_leave(struct outbox *outbox, const char *company_id, int64_t bytes);
/* Counts anew what the store has of this host. On the committer's thread, in a transaction: what is
 * being staged meanwhile may be counted wrongly. 0 or -1. */
int outbox_account_again(struct outbox *outbox, struct db *db, struct err *err);
/* Counts the emails of a request. ERR_TEMPORARY or ERR_SHARE if there is no room for them. Any
 * thread. */
int outbox_account_enter(struct outbox *outbox, const char *company_id, int64_t bytes,
	int64_t emails, struct err *err);

/* batch.c */

/* The request stops waiting: emails without an outcome are accepted. */
void outbox_end_wait(struct outbox_batch *batch);

/* dispatcher.c */

/* The result of an attempt. The strings are valid during the call. */
struct attempt_outcome {
	enum outbox_outcome outcome; /* SENT, REFUSED, REJECTED; ACCEPTED: it is tried again */
	const char *refusal;         /* with OUTBOX_REFUSED */
	const struct err *err;       /* with OUTBOX_REJECTED */
};

/* One attempt to hand an email to Postfix. Whoever has the email in hand makes it zeroed, fills in
 * the first part, and transfers ownership with dispatcher_start(). */
struct attempt {
	struct outbox *outbox;
	struct outbox_row row; /* the attempt owns its strings */
	bool from_store;       /* the feeder took it, see in_hand.h */
	struct buf own;        /* the message, unless another part owns it */
	const struct buf *message;
	/* Called once, unless NULL (nobody waits). Returns true if a request waits for the outcome;
	 * with OUTBOX_REJECTED that request then takes care of the row. */
	bool (*told)(void *arg, const struct attempt_outcome *outcome);
	/* Called once, last of all: the message is not needed any more. NULL is fine. */
	void (*released)(void *arg);
	void *arg;

	/* The dispatcher's. */
	bool in_hand; /* counted there */
	bool probes;  /* decides whether the circuit breaker closes */
	bool unknown; /* whether Postfix has the message, until the milter records it */
	char *recipient;
	struct submission submission;
	struct watched watched;
};

/* Makes the attempt now, or returns the email to the store if the breaker is open or too much is in
 * hand. In both cases told is called, perhaps before this returns. */
void dispatcher_start(struct attempt *attempt);

/* feeder.c */

struct feeder *feeder_new(struct outbox *outbox);
void feeder_free(struct feeder *feeder);
/* An email is no longer in hand: there may be room for others. */
void feeder_make_room(struct feeder *feeder);
/* An email is due at this time of the store's clock. */
void feeder_hint(struct feeder *feeder, int64_t due_us);
/* The maildrop has a message that the milter has not recorded in time. Until us from now, the email
 * leaves the outbox within a second or two of the record. */
void feeder_expect_record(struct feeder *feeder, int64_t us);
/* Call it often: takes what is due if there is room. */
void feeder_look(struct feeder *feeder);
bool feeder_is_idle(const struct feeder *feeder);

/* hosts.c */

struct hosts *hosts_new(struct outbox *outbox);
void hosts_free(struct hosts *hosts);
/* Call it often. Does nothing where only one host uses the database. */
void hosts_look(struct hosts *hosts);
bool hosts_is_idle(const struct hosts *hosts);

/* journal.c: each is written with one of the next commits, and again if that fails. */

struct journal *journal_new(struct outbox *outbox);
/* Drops what was not written. */
void journal_free(struct journal *journal);
/* The email leaves the outbox: Postfix has it, or the milter has refused it. */
void journal_remove(struct journal *journal, const struct outbox_row *row);
/* The attempt failed for now: the email is due again later. */
void journal_put_off(
	struct journal *journal, const struct outbox_row *row, const struct outbox_delay *delay);
/* No attempt was made, and perhaps the row is not in hand at all: if it is, it is due again in us
 * from now. */
void journal_give_back(
	struct journal *journal, const struct outbox_row *row, int64_t us, const char *reason);
void journal_fail(struct journal *journal, const struct outbox_row *row, const char *reason);
void journal_cancel(struct journal *journal, const struct outbox_row *row);
/* Postfix's queue was asked for the message. */
void journal_looked(struct journal *journal, const struct outbox_row *row, bool found);
/* Everything that was put off after a failed attempt is due now. */
void journal_hurry(struct journal *journal);
void journal_breaker_opened(struct journal *journal, enum breaker_cause cause, const char *reason);
void journal_breaker_closed(struct journal *journal);
/* Call it often. */
void journal_look(struct journal *journal);
bool journal_is_empty(const struct journal *journal);

#endif
