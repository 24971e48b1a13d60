/*
 * store_fact: stores facts, as events and as the states of recipients.
 *
 * A fact that is reported becomes an event, moves its recipient to the state
 * that store_fate has for it, and is stored once however often it is reported.
 * seq and recorded_us of events only rise: who has read up to one of them
 * misses none.
 *
 * A writer collects what a transaction says: each email and recipient is read
 * once and written once, however many facts concern it.
 */
#ifndef POSTERN_STORE_STORE_FACT_H
#define POSTERN_STORE_STORE_FACT_H

#include "core/db/db.h"
#include "core/store/store_email_recipient.h"
#include "core/store/store_event.h"

/* A fact, from whoever tells of it. Texts may be NULL. */
struct fact_report {
	uint8_t key[EVENT_KEY_LEN];
	int64_t email;
	int64_t n;
	enum fact fact;
	int64_t occurred_us;
	int64_t now_us;
	const char *address; /* where it went, if not to the recipient's own */
	const char *relay;
	const char *dsn;
	const char *text;
	const char *source; /* log, queue, dsn, report */
};
/* The key of a fact: a hash of all that tells it from others. NULL is skipped. */
void fact_key(uint8_t key_r[static EVENT_KEY_LEN], const char *const *parts,
	size_t n);

struct fact_writer;

/* All below is for one transaction on db, which the caller begins and ends. When
 * anything here fails it has to be undone, and fact_writer_reset() called. */
struct fact_writer *fact_writer_new(struct db *db);
void fact_writer_free(struct fact_writer *writer);
DEFINE_CLEANUP(fact_writer, fact_writer_free)

/* The recipients in the envelope of the email with this seq, as they stand with
 * what was reported. They are the writer's, and live until its flush or reset. */
int fact_writer_recipients(struct fact_writer *writer, int64_t email,
	const struct recipients **fates_r, struct err *err);
/* The one with this address, as the log writes it: 1, 0, -1. */
int fact_writer_find(struct fact_writer *writer, int64_t email,
	const char *address, int64_t *n_r, struct err *err);
/* Stores the fact: 1, 0 when it is known or no news, -1. */
int fact_writer_add(struct fact_writer *writer,
	const struct fact_report *report, struct err *err);
/* How many recipients it holds. */
size_t fact_writer_held(const struct fact_writer *writer);
/* Before the commit: writes what was collected, and the last event of each
 * email; and forgets it all. */
int fact_writer_flush(struct fact_writer *writer, struct err *err);
/* Forgets it all. */
void fact_writer_reset(struct fact_writer *writer);

#endif
