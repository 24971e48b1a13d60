/*
 * event_writer: adds events, each once however often it is reported, and counts them
 * by the hour, and by what else they tell (outcome). seq and recorded_us only rise: who has read up
 * to one event misses none.
 *
 * Threads: a writer and its handle are used by one thread at a time.
 */
#ifndef POSTERN_STORE_EVENT_WRITER_H
#define POSTERN_STORE_EVENT_WRITER_H

#include "core/db/db.h"
#include "core/store/store_event.h"

/* What somebody reports of an email. Texts may be NULL. */
struct event_report {
	uint8_t key[EVENT_KEY_LEN];
	int64_t email;
	int64_t n; /* of the recipient; not of a delivery */
	enum event_kind kind;
	int64_t occurred_us;
	int64_t now_us;
	const char *address; /* where it went, if not to the recipient's own */
	const char *relay;
	const char *dsn;
	const char *text;
	const char *source; /* log, queue, dsn, report */
};
/* The key of an event: a hash of all that tells it from others. NULL is skipped. */
void event_key(uint8_t key_r[static EVENT_KEY_LEN], const char *const *parts, size_t n);
/* That of the i-th recipient, of an event that is of several. */
void event_key_of_one(
	uint8_t key_r[static EVENT_KEY_LEN], const uint8_t key[static EVENT_KEY_LEN], size_t i);

/* Whose event it is. The first two live until the flush or reset. */
struct event_owner {
	const char *company_id;
	const char *domain;
	const char *address; /* the recipient's */
	int64_t attempt;
	int64_t due_us; /* when the email was asked for, or was to go out */
};

/* All below is for one transaction on db; see struct delivery_writer. */
struct event_writer *event_writer_new(struct db *db);
void event_writer_free(struct event_writer *writer);
/* How many rows it added: 0 for an event that is known; -1. */
int event_writer_add(struct event_writer *writer, const struct event_owner *owner,
	const struct event_report *report, struct err *err);
/* Before the commit: writes the counts, and what the next event has to be above. */
int event_writer_flush(struct event_writer *writer, struct err *err);
void event_writer_reset(struct event_writer *writer);

#endif
