/*
 * store_event: what became of emails, recipient by recipient, and the messages
 * in Postfix's queue that carry them.
 *
 * store_fact stores them; here is how they are read, and what is known of the
 * log and the queue. schema/README.md has the tables.
 */
#ifndef POSTERN_STORE_STORE_EVENT_H
#define POSTERN_STORE_STORE_EVENT_H

#include "core/base/id.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/row.h"
#include "core/store/store_fate.h"

enum { EVENT_KEY_LEN = 16, EVENT_ANY_RECIPIENT = -1 };

/* How a message in the queue came to carry an email. */
enum hop_how {
	HOP_MILTER,    /* the milter recorded it */
	HOP_FORWARDED, /* local(8) made it, for an alias */
	HOP_QUEUED_AS, /* a content filter gave it back by SMTP */
	HOP_ORIG_ID,   /* requeued */
	HOP_MESSAGE_ID, /* it has the email's Message-ID: from a filter by pipe */
};

/* A message in the queue. */
struct hop {
	char *queue_id;
	int64_t since_us;
	int64_t email; /* its seq */
	int64_t n;     /* its one recipient, or EVENT_ANY_RECIPIENT */
	char *parent;  /* queue id; NULL */
	enum hop_how how;
	int64_t closed_us; /* when it left the queue, 0: not yet */
	bool is_new;       /* this look-up was the first that found it */
};
void hop_clear(struct hop *hop);

/* The message that had the queue id at that time: 1, 0, -1. Ids come back. now:
 * that is the present, so one that was recorded later counts, too: the clock
 * has been set back since. A message that the milter has recorded gets its row
 * by this. */
int store_hop_find(struct db *db, const char *queue_id, int64_t time_us,
	bool now, struct hop *hop_r, struct err *err);
/* Adds one, or says more about the one that is there: how and whose it is. */
int store_hop_add(struct db *db, const struct hop *hop, struct err *err);
int store_hop_close(
	struct db *db, const struct hop *hop, int64_t time_us, struct err *err);
/* The email with this Message-ID that is in the queue at that time, or of whose
 * message nothing was heard yet: 1 and its newest message, 0, -1. */
int store_hop_of_message_id(struct db *db, const char *message_id,
	int64_t time_us, struct hop *hop_r, struct err *err);
/* Whether it gave the email, not before from_us, to a program that gave it back
 * as another message, of which its Message-ID alone tells: 1, 0, -1. */
int store_hop_is_filtered(
	struct db *db, const struct hop *hop, int64_t from_us, struct err *err);
/* Whether no other message carries the email: 1, 0, -1. */
int store_hop_is_alone(struct db *db, const struct hop *hop, struct err *err);
/* Whether all messages of the email have left the queue, and none but its
 * Message-ID connected them: 1, 0, -1. */
int store_hop_is_last(struct db *db, const struct hop *hop, struct err *err);

/* All messages of an email, the oldest first. */
struct hop_list {
	struct hop *items;
	size_t n;
};
int store_hops_of_email(
	struct db *db, int64_t email, struct hop_list *list_r, struct err *err);
void store_hop_list_free(struct hop_list *list);
const char *hop_how_name(enum hop_how how);

struct email_event {
	int64_t seq;
	char id[ID_SIZE]; /* public: the key as a UUID */
	char email_id[ID_SIZE];
	int64_t n;
	char *recipient; /* its address */
	char *domain;
	enum fact kind;
	int64_t attempt; /* 1: the first */
	int64_t occurred_us;
	int64_t recorded_us;
	char *address; /* NULL: recipient */
	char *relay;
	char *dsn;
	char *text;
	char *source;
	/* Of the email, by store_event_page() alone. */
	char *message_id;
	char *sender;
	char *from;
	char *to; /* the first ones in the header, with commas between */
	char *subject;
	char *tags; /* JSON, as struct email has it, and so are */
	char *variables;
};
struct event_list {
	struct email_event *items;
	size_t n;
	bool more;
	int64_t looked_seq; /* of store_event_page(): it has looked at
			     * EVENT_PAGE_MAX events, up to this one, before the
			     * list was full; 0: at all of them */
};
void store_event_list_free(struct event_list *list);

/* All of one email, in order. */
int store_event_of_email(struct db *db, int64_t email,
	struct event_list *list_r, struct err *err);

/* The next ones behind after_seq, so many at most, of all emails or of the one
 * with this seq (0: all). */
int store_event_after(struct db *db, int64_t after_seq, int64_t email,
	int limit, struct event_list *list_r, struct err *err);
/* The seq of the newest, 0 without any. */
int store_event_newest(struct db *db, int64_t *seq_r, struct err *err);

/* The same in pages, oldest first: so many behind the event with this public
 * id, "" for the first. 1, 0 when the email has no such event, -1. */
