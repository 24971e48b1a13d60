/*
 * event_writer: adds events, each once however often it is reported, and counts them by the hour
 * and by outcome (outcome). seq and recorded_us only increase: a reader that has read up to one
 * event misses none.
 *
 * Threads: a writer and its handle are used by one thread at a time.
 */
#ifndef POSTERN_STORE_EVENT_WRITER_H
#define POSTERN_STORE_EVENT_WRITER_H

#include "core/db/db.h"
#include "core/store/event/store_event.h"

/* A report about an email. Strings may be NULL. */
struct event_report {
	uint8_t key[EVENT_KEY_LEN];
	int64_t email;
	int64_t n; /* the recipient; unused for a delivery */
	enum event_kind kind;
	int64_t occurred_us;
	int64_t now_us;
	const char *address; /* the address delivered to, if not the recipient's own */
	const char *relay;
	const char *dsn;
	const char *text;
	const char *source; /* log, queue, dsn, report, outbox */
	bool is_counted;    /* before it is added */
};
/* Copies a report with its strings, except for the source, and frees those of such a copy. */
struct event_report event_report_copy(const struct event_report *report);
void event_report_clear(struct event_report *report);

/* Computes the key of an event: a hash of everything that distinguishes it from others. NULL parts
 * are skipped. */
void event_key(uint8_t key_r[static EVENT_KEY_LEN], const char *const *parts, size_t n);
/* Derives the key for the i-th recipient from the key of an event that concerns several. */
void event_key_of_one(
	uint8_t key_r[static EVENT_KEY_LEN], const uint8_t key[static EVENT_KEY_LEN], size_t i);

/* The owner of an event. company_id and domain must live until the flush or reset. */
struct event_owner {
	const char *company_id;
	const char *domain;
	const char *address; /* the recipient's */
	int64_t attempt;
	int64_t due_us; /* when the email was requested, or scheduled for */
};

/* All calls below belong to one transaction on db; see struct delivery_writer. */
struct event_writer *event_writer_new(struct db *db);
void event_writer_free(struct event_writer *writer);
/* Call for each email before its first event. keys are those of its events in hexadecimal digits,
 * at most EVENT_KEYS_MAX of them; of an email with that many, the store is asked for each event. */
enum { EVENT_KEYS_MAX = 1000 };
void event_writer_know(struct event_writer *writer, int64_t email, const char *keys);
/* Returns the number of events added: 0 if it is known already; -1 on error. */
int event_writer_add(struct event_writer *writer, const struct event_owner *owner,
	const struct event_report *report, struct err *err);
/* Call before the commit: writes the events, the counts, and the lower bounds for seq and
 * recorded_us of the next event. Returns 0 or -1. */
int event_writer_flush(struct event_writer *writer, struct err *err);
void event_writer_reset(struct event_writer *writer);

#endif
