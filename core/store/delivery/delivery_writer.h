/*
 * delivery_writer: stores reports, as events and as the states of recipients.
 *
 * Each report becomes one event, however often it arrives. Log lines about a delivery change that
 * delivery (delivery_tree), and the state of the recipient is computed from the tree; other reports
 * are about a recipient as a whole. seq and recorded_us of events only increase: a reader that has
 * read up to one event misses none.
 *
 * Most emails need no tree: they have one queue message, and no addresses but those of the
 * recipients. Then the row of the recipient is its delivery, and no other row is stored.
 *
 * A writer collects the changes of a transaction: each email and recipient is read once and written
 * once, however many events concern it.
 */
#ifndef POSTERN_STORE_DELIVERY_WRITER_H
#define POSTERN_STORE_DELIVERY_WRITER_H

#include "core/db/db.h"
#include "core/store/event/event_writer.h"
#include "core/store/delivery/store_delivery.h"
#include "core/store/delivery/store_email_recipient.h"
#include "core/store/delivery/store_queue_message.h"

/* The result of an attempt for one address of a queue message. */
struct delivery_attempt {
	const struct queue_message *message;
	const char *orig_to; /* NULL: none */
	enum delivery_via via;
	const char *child; /* the queue id that the next hop reported; NULL */
	int64_t began_us;
	bool has_child; /* a queue message is known that may continue it */
};

struct delivery_writer;

/* All calls below belong to one transaction on db, which the caller begins and ends. If one fails,
 * the caller must roll back and call delivery_writer_reset(). */
struct delivery_writer *delivery_writer_new(struct db *db);
/* Fills via and child of a delivery of which only the recipient's row is known. Without this
 * callback such deliveries are VIA_FINAL. */
typedef void delivery_classify(
	const void *arg, const struct recipient *recipient, struct delivery *delivery);
void delivery_writer_set_classify(
	struct delivery_writer *writer, delivery_classify *classify, const void *arg);
/* What is added to the suppression list (store_suppression); by default nothing. codes must live as
 * long as the writer. */
struct suppression_terms {
	bool bounces;      /* add recipients with hard bounces */
	const char *codes; /* more hard codes, see suppression_is_hard() */
	int64_t max;       /* at most, per company */
};
void delivery_writer_set_suppression(
	struct delivery_writer *writer, const struct suppression_terms *terms);
void delivery_writer_free(struct delivery_writer *writer);
DEFINE_CLEANUP(delivery_writer, delivery_writer_free)

/* Returns the envelope recipients of the email with this seq, with all reports so far applied. The
 * writer owns them; they are valid until its flush or reset. 0 or -1. _read_ahead announces the
 * first call for the email (db_read_ahead()). */
void delivery_writer_read_ahead(struct delivery_writer *writer, int64_t email);
int delivery_writer_recipients(struct delivery_writer *writer, int64_t email,
	const struct recipients **recipients_r, struct err *err);
/* Finds the recipient with this address, as written in the log. Returns 1, 0 if there is none, -1
 * on error. */
int delivery_writer_find(struct delivery_writer *writer, int64_t email, const char *address,
	int64_t *n_r, struct err *err);
/* Stores an event about a recipient as a whole. Returns 1, 0 if the event is known already, -1 on
 * error. */
int delivery_writer_add(
	struct delivery_writer *writer, const struct event_report *report, struct err *err);
/* Stores the result of an attempt; the report has the address. Returns 0 or -1. */
int delivery_writer_deliver(struct delivery_writer *writer, const struct delivery_attempt *attempt,
	const struct event_report *report, struct err *err);
/* Adds a message that the milter has recorded. Its row is written at the flush, or by
 * delivery_writer_write_messages(), which is to be called before messages are looked up again. Both
 * return 0 or -1. */
int delivery_writer_begin_message(
	struct delivery_writer *writer, const struct queue_message *message, struct err *err);
int delivery_writer_write_messages(struct delivery_writer *writer, struct err *err);
/* Adds a queue message that carries the email on, or updates how it came. Returns 0 or -1. */
int delivery_writer_add_message(
	struct delivery_writer *writer, const struct queue_message *message, struct err *err);
/* Sets message->recipients, the number of addresses that the message is delivered to. Returns 0 or
 * -1. */
int delivery_writer_expect(
	struct delivery_writer *writer, const struct queue_message *message, struct err *err);
/* Ends all open deliveries of the message as expired, removed or discarded. The report has the
 * kind, and no recipient. Returns 0 or -1. */
int delivery_writer_end(struct delivery_writer *writer, const struct queue_message *message,
	const struct event_report *report, struct err *err);
/* The message has left the queue. is_explained: the log has said why, so recipients without a
 * report are no gap in it. Returns 0 or -1. */
int delivery_writer_close(struct delivery_writer *writer, const struct queue_message *message,
	int64_t time_us, bool is_explained, struct err *err);
/* _leads_to: returns 2 if a delivery of the email names this queue id, 1 if a queue message of that
 * time may continue one, 0 if not, -1 on error. _message_id: the Message-ID of the email, valid
 * until the flush. */
int delivery_writer_leads_to(struct delivery_writer *writer, int64_t email, const char *queue_id,
	int64_t since_us, struct err *err);
int delivery_writer_message_id(
	struct delivery_writer *writer, int64_t email, const char **message_id_r, struct err *err);

/* An email that was not sent. */
struct unsent {
	const char *id;
	enum event_kind kind; /* EVENT_CANCELED or EVENT_FAILED */
	const char *text;
	int64_t now_us;
	bool is_counted; /* as COUNTED_REFUSED, so its events are not */
};
/* Adds an event for each recipient, by a writer of its own. Returns 0 or -1. */
int delivery_writer_unsent(struct db *db, const struct unsent *unsent, struct err *err);

/* Totals of all flushes: new events by kind, and messages that left the queue while some deliveries
 * were not reported. */
struct delivery_counts {
	uint64_t events[EVENT_KINDS];
	uint64_t unreported;
	uint64_t unlisted; /* not added because the suppression list is full */
};
const struct delivery_counts *delivery_writer_counts(const struct delivery_writer *writer);
/* Returns the number of recipients in memory. */
size_t delivery_writer_held(const struct delivery_writer *writer);
/* Call before the commit: writes the collected changes and the last event of each email, and
 * forgets them. Returns 0 or -1. */
int delivery_writer_flush(struct delivery_writer *writer, struct err *err);
/* Forgets everything that was collected. */
void delivery_writer_reset(struct delivery_writer *writer);

#endif
