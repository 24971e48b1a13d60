/*
 * store_event: what became of emails, recipient by recipient, and the messages
 * in Postfix's queue that carry them.
 *
 * delivery_writer stores them; here is how they are read, and what is known of the
 * log and the queue. schema/README.md has the tables.
 */
#ifndef POSTERN_STORE_STORE_EVENT_H
#define POSTERN_STORE_STORE_EVENT_H

#include "core/base/id.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/row.h"
#include "core/store/delivery_status.h"

enum { EVENT_KEY_LEN = 16, EVENT_ANY_RECIPIENT = -1 };

/* How a message in the queue came to carry an email. */
enum message_how {
	MESSAGE_RECORDED,   /* the milter recorded it */
	MESSAGE_FORWARDED,  /* local(8) made it, for an alias */
	MESSAGE_QUEUED_AS,  /* a content filter gave it back by SMTP */
	MESSAGE_REQUEUED,   /* requeued */
	MESSAGE_GIVEN_BACK, /* it has the email's Message-ID: from a filter by pipe */
};

/* A message in the queue. */
struct queue_message {
	char *queue_id;
	int64_t since_us;
	int64_t email;      /* its seq */
	int64_t n;          /* its one recipient, or EVENT_ANY_RECIPIENT */
	char *parent;       /* queue id; NULL */
	int64_t recipients; /* as many addresses it is delivered to; 0: as the
			     * email has recipients, or not known */
	enum message_how how;
	int64_t closed_us; /* when it left the queue, 0: not yet */
	bool has_end;
	enum delivery_status ended; /* with has_end, what became then of all that was still
				     * to be delivered: expired, removed, discarded */
	int64_t ended_us;
	bool is_new; /* this look-up was the first that found it */
};
void queue_message_clear(struct queue_message *message);

/* The message that had the queue id at that time: 1, 0, -1. Ids come back.
 * Where there is none, one that was recorded later by ahead_us at most counts,
 * too: a clock has been set back since. A message that the milter has recorded
 * gets its row by this. */
int store_message_find(struct db *db, const char *queue_id, int64_t time_us, int64_t ahead_us,
	struct queue_message *message_r, struct err *err);
/* Adds one, or says more about the one that is there: how and whose it is. */
int store_message_add(struct db *db, const struct queue_message *message, struct err *err);
int store_message_close(
	struct db *db, const struct queue_message *message, int64_t time_us, struct err *err);
/* Says what became of all that is still to be delivered. */
int store_message_end(struct db *db, const struct queue_message *message,
	enum delivery_status ended, int64_t time_us, struct err *err);
/* Says how many addresses it is delivered to. */
int store_message_expect(struct db *db, const struct queue_message *message, struct err *err);
/* The emails with this Message-ID that Postfix has had for no longer than a
 * message may be in its queue, the newest first, MESSAGE_EMAILS_MAX at most: how
 * many, -1. */
enum { MESSAGE_EMAILS_MAX = 4 };
int store_message_emails(struct db *db, const char *message_id, int64_t time_us, int64_t ahead_us,
	int64_t emails_r[static MESSAGE_EMAILS_MAX], struct err *err);

/* A queue message under its ticket, of which the milter was not asked. */
int store_ticket_message_add(
	struct db *db, const char *queue_id, int64_t since_us, int64_t email, struct err *err);
/* It left as it was, or expired. */
int store_ticket_message_end(
	struct db *db, const char *queue_id, int64_t time_us, bool left, struct err *err);
/* How many emails of a company, NULL: of any, came to such an end since then. */
struct ticket_ends {
	int64_t left;
	int64_t expired;
};
int store_ticket_ends(struct db *db, const char *company_id, int64_t since_us,
	struct ticket_ends *ends_r, struct err *err);
/* The ticket of the email whose message that is, which the caller frees: 1, 0,
 * -1. */
int store_ticket_message_find(
	struct db *db, const char *queue_id, int64_t time_us, char **ticket_r, struct err *err);

