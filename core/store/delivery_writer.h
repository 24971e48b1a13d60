/*
 * delivery_writer: stores what is reported, as events and as the states of recipients.
 *
 * Each report becomes an event, once however often it comes. What lines say
 * of deliveries moves the delivery (delivery_tree), of which the recipient's state
 * is computed; the rest is told of a recipient as a whole. seq and recorded_us
 * of events only rise: who has read up to one of them misses none.
 *
 * Most emails need no tree: one queue message, and no addresses but those of the
 * recipients. Then the row of the recipient is its delivery, and no other is stored.
 *
 * A writer collects what a transaction says: each email and recipient is read
 * once and written once, however many events concern it.
 */
#ifndef POSTERN_STORE_DELIVERY_WRITER_H
#define POSTERN_STORE_DELIVERY_WRITER_H

#include "core/db/db.h"
#include "core/store/event_writer.h"
#include "core/store/store_delivery.h"
#include "core/store/store_email_recipient.h"
#include "core/store/store_event.h"

/* What an attempt came to for one address of a queue message. */
struct delivery_attempt {
	const struct queue_message *message;
	const char *orig_to; /* NULL: none */
	enum delivery_via via;
	const char *child; /* the queue id that the next hop named, NULL */
	int64_t began_us;
	bool has_child; /* a queue message is known that it may have led to */
};

struct delivery_writer;

/* All below is for one transaction on db, which the caller begins and ends. When
 * anything here fails it has to be undone, and delivery_writer_reset() called. */
struct delivery_writer *delivery_writer_new(struct db *db);
/* Who took the email for a recipient of which only the row is known: fills via
 * and child of a delivery. Without it such are final. */
typedef void delivery_classify(
	const void *arg, const struct recipient *recipient, struct delivery *delivery);
void delivery_writer_set_classify(
	struct delivery_writer *writer, delivery_classify *classify, const void *arg);
/* What is put into the list of suppressed addresses (store_suppression); without it nothing
 * is. codes live as long as the writer. */
struct suppression_terms {
	bool bounces;      /* recipients that bounce for good */
	const char *codes; /* which are also hard: see suppression_is_hard() */
	int64_t max;       /* entries of a company */
};
void delivery_writer_set_suppression(
	struct delivery_writer *writer, const struct suppression_terms *terms);
void delivery_writer_free(struct delivery_writer *writer);
DEFINE_CLEANUP(delivery_writer, delivery_writer_free)

/* The recipients in the envelope of the email with this seq, as they stand with
 * what was reported. They are the writer's, and live until its flush or reset. */
int delivery_writer_recipients(struct delivery_writer *writer, int64_t email,
	const struct recipients **recipients_r, struct err *err);
/* The one with this address, as the log writes it: 1, 0, -1. */
int delivery_writer_find(struct delivery_writer *writer, int64_t email, const char *address,
	int64_t *n_r, struct err *err);
/* Stores an event about a recipient as a whole: 1, 0 when it is known, -1. */
int delivery_writer_add(
	struct delivery_writer *writer, const struct event_report *report, struct err *err);
/* Stores what an attempt came to; the report has the address. 0 or -1. */
int delivery_writer_deliver(struct delivery_writer *writer, const struct delivery_attempt *attempt,
	const struct event_report *report, struct err *err);
/* Adds a queue message that carries the email on, or says how it came. */
int delivery_writer_add_message(
	struct delivery_writer *writer, const struct queue_message *message, struct err *err);
/* The message is delivered to so many addresses. */
int delivery_writer_expect(
	struct delivery_writer *writer, const struct queue_message *message, struct err *err);
/* All that the message still had to deliver was expired, removed or discarded;
 * the report has its kind, and no recipient. */
int delivery_writer_end(struct delivery_writer *writer, const struct queue_message *message,
	const struct event_report *report, struct err *err);
/* The message has left the queue. is_told: nothing more is to be said of it. */
int delivery_writer_close(struct delivery_writer *writer, const struct queue_message *message,
	int64_t time_us, bool is_told, struct err *err);
/* Whether a queue message that came up then may be what a delivery of the email
 * led to: 2 one was given its queue id, 1 by the time alone, 0 no, -1. And the
 * Message-ID of the email, until the flush. */
int delivery_writer_leads_to(struct delivery_writer *writer, int64_t email, const char *queue_id,
	int64_t since_us, struct err *err);
int delivery_writer_message_id(
	struct delivery_writer *writer, int64_t email, const char **message_id_r, struct err *err);

/* What flushes have stored: new events by kind, and messages that left the
 * queue with something untold. */
struct delivery_counts {
	uint64_t events[EVENT_KINDS];
	uint64_t untold;
	uint64_t unlisted; /* that found no room in the list of suppressed addresses */
};
const struct delivery_counts *delivery_writer_counts(const struct delivery_writer *writer);
/* How many recipients it holds. */
size_t delivery_writer_held(const struct delivery_writer *writer);
/* Before the commit: writes what was collected, and the last event of each
 * email; and forgets it all. */
int delivery_writer_flush(struct delivery_writer *writer, struct err *err);
/* Forgets it all. */
void delivery_writer_reset(struct delivery_writer *writer);

#endif
