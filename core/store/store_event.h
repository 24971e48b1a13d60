/*
 * store_event: the events of emails, recipient by recipient, and the messages in Postfix's queue
 * that carry the emails.
 *
 * delivery_writer stores them. This file reads them, and keeps the state of the log and the queue.
 * schema/README.md describes the tables.
 */
#ifndef POSTERN_STORE_STORE_EVENT_H
#define POSTERN_STORE_STORE_EVENT_H

#include "core/base/id.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/row.h"
#include "core/store/delivery_status.h"

enum { EVENT_KEY_LEN = 16, EVENT_ANY_RECIPIENT = -1 };

/* How a queue message came to carry an email. */
enum message_how {
	MESSAGE_RECORDED,   /* the milter recorded it */
	MESSAGE_FORWARDED,  /* local(8) created it, for an alias */
	MESSAGE_QUEUED_AS,  /* a content filter returned it by SMTP */
	MESSAGE_REQUEUED,   /* requeued by an admin (postsuper -r) */
	MESSAGE_GIVEN_BACK, /* it has the email's Message-ID: returned by a pipe filter */
};

/* A queue message. */
struct queue_message {
	char *queue_id;
	int64_t since_us;
	int64_t email; /* its seq */
	int64_t n;     /* its only recipient, or EVENT_ANY_RECIPIENT */
	char *parent;  /* queue id; NULL */
	/* Number of addresses it is delivered to; 0: as many as the email has recipients, or
	 * unknown. */
	int64_t recipients;
	enum message_how how;
	int64_t closed_us; /* when it left the queue, 0: not yet */
	bool has_end;
	/* With has_end, the end of all open deliveries: expired, removed, discarded. */
	enum delivery_status ended;
	int64_t ended_us;
	bool is_new; /* the milter recorded it, and it has no row yet */
};
void queue_message_clear(struct queue_message *message);

/* Finds the message that had the queue id at that time; Postfix reuses queue ids. If there is none,
 * one that was recorded up to ahead_us later is accepted, in case a clock was set back. Returns 1,
 * 0 if there is none, -1 on error. */
int store_message_find(struct db *db, const char *queue_id, int64_t time_us, int64_t ahead_us,
	struct queue_message *message_r, struct err *err);
/* Adds a message, or updates how and whose it is. Returns 0 or -1. */
int store_message_add(struct db *db, const struct queue_message *message, struct err *err);
int store_message_close(
	struct db *db, const struct queue_message *message, int64_t time_us, struct err *err);
/* Stores the end of all open deliveries. Returns 0 or -1. */
int store_message_end(struct db *db, const struct queue_message *message,
	enum delivery_status ended, int64_t time_us, struct err *err);
/* Stores the number of addresses that it is delivered to. Returns 0 or -1. */
int store_message_expect(struct db *db, const struct queue_message *message, struct err *err);
/* Lists the emails with this Message-ID, newest first, up to MESSAGE_EMAILS_MAX, except those that
 * Postfix has had for longer than a message may stay in its queue. Returns their number, or -1. */
enum { MESSAGE_EMAILS_MAX = 4 };
int store_message_emails(struct db *db, const char *message_id, int64_t time_us, int64_t ahead_us,
	int64_t emails_r[static MESSAGE_EMAILS_MAX], struct err *err);

/* Adds a queue message that is known by its ticket, because Postfix has not asked the milter about
 * it. */
int store_ticket_message_add(
	struct db *db, const char *queue_id, int64_t since_us, int64_t email, struct err *err);
/* It left the queue so, or expired. */
int store_ticket_message_end(
	struct db *db, const char *queue_id, int64_t time_us, bool left, struct err *err);
/* Counts the emails of a company (NULL: of all) that ended so since since_us. Returns 0 or -1. */
struct ticket_ends {
	int64_t left;
	int64_t expired;
};
int store_ticket_ends(struct db *db, const char *company_id, int64_t since_us,
	struct ticket_ends *ends_r, struct err *err);
/* Finds the ticket of the email of a queue message; the caller frees it. Returns 1, 0 if there is
 * none, -1 on error. */
int store_ticket_message_find(
	struct db *db, const char *queue_id, int64_t time_us, char **ticket_r, struct err *err);