int store_event_page_of_email(struct db *db, int64_t email, const char *after,
	int limit, struct event_list *list_r, struct err *err);

/* A page of the events of a company's domain. An email fits a filter when it
 * fits one of the texts in its array (JSON); NULL: any email does. Letter case
 * of ASCII is ignored but in a Message-ID. */
struct event_filter {
	const char *domain;
	const char *company_id;  /* NULL: of any */
	const char *recipients;  /* addresses: the event's */
	const char *to;          /* a recipient of the email */
	const char *senders;     /* address, or a part of the From field */
	const char *subjects;    /* a part */
	const char *tags;        /* see struct email_filter */
	const char *message_ids; /* without angle brackets */
	unsigned kinds;          /* of 1 << enum fact; 0: all */
	int64_t begin_us;        /* of recorded_us; inclusive */
	int64_t end_us;          /* likewise; 0: no end */
	bool ascending;
	int64_t after_seq; /* continues behind this one, in the direction of the
			    * list; 0: from its start */
	int limit;
};
/* How many events it looks at; more of them, with after_seq. */
enum { EVENT_PAGE_MAX = 5000 };
int store_event_page(struct db *db, const struct event_filter *filter,
	struct event_list *list_r, struct err *err);

/* How many events of a kind occurred in a time. They are counted by the hour,
 * also those that have been removed since. */
struct event_count {
	int64_t time_us; /* the begin of the step, in UTC; 0 by domain */
	char *domain;    /* by domain; else NULL */
	enum fact kind;
	int64_t count; /* over 0 */
};
struct event_counts {
	struct event_count *items; /* in the order of time_us, or by domain */
	size_t n;
};
struct event_count_filter {
	const char *company_id; /* NULL: of any */
	const char *domain;     /* NULL: of any */
	int64_t begin_us; /* of occurred_us; the hours that begin from then
			   * on and before the end */
	int64_t end_us;
	int64_t step_us; /* an hour, or a day */
	bool by_domain;  /* of the whole time for each domain instead */
};
/* A kind that has none in a step has no item there. */
int store_event_counts(struct db *db, const struct event_count_filter *filter,
	struct event_counts *counts_r, struct err *err);
void store_event_counts_free(struct event_counts *counts);

/* How many emails the milter refused in a time, for whoever is not told by an
 * event: the newest REFUSED_COUNT_MAX of them. */
enum { REFUSED_COUNT_MAX = 20000 };
struct refused_count {
	int64_t time_us; /* as in struct event_count */
	char *domain;
	int64_t count;
};
struct refused_counts {
	struct refused_count *items;
	size_t n;
};
int store_refused_counts(struct db *db, const struct event_count_filter *filter,
	struct refused_counts *counts_r, struct err *err);
void store_refused_counts_free(struct refused_counts *counts);

/* How far the log of a source was read: 1 and the position, which the caller
 * frees, 0, -1. Set it in the transaction that stores what was read. */
int store_log_cursor(
	struct db *db, const char *source, char **position_r, struct err *err);
int store_log_cursor_set(struct db *db, const char *source,
	const char *position, int64_t now_us, struct err *err);

/* How the reading of the log goes. */
struct log_state {
	int64_t read_us; /* when its position was moved last; 0: never */
	int64_t gaps;    /* those that are not repaired yet */
};
int store_log_state(struct db *db, struct log_state *state_r, struct err *err);
/* Whether the log told nothing of an email that Postfix has had since from_us
 * or later, and before to_us, among the newest that are not at their end or of
 * which the queue told that they are gone: 1 and since when Postfix has it, 0,
 * -1. */
int store_log_silence(struct db *db, int64_t from_us, int64_t to_us,
	int64_t *since_us_r, struct err *err);

/* Lines may be missing since from_us. One of the same kind that is not repaired
 * yet is made longer. */
int store_gap_add(struct db *db, const char *source, const char *why,
	int64_t from_us, int64_t to_us, struct err *err);
/* Those that are open now; the queue was compared. How many, or -1. */
int store_gap_repaired(struct db *db, int64_t now_us, struct err *err);

/* Recipients of which more is to come, oldest email first. */
struct open_recipient {
	int64_t email;
	int64_t n;
	int64_t decided_us;
	enum fate fate;
	char *queue_id; /* the milter's */
	char *address;
	int64_t seen; /* 1: the log has told of the message */
};
struct open_recipients {
	struct open_recipient *items;
	size_t n;
};
/* Of emails that were sent from from_us on and before to_us. */
int store_open_recipients(struct db *db, int64_t from_us, int64_t to_us,
	int limit, struct open_recipients *open_r, struct err *err);
void store_open_recipients_free(struct open_recipients *open);

#endif
