/*
 * delivery_status: the states of a delivery, the events that change them, and how the states of
 * deliveries combine into the status of a recipient and of the whole email.
 *
 * Pure. One table has the next state for each state and event; another one ranks the states, to
 * find which of several deliveries decides.
 */
#ifndef POSTERN_STORE_DELIVERY_STATUS_H
#define POSTERN_STORE_DELIVERY_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/store/row.h"

/* The status of a recipient, and of a delivery. */
enum delivery_status {
	DELIVERY_QUEUED,
	DELIVERY_DEFERRED,   /* Postfix tries again */
	DELIVERY_HANDED_ON,  /* to an alias or a content filter of this host, which decides */
	DELIVERY_DELIVERED,  /* the next hop accepted it: 2xx */
	DELIVERY_BOUNCED,    /* the next hop refused it permanently, or sent a bounce later */
	DELIVERY_EXPIRED,    /* Postfix gave it up */
	DELIVERY_DISCARDED,  /* a rule of Postfix dropped it */
	DELIVERY_REMOVED,    /* an admin removed it from the queue */
	DELIVERY_UNKNOWN,    /* it left the queue, and the log does not say how */
	DELIVERY_COMPLAINED, /* delivered, and reported as unwanted */
	/* Not handed to Postfix: the address is on the company's suppression list
	 * (store_suppression). */
	DELIVERY_SUPPRESSED,
	DELIVERY_STATUSES
};
/* The text of a recipient begins so if a rule of Postfix redirected the message; the new address
 * follows. */
#define DELIVERY_REDIRECTED "Postfix redirected it to "

/* The text begins so if Postfix refused the message after the milter had recorded it; the reason
 * follows. */
#define DELIVERY_REFUSED "Postfix did not take it: "

/* The words in the store. */
extern const struct row_words delivery_status_words;
const char *delivery_status_name(enum delivery_status status);

/* What a source reports. */
enum event_kind {
	EVENT_ACCEPTED, /* Postfix has it */
	EVENT_DEFERRED,
	EVENT_HANDED_ON,
	EVENT_DELIVERED,
	EVENT_BOUNCED,
	EVENT_EXPIRED,
	EVENT_DISCARDED,
	EVENT_REMOVED,
	EVENT_LOST, /* neither in the queue nor in the log */
	EVENT_COMPLAINED,
	EVENT_SUPPRESSED,
	/* Canceled and failed are of emails that never reached Postfix. They change no delivery. */
	EVENT_CANCELED,
	EVENT_FAILED,       /* refused after its client was told the id; or its lifetime is over */
	EVENT_UNSUBSCRIBED, /* the recipient unsubscribed; changes no delivery */
	EVENT_KINDS,
	/* Not an event, but counted with the events: the milter refused an email. */
	COUNTED_REFUSED = EVENT_KINDS
};
extern const struct row_words event_kind_words;
extern const struct row_words counted_words; /* with COUNTED_REFUSED */
const char *event_kind_name(enum event_kind kind);

/* Returns the state of a delivery after the event. */
enum delivery_status delivery_status_next(enum delivery_status status, enum event_kind kind);
/* Returns the state of a delivery of which only this event is known; and the event that leads to a
 * state. */
enum delivery_status delivery_status_of_event(enum event_kind kind);
enum event_kind delivery_status_event(enum delivery_status status);
/* True if `status` decides when two deliveries have these states. */
bool delivery_status_is_worse(enum delivery_status status, enum delivery_status than);

/* True if Postfix may still have the message for this recipient. */
bool delivery_is_open(enum delivery_status status);
/* True if the event ends a delivery attempt. */
bool event_is_attempt(enum event_kind kind);

/* Returns the word for the whole email (email.last_event). counts has the number of recipients in
 * each state. The word is that of the worst status once all recipients have a final one; before
 * that `delivery_delayed` if one is deferred, else `sent`. */
const char *delivery_last_event(const size_t counts[static DELIVERY_STATUSES]);

#endif