/* All messages of an email, oldest first. */
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
	char id[ID_SIZE]; /* the public id: the key as a UUID */
	char email_id[ID_SIZE];
	int64_t n;
	char *recipient;
	char *domain;
	enum event_kind kind;
	int64_t attempt; /* counts from 1 */
	int64_t occurred_us;
	int64_t recorded_us;
	char *address; /* NULL: the recipient's */
	char *relay;
	char *dsn;
	char *text;
	char *source;
	/* Of the email; only store_event_page() and store_event_get() set these. */
	char *message_id;
	char *sender;
	char *from;
	char *to; /* the first addresses of the header, comma-separated */
	char *subject;
	char *tags; /* JSON, as in struct email; so is variables */
	char *variables;
	/* Only store_event_get() sets these. */
	char *to_all;     /* JSON: an array of all mailboxes of the header */
	int64_t email_us; /* when the email was accepted */
	bool is_first;    /* about the first recipient in the envelope */
	bool is_repeat;   /* an earlier event of this kind exists for the recipient */
	/* Only store_event_recent() sets these, and the subject. */
	char company_id[ID_SIZE];
	char *company_name; /* NULL: the company was removed */
	char *host;         /* whose Postfix has the email; "": there is one host */
};
struct event_list {
	struct email_event *items;
	size_t n;
	bool more;
	/* Set by store_event_page() and store_event_recent() if it stopped after EVENT_PAGE_MAX
	 * events before the list was full: the last one it looked at; 0: it looked at all. */
	int64_t looked_seq;
	/* Set by store_event_recent(): the newest event of the company when it looked, 0 if there
	 * is none. An ascending list goes no further. */
	int64_t newest_seq;
};
void store_event_list_free(struct event_list *list);

/* Lists all events of one email, in order. */
int store_event_of_email(struct db *db, int64_t email, struct event_list *list_r, struct err *err);

/* Lists up to limit events after after_seq, of all emails or of the one with this seq (0: all). */
int store_event_after(struct db *db, int64_t after_seq, int64_t email, int limit,
	struct event_list *list_r, struct err *err);
/* Reads the event with this seq, including the data of its email. Returns 1, 0 if there is none, -1
 * on error. */
int store_event_get(struct db *db, int64_t seq, struct email_event *event_r, struct err *err);
void store_event_clear(struct email_event *event);

/* Reads the seq of the newest event, 0 if there are none. Returns 0 or -1. */
int store_event_newest(struct db *db, int64_t *seq_r, struct err *err);

/* Lists up to limit events of an email, oldest first, after the event with this public id ("": from
 * the first). Returns 1, 0 if the email has no such event, -1 on error. */
int store_event_page_of_email(struct db *db, int64_t email, const char *after, int limit,
	struct event_list *list_r, struct err *err);

/* A filter for events of a company's domain. Each array (JSON) matches an email that fits one of
 * its texts; NULL matches any email. ASCII case is ignored, except in a Message-ID. */
struct event_filter {
	const char *domain;
	const char *company_id;
	const char *recipients;  /* addresses of the event's recipient */
	const char *to;          /* addresses of any recipient of the email */
	const char *senders;     /* an address, or a part of the From field */
	const char *subjects;    /* parts of the subject */
	const char *tags;        /* see struct email_filter */
	const char *message_ids; /* without angle brackets */
	unsigned kinds;          /* bits 1 << enum event_kind; 0: all */
	int64_t begin_us;        /* of recorded_us, inclusive */
	int64_t end_us;          /* of recorded_us, inclusive; 0: no end */
	bool ascending;
	/* Continues after this one, in the direction of the list; 0: from its start. */
	int64_t after_seq;
	int limit;
};
/* The number of events that one call looks at; after_seq continues. */
enum { EVENT_PAGE_MAX = 5000 };
/* The public form of a cursor. A seq would reveal how many events all companies have. */
struct event_cursor {
	char email_id[ID_SIZE]; /* "": from the start */
	char id[ID_SIZE];
	int64_t recorded_us;
};
/* Finds the after_seq for a filter whose direction, company and domain are set: the seq of the
 * cursor's event; or, if it was removed, one that skips no event of the same time. Returns 0 or
 * -1. */
int store_event_seq(struct db *db, const struct event_filter *filter,
	const struct event_cursor *cursor, int64_t *seq_r, struct err *err);
int store_event_page(struct db *db, const struct event_filter *filter, struct event_list *list_r,
	struct err *err);

/* Lists the events of a company, or of all (company_id is NULL), in the order in which they were
 * recorded. Of the filter it uses domain (NULL: any), company_id, recipients, kinds, ascending,
 * after_seq and limit. Returns 0 or -1. */
int store_event_recent(struct db *db, const struct event_filter *filter, struct event_list *list_r,
	struct err *err);
/* Converts a seq to the public form of a cursor, and back; company_id is NULL for any company.
 * Return 1, 0 if there is no such event, -1 on error. */
int store_event_cursor(struct db *db, int64_t seq, struct event_cursor *cursor_r, struct err *err);
int store_event_find(struct db *db, const char *company_id, const struct event_cursor *cursor,
	int64_t *seq_r, struct err *err);

/* Numbers of events by kind, and of emails that the milter refused. They are counted by the hour,
 * and include events that were removed since. */
