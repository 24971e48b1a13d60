/*
 * store_webhook_event: what each endpoint is told, with the bytes that every attempt sends, and a
 * record of the attempts.
 *
 * Rows are added with the cursor in one transaction, so an endpoint gets an event once, whatever
 * stops postern-webhook. They go with the event that they tell of.
 */
#ifndef POSTERN_STORE_STORE_WEBHOOK_EVENT_H
#define POSTERN_STORE_STORE_WEBHOOK_EVENT_H

#include "core/db/db.h"
#include "core/store/row.h"
#include "core/store/store_webhook.h"

enum webhook_status {
	WEBHOOK_PENDING,    /* no attempt yet */
	WEBHOOK_ATTEMPTING, /* those so far failed, more will come */
	WEBHOOK_SUCCESS,
	WEBHOOK_FAILED,
	WEBHOOK_STATUSES
};

enum {
	WEBHOOK_EVENT_ID_SIZE = 4 + 27 + 1, /* msg_ and letters and digits */
	WEBHOOK_RESPONSE_MAX = 1024,
	WEBHOOK_REPLAY_DUE = 1, /* due_us of what is to be sent once more */
	WEBHOOK_REPLAY_MAX = 10000,
};

struct webhook_event {
	int64_t seq;
	char id[ID_SIZE]; /* as WEBHOOK_EVENT_ID_SIZE has it */
	char webhook_id[ID_SIZE];
	char *type; /* as the endpoint's list has it */
	char *body; /* JSON */
	enum webhook_status status;
	int64_t attempts;
	int64_t due_us;  /* of the next attempt; 0: there is none */
	int64_t then_us; /* after WEBHOOK_REPLAY_DUE */
	int64_t created_us;
};
extern const struct row_type store_webhook_event_type;
extern const struct row_words store_webhook_statuses;

struct webhook_event_list {
	struct webhook_event *items;
	size_t n;
};

struct webhook_attempt {
	char id[ID_SIZE];    /* atmpt_ and letters and digits */
	int64_t http_status; /* 0: no answer */
	char *response;      /* its first WEBHOOK_RESPONSE_MAX bytes */
	char *error;         /* why there is none, or it does not count; NULL */
	int64_t sent_us;
	int64_t took_us;
};
extern const struct row_type store_webhook_attempt_type;

struct webhook_attempt_list {
	struct webhook_attempt *items;
	size_t n;
};

/* An id that nobody guesses. */
void store_webhook_event_id(char id[static ID_SIZE]);

/* Adds what is due at once. event: seq of the event that it tells of, 0 for a test. 0 or -1. */
int store_webhook_event_add(
	struct db *db, const struct webhook_event *event, int64_t event_seq, struct err *err);
/* The one with the id: 1, 0, -1. */
int store_webhook_event_find(struct db *db, const char *webhook_id, const char *id,
	struct webhook_event *event_r, struct err *err);
/* A page, newest first; page->after is an id. 1, 0 when that is none of them, -1. */
int store_webhook_event_list(struct db *db, const char *webhook_id, const struct page *page,
	struct webhook_event_list *list_r, struct page_end *end_r, struct err *err);
int store_webhook_attempt_list(struct db *db, int64_t event, const struct page *page,
	struct webhook_attempt_list *list_r, struct page_end *end_r, struct err *err);
/* Has it sent once more, at once; id NULL: all of the time, WEBHOOK_REPLAY_MAX at most. How many,
 * -1. */
int store_webhook_event_replay(struct db *db, const char *webhook_id, const char *id,
	int64_t since_us, int64_t until_us, struct err *err);

/* For postern-webhook. */

/* The seq of those that are due, limit at most; what is to be sent once more comes first. The
 * caller frees the array. 0 or -1. */
int store_webhook_event_due(struct db *db, const char *webhook_id, int64_t now_us, size_t limit,
	int64_t **seqs_r, size_t *n_r, struct err *err);
/* One of them: 1, 0 when it is gone or no longer due, -1. */
int store_webhook_event_get(
	struct db *db, int64_t seq, struct webhook_event *event_r, struct err *err);
/* Writes an attempt down, and what becomes of the event: status and due_us are the new ones; what
 * was due_us when it was read tells whether somebody wanted it sent once more meanwhile. 0 or -1.
 */
int store_webhook_event_settle(struct db *db, const struct webhook_event *event, int64_t was_due_us,
	const struct webhook_attempt *attempt, struct err *err);

/* What the events behind the cursor are for: those of enabled endpoints whose company and domain
 * fit, in the order of events. */
struct webhook_match {
	int64_t event; /* its seq */
	char webhook_id[ID_SIZE];
	enum webhook_dialect dialect;
	char *events;
};
struct webhook_match_list {
	struct webhook_match *items;
	size_t n;
};
/* Of the next events, so many at most: up to upto_r, which is the cursor when there is none.
 * 0 or -1. */
int store_webhook_match(struct db *db, int events, struct webhook_match_list *list_r,
	int64_t *cursor_r, int64_t *upto_r, struct err *err);
void store_webhook_match_list_free(struct webhook_match_list *list);
/* The event up to which all webhooks have theirs. 0 or -1. */
int store_webhook_cursor_get(struct db *db, int64_t *seq_r, struct err *err);
int store_webhook_cursor_set(struct db *db, int64_t seq, struct err *err);

/* Removes what is older and not due any more, and what belonged to endpoints that are gone, max
 * rows at most. 1 when there may be more, 0, -1. */
int store_webhook_clean(struct db *db, int64_t before_us, int max, struct err *err);
/* How many wait to be sent. 0 or -1. */
int store_webhook_event_count(struct db *db, int64_t *waiting_r, struct err *err);

/* Whether enabled webhooks are told nothing for WEBHOOK_STILL_S: 1 and why in words, 0, -1. runs:
 * whether postern-webhook does. What is kept back by pauses of endpoints that fail is no such. */
enum { WEBHOOK_STILL_S = 300 };
int store_webhook_stands_still(struct db *db, bool runs, int64_t now_us,
	char words_r[static ERR_TEXT_MAX], struct err *err);

void store_webhook_event_clear(struct webhook_event *event);
void store_webhook_event_list_free(struct webhook_event_list *list);
void store_webhook_attempt_list_free(struct webhook_attempt_list *list);

#endif