/* All messages of an email, the oldest first. */
struct queue_messages {
	struct queue_message *items;
	size_t n;
};
int store_messages_of_email(
	struct db *db, int64_t email, struct queue_messages *list_r, struct err *err);
void queue_messages_free(struct queue_messages *list);
const char *message_how_name(enum message_how how);

struct email_event {
	int64_t seq;
	char id[ID_SIZE]; /* public: the key as a UUID */
	char email_id[ID_SIZE];
	int64_t n;
	char *recipient; /* its address */
	char *domain;
	enum event_kind kind;
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
	/* By store_event_get() alone. */
	char *to_all;     /* JSON: an array of all of the header, names included */
	int64_t email_us; /* when the email was accepted */
	bool is_first;    /* it is of the first recipient in the envelope */
	bool is_repeat;   /* one of the kind was recorded for the recipient before */
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
int store_event_of_email(struct db *db, int64_t email, struct event_list *list_r, struct err *err);

/* The next ones behind after_seq, so many at most, of all emails or of the one
 * with this seq (0: all). */
int store_event_after(struct db *db, int64_t after_seq, int64_t email, int limit,
	struct event_list *list_r, struct err *err);
/* The one with this seq, with what it has of the email: 1, 0, -1. */
int store_event_get(struct db *db, int64_t seq, struct email_event *event_r, struct err *err);
void store_event_clear(struct email_event *event);

/* The seq of the newest, 0 without any. */
int store_event_newest(struct db *db, int64_t *seq_r, struct err *err);

/* The same in pages, oldest first: so many behind the event with this public
 * id, "" for the first. 1, 0 when the email has no such event, -1. */
int store_event_page_of_email(struct db *db, int64_t email, const char *after, int limit,
	struct event_list *list_r, struct err *err);

/* A page of the events of a company's domain. An email fits a filter when it
 * fits one of the texts in its array (JSON); NULL: any email does. Letter case
 * of ASCII is ignored but in a Message-ID. */
struct event_filter {
	const char *domain;
	const char *company_id;
	const char *recipients;  /* addresses: the event's */
	const char *to;          /* a recipient of the email */
	const char *senders;     /* address, or a part of the From field */
	const char *subjects;    /* a part */
	const char *tags;        /* see struct email_filter */
	const char *message_ids; /* without angle brackets */
	unsigned kinds;          /* of 1 << enum event_kind; 0: all */
	int64_t begin_us;        /* of recorded_us; inclusive */
	int64_t end_us;          /* likewise; 0: no end */
	bool ascending;
	int64_t after_seq; /* continues behind this one, in the direction of the
			    * list; 0: from its start */
	int limit;
};
/* How many events it looks at; more of them, with after_seq. */
enum { EVENT_PAGE_MAX = 5000 };
/* Where a page begins, as strangers may see it: a seq would tell how many
 * events all companies have had. */
struct event_cursor {
	char email_id[ID_SIZE]; /* "": at the start */
	char id[ID_SIZE];
	int64_t recorded_us;
};
/* The seq for after_seq of a filter, whose direction, company and domain are
 * given: that of the event; or, where it was removed since, one that leaves out
 * none of those of its time. 0 or -1. */
int store_event_seq(struct db *db, const struct event_filter *filter,
	const struct event_cursor *cursor, int64_t *seq_r, struct err *err);
int store_event_page(struct db *db, const struct event_filter *filter, struct event_list *list_r,
	struct err *err);

/* How many events of a kind occurred in a time, and how many emails the milter
 * refused. They are counted by the hour, also those that have been removed
 * since. */
struct event_count {
	int64_t time_us;      /* the begin of the step, in UTC; 0 by domain */
	char *domain;         /* by domain; else NULL */
	enum event_kind kind; /* or COUNTED_REFUSED */
	int64_t count;        /* over 0 */
};
struct event_counts {
	struct event_count *items; /* in the order of time_us, or by domain */
	size_t n;
	char *next; /* by domain: `after` of the next page; NULL: the last */
};
struct event_count_filter {
	const char *company_id; /* NULL: of any */
	const char *domain;     /* NULL: of any */
	int64_t begin_us;       /* of occurred_us; the hours that begin from then
				 * on and before the end */
	int64_t end_us;
	int64_t step_us; /* an hour, or a day */
	bool by_domain;  /* of the whole time for each domain instead */
	/* By domain, without a domain: a page of so many that were ever
	 * counted, in the order of their names behind this one; NULL: the
	 * first. Of those that have nothing in the time there is no item. */
	const char *after;
	int limit;
};
/* A kind that has none in a step has no item there. What it costs goes by the
 * hours and days and by the domains of the page, not by the companies. */
int store_event_counts(struct db *db, const struct event_count_filter *filter,
	struct event_counts *counts_r, struct err *err);
void store_event_counts_free(struct event_counts *counts);

/* By domain, of the hours from since_us on: those domains in which more than
 * two deliveries of a day bounced, or expired; at most limit of them, of the
 * newest days those with the most. */
int store_event_bounces(struct db *db, const char *company_id, int64_t since_us, int limit,
	struct event_counts *counts_r, struct err *err);

/* How far the log of a source was read: 1 and the position, which the caller
 * frees, 0, -1. Set it in the transaction that stores what was read; end:
 * nothing is left to read. */
int store_log_cursor(struct db *db, const char *source, char **position_r, struct err *err);
int store_log_cursor_set(struct db *db, const char *source, const char *position, int64_t now_us,
	bool end, struct err *err);

enum {
	/* So often the end of the log is noted, also when nothing was read. */
	STORE_LOG_END_S = 30,
	STORE_LOG_OLD_S = 120, /* from then on the news are old */
};

/* How the reading of the log goes. */
struct log_state {
	int64_t read_us; /* when its position was stored last; 0: never */
	/* When nothing was left to read, the last time; 0: never. The news that
	 * the store has are as old as that. */
	int64_t end_us;
	int64_t gaps; /* those that are not repaired yet */
	/* Since when it tells nothing of messages that Postfix has taken, though
	 * it is read; 0: it does. */
	int64_t mute_us;
};
int store_log_state(struct db *db, struct log_state *state_r, struct err *err);
/* Whether what the store knows of recipients is of now, more or less. */
bool log_state_is_current(const struct log_state *state, int64_t now_us);
/* Whether the log told nothing of an email that Postfix has had since from_us
 * or later, and before to_us, among the newest that are not at their end or of
 * which the queue told that they are gone: 1 and since when Postfix has it, 0,
 * -1. */
int store_log_silence(
	struct db *db, int64_t from_us, int64_t to_us, int64_t *since_us_r, struct err *err);

/* Lines may be missing since from_us. One of the same kind that is not repaired
 * yet is made longer. */
int store_gap_add(struct db *db, const char *source, const char *why, int64_t from_us,
	int64_t to_us, struct err *err);
/* Those that are open now; the queue was compared. How many, or -1. */
int store_gap_repaired(struct db *db, int64_t now_us, struct err *err);

/* Recipients of which more is to come, oldest email first. */
struct open_recipient {
	int64_t email;
	int64_t n;
	int64_t decided_us;
	enum delivery_status status;
	char *queue_id; /* the milter's */
	char *address;
	int64_t seen; /* 1: the log has told of the message */
};
struct open_recipients {
	struct open_recipient *items;
	size_t n;
};
/* Of emails that were sent from from_us on and before to_us. */
int store_open_recipients(struct db *db, int64_t from_us, int64_t to_us, int limit,
	struct open_recipients *open_r, struct err *err);
/* Those of emails that were staged, and due, before then, about which the milter
 * has not decided, which nobody has stopped, and which are not in the outbox, from
 * which they are submitted again. Of them decided_us is when they were staged, and
 * queue_id their ticket. */
int store_staged_recipients(struct db *db, int64_t before_us, int limit,
	struct open_recipients *open_r, struct err *err);
void store_open_recipients_free(struct open_recipients *open);

#endif