struct event_count {
	int64_t time_us;      /* begin of the step, in UTC; 0 if by domain */
	char *domain;         /* set if by domain; else NULL */
	enum event_kind kind; /* or COUNTED_REFUSED */
	int64_t count;        /* over 0 */
};
struct event_counts {
	struct event_count *items; /* ordered by time_us, or by domain */
	size_t n;
	char *next; /* if by domain: `after` of the next page; NULL: this is the last */
};
struct event_count_filter {
	const char *company_id; /* NULL: any */
	const char *domain;     /* NULL: of any */
	/* Of occurred_us; the hours that begin at or after begin_us and before end_us. */
	int64_t begin_us;
	int64_t end_us;
	int64_t step_us; /* an hour, or a day */
	bool by_domain;  /* one total per domain instead of steps */
	/* For by_domain without a domain: a page of up to `limit` domains that have any counts,
	 * ordered by name, after this one; NULL: the first page. A domain without counts in the
	 * time has no item. */
	const char *after;
	int limit;
};
/* Counts of zero have no item. The cost depends on the hours and days and on the domains of the
 * page, not on the number of companies. Returns 0 or -1. */
int store_event_counts(struct db *db, const struct event_count_filter *filter,
	struct event_counts *counts_r, struct err *err);
void store_event_counts_free(struct event_counts *counts);

/* Counts by domain since since_us, for domains with more than two bounced or expired deliveries in
 * a day; up to limit domains, of the newest days those with the most. Returns 0 or -1. */
int store_event_bounces(struct db *db, const char *company_id, int64_t since_us, int limit,
	struct event_counts *counts_r, struct err *err);

/* Reads the position up to which the log of a source was read; the caller frees it. Returns 1, 0 if
 * there is none, -1 on error. _set belongs in the transaction that stores what was read; end:
 * nothing is left to read. */
int store_log_cursor(struct db *db, const char *source, char **position_r, struct err *err);
int store_log_cursor_set(struct db *db, const char *source, const char *position, int64_t now_us,
	bool end, struct err *err);

enum {
	/* the end of the log is noted this often, even when nothing was read */
	STORE_LOG_END_S = 30,
	STORE_LOG_OLD_S = 120, /* after that the state is out of date */
};

/* The progress of reading the log. */
struct log_state {
	int64_t read_us; /* when the position was last stored; 0: never */
	/* When the end of the log was last reached; 0: never. The store's knowledge is as old as
	 * that. */
	int64_t end_us;
	int64_t gaps; /* not repaired yet */
	/* Since when the log is read but does not mention messages that Postfix has accepted; 0: it
	 * does. */
	int64_t mute_us;
};
/* Of the log of a host; NULL or "": this one. Returns 0 or -1. */
int store_log_state(struct db *db, const char *host, struct log_state *state_r, struct err *err);
/* True if the store's knowledge of recipients is up to date, within STORE_LOG_OLD_S. */
bool log_state_is_current(const struct log_state *state, int64_t now_us);
/* Finds an email that Postfix has had since between from_us and to_us and that the log has never
 * mentioned, among the newest unfinished ones and those that the queue listing found gone. Returns
 * 1 and since when Postfix has it, 0 if there is none, -1 on error. */
int store_log_silence(
	struct db *db, int64_t from_us, int64_t to_us, int64_t *since_us_r, struct err *err);

/* Records that lines may be missing from from_us to to_us. An open gap of the same kind is
 * extended. Returns 0 or -1. */
int store_gap_add(struct db *db, const char *source, const char *why, int64_t from_us,
	int64_t to_us, struct err *err);
/* Closes all open gaps after a comparison with the queue. Returns how many, or -1. */
int store_gap_repaired(struct db *db, int64_t now_us, struct err *err);

/* Recipients without a final status, oldest email first. */
struct open_recipient {
	int64_t email;
	int64_t n;
	int64_t decided_us;
	enum delivery_status status;
	char *queue_id; /* recorded by the milter */
	char *address;
	int64_t seen; /* 1: the log has mentioned the message */
};
struct open_recipients {
	struct open_recipient *items;
	size_t n;
};
/* Of emails sent at or after from_us and before to_us. */
int store_open_recipients(struct db *db, int64_t from_us, int64_t to_us, int limit,
	struct open_recipients *open_r, struct err *err);
/* Of emails that were staged and due before before_us, about which the milter has not decided, that
 * nothing has stopped and that are not in the outbox, which would submit them again. decided_us is
 * when they were staged, queue_id their ticket. */
int store_staged_recipients(struct db *db, int64_t before_us, int limit,
	struct open_recipients *open_r, struct err *err);
void store_open_recipients_free(struct open_recipients *open);

#endif
