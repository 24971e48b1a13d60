/*
 * store_webhook_event: the queue of each webhook: events, with the bytes that every attempt sends,
 * and a record of the attempts.
 *
 * Rows are added in the transaction that moves the cursor, so each webhook has an event once,
 * whenever postern-webhook is stopped. A row is removed with the event that it is about.
 */
#ifndef POSTERN_STORE_STORE_WEBHOOK_EVENT_H
#define POSTERN_STORE_STORE_WEBHOOK_EVENT_H

#include "core/db/db.h"
#include "core/store/row.h"
#include "core/store/webhook/store_webhook.h"

enum webhook_status {
	WEBHOOK_PENDING,    /* no attempt yet */
	WEBHOOK_ATTEMPTING, /* all attempts so far failed; there will be more */
	WEBHOOK_SUCCESS,
	WEBHOOK_FAILED,
	WEBHOOK_STATUSES
};

enum {
	WEBHOOK_REPLAY_DUE = 1, /* due_us of an event that is to be replayed */
	WEBHOOK_REPLAY_MAX = 10000,
};

struct webhook_event {
	int64_t seq;
	char id[ID_SIZE]; /* "msg_", then 27 letters and digits */
	char webhook_id[ID_SIZE];
	char *type; /* one of the webhook's events */
	char *body; /* JSON */
	enum webhook_status status;
	int64_t attempts;
	int64_t due_us;  /* of the next attempt; 0: there is none */
	int64_t then_us; /* due_us once a replay (WEBHOOK_REPLAY_DUE) has failed */
	int64_t created_us;
};
extern const struct row_type store_webhook_event_type;
extern const struct row_words store_webhook_statuses;

struct webhook_event_list {
	struct webhook_event *items;
	size_t n;
};

struct webhook_attempt {
	char id[ID_SIZE];    /* "atmpt_", then letters and digits */
	int64_t http_status; /* 0: no answer */
	char *response;      /* the first bytes of its body (HTTP_CLIENT_BODY_MAX) */
	char *error;         /* why there is none; NULL */
	int64_t sent_us;
	int64_t took_us;
};
extern const struct row_type store_webhook_attempt_type;

struct webhook_attempt_list {
	struct webhook_attempt *items;
	size_t n;
};

/* Makes an id that cannot be guessed. */
void store_webhook_event_id(char id[static ID_SIZE]);

/* Adds an event that is due at once. event_seq: the event that it is about, 0 for a test. Returns 0
 * or -1. */
int store_webhook_event_add(
	struct db *db, const struct webhook_event *event, int64_t event_seq, struct err *err);
/* Finds the event with the id. Returns 1, 0 if there is none, -1 on error. */
int store_webhook_event_find(struct db *db, const char *webhook_id, const char *id,
	struct webhook_event *event_r, struct err *err);
/* Reads a page, newest first; page->after is an id. Returns 1, 0 if the cursor is not in the list,
 * -1 on error. */
int store_webhook_event_list(struct db *db, const char *webhook_id, const struct page *page,
	struct webhook_event_list *list_r, struct page_end *end_r, struct err *err);
int store_webhook_attempt_list(struct db *db, int64_t event, const struct page *page,
	struct webhook_attempt_list *list_r, struct page_end *end_r, struct err *err);
/* Makes an event due at once, whatever its status; id NULL: all of the time span, up to
 * WEBHOOK_REPLAY_MAX. Returns how many, or -1. */
int store_webhook_event_replay(struct db *db, const char *webhook_id, const char *id,
	int64_t since_us, int64_t until_us, struct err *err);

/* For postern-webhook. */

/* Lists the seqs of due events, up to limit, replays first. The caller frees the array. Returns 0
 * or -1. */
int store_webhook_event_due(struct db *db, const char *webhook_id, int64_t now_us, size_t limit,
	int64_t **seqs_r, size_t *n_r, struct err *err);
/* Reads a due event. Returns 1, 0 if it is gone or no longer due, -1 on error. */
int store_webhook_event_get(
	struct db *db, int64_t seq, struct webhook_event *event_r, struct err *err);
/* Records an attempt, and the new status and due_us of the event. was_due_us is the value that was
 * read before the attempt: if it has changed, a replay was requested meanwhile, and stays due. 0 or
 * -1. */
int store_webhook_event_settle(struct db *db, const struct webhook_event *event, int64_t was_due_us,
	const struct webhook_attempt *attempt, struct err *err);
/* Makes events that are due after latest_us due at once, and those that would be after a replay
 * that fails due then; at most so many, for which others do not wait for long. Returns how many, or
 * -1. */
enum { WEBHOOK_EVENT_HURRY_MAX = 1000 };
int store_webhook_event_hurry(struct db *db, int64_t latest_us, int64_t now_us, struct err *err);

/* An event behind the cursor, and an enabled webhook whose company and domain fit. */
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
/* Finds the matches of the next events after the cursor, ordered by event, up to `events` events.
 * *upto_r is the last of these, or the cursor if there is none. Returns 0 or -1. */
int store_webhook_match(struct db *db, int events, struct webhook_match_list *list_r,
	int64_t *cursor_r, int64_t *upto_r, struct err *err);
void store_webhook_match_list_free(struct webhook_match_list *list);
/* Read and set the event up to which all webhooks have their events. Return 0 or -1. */
int store_webhook_cursor_get(struct db *db, int64_t *seq_r, struct err *err);
int store_webhook_cursor_set(struct db *db, int64_t seq, struct err *err);

/* Where several hosts share the database: the lease of a webhook, whose holder alone sends its
 * events. _get returns 1 with the holder, which the caller frees, 0 if nobody has it, -1 on error.
 * _take takes it from a holder whose last heartbeat was `beat`, or from nobody with NULL: 1, 0 if
 * another host was faster or the holder has written another heartbeat, -1 on error. _end ends those
 * of this host with nothing due, now or later: how many, or -1. */
int store_webhook_lease_get(struct db *db, const char *webhook_id, char **host_r, struct err *err);
int store_webhook_lease_take(
	struct db *db, const char *webhook_id, const char *holder, int64_t beat, struct err *err);
int store_webhook_lease_end(struct db *db, struct err *err);

/* Removes rows that are older than before_us and not due any more, and those of removed webhooks,
 * up to max rows of each. Returns 1 if there may be more, 0 if not, -1 on error. */
int store_webhook_clean(struct db *db, int64_t before_us, int max, struct err *err);
/* Counts the events that wait to be sent, up to 100,000. Returns 0 or -1. */
int store_webhook_event_count(struct db *db, int64_t *waiting_r, struct err *err);

/* Returns 1, with the reason in words, if enabled webhooks have got nothing for WEBHOOK_STILL_S; 0
 * if not; -1 on error. runs: true if postern-webhook runs. Pauses of failing endpoints do not
 * count. */
enum { WEBHOOK_STILL_S = 300 };
int store_webhook_stands_still(struct db *db, bool runs, int64_t now_us,
	char words_r[static ERR_TEXT_MAX], struct err *err);

void store_webhook_event_clear(struct webhook_event *event);

#endif
