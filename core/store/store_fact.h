/*
 * store_fact: stores facts, as events and as the states of recipients.
 *
 * Each fact becomes an event, once however often it is reported. What lines say
 * of deliveries moves the delivery (delivery_tree), of which the recipient's state
 * is computed; the rest is told of a recipient as a whole. seq and recorded_us
 * of events only rise: who has read up to one of them misses none.
 *
 * Most emails need no tree: one queue message, and no addresses but those of the
 * recipients. Then the row of the recipient is its delivery, and no other is stored.
 *
 * A writer collects what a transaction says: each email and recipient is read
 * once and written once, however many facts concern it.
 */
#ifndef POSTERN_STORE_STORE_FACT_H
#define POSTERN_STORE_STORE_FACT_H

#include "core/db/db.h"
#include "core/store/event_writer.h"
#include "core/store/store_delivery.h"
#include "core/store/store_email_recipient.h"
#include "core/store/store_event.h"

/* What an attempt came to for one address of a queue message. */
struct fact_attempt {
	const struct queue_message *message;
	const char *orig_to; /* NULL: none */
	enum delivery_via via;
	const char *child; /* the queue id that the hop named, NULL */
	int64_t began_us;
	bool has_child; /* a queue message is known that it may have led to */
};

struct fact_writer;

/* All below is for one transaction on db, which the caller begins and ends. When
 * anything here fails it has to be undone, and fact_writer_reset() called. */
struct fact_writer *fact_writer_new(struct db *db);
/* Who took the email for a recipient of which only the row is known: fills via
 * and child of a delivery. Without it such are final. */
typedef void fact_classify(
	const void *arg, const struct recipient *recipient, struct delivery *delivery);
void fact_writer_set_classify(struct fact_writer *writer, fact_classify *classify, const void *arg);
void fact_writer_free(struct fact_writer *writer);
DEFINE_CLEANUP(fact_writer, fact_writer_free)

/* The recipients in the envelope of the email with this seq, as they stand with
 * what was reported. They are the writer's, and live until its flush or reset. */
int fact_writer_recipients(struct fact_writer *writer, int64_t email,
	const struct recipients **fates_r, struct err *err);
/* The one with this address, as the log writes it: 1, 0, -1. */
int fact_writer_find(struct fact_writer *writer, int64_t email, const char *address, int64_t *n_r,
	struct err *err);
/* Stores a fact about a recipient as a whole: 1, 0 when it is known, -1. */
int fact_writer_add(struct fact_writer *writer, const struct fact_report *report, struct err *err);
/* Stores what an attempt came to; the report has the address. 0 or -1. */
int fact_writer_deliver(struct fact_writer *writer, const struct fact_attempt *attempt,
	const struct fact_report *report, struct err *err);
/* Adds a queue message that carries the email on, or says how it came. */
int fact_writer_add_message(
	struct fact_writer *writer, const struct queue_message *message, struct err *err);
/* The message is delivered to so many addresses. */
int fact_writer_expect(
	struct fact_writer *writer, const struct queue_message *message, struct err *err);
/* All that the message still had to deliver was expired, removed or discarded;
 * the report has the fact, and no recipient. */
int fact_writer_end(struct fact_writer *writer, const struct queue_message *message,
	const struct fact_report *report, struct err *err);
/* The message has left the queue. is_told: nothing more is to be said of it. */
int fact_writer_close(struct fact_writer *writer, const struct queue_message *message,
	int64_t time_us, bool is_told, struct err *err);
/* Whether a queue message that came up then may be what a delivery of the email
 * led to: 2 one was given its queue id, 1 by the time alone, 0 no, -1. And the
 * Message-ID of the email, until the flush. */
int fact_writer_leads_to(struct fact_writer *writer, int64_t email, const char *queue_id,
	int64_t since_us, struct err *err);
int fact_writer_message_id(
	struct fact_writer *writer, int64_t email, const char **message_id_r, struct err *err);

/* What flushes have stored: new events by kind, and messages that left the
 * queue with something untold. */
struct fact_counts {
	uint64_t facts[FACTS];
	uint64_t untold;
};
const struct fact_counts *fact_writer_counts(const struct fact_writer *writer);
/* How many recipients it holds. */
size_t fact_writer_held(const struct fact_writer *writer);
/* Before the commit: writes what was collected, and the last event of each
 * email; and forgets it all. */
int fact_writer_flush(struct fact_writer *writer, struct err *err);
/* Forgets it all. */
void fact_writer_reset(struct fact_writer *writer);

#endif
