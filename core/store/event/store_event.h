/*
 * store_event: the events of emails, recipient by recipient.
 *
 * event_writer stores them; this file reads them. schema/README.md describes the tables.
 */
#ifndef POSTERN_STORE_STORE_EVENT_H
#define POSTERN_STORE_STORE_EVENT_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/event/delivery_status.h"

enum { EVENT_KEY_LEN = 16 };

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
	/* Members of the email. Only store_event_page() and store_event_get() set these. */
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

#endif
