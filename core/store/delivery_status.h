/*
 * delivery_status: what can become of an email for one address, what moves it, and
 * what that makes of a recipient and of the whole email.
 *
 * Pure. One table says for each state of a delivery and each event which state
 * follows, another which of several deliveries decides.
 */
#ifndef POSTERN_STORE_DELIVERY_STATUS_H
#define POSTERN_STORE_DELIVERY_STATUS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/store/row.h"

/* Of a recipient. */
enum delivery_status {
	DELIVERY_QUEUED,
	DELIVERY_DEFERRED,   /* Postfix tries again */
	DELIVERY_HANDED_ON,  /* to an alias or a content filter of this host: what
			      * becomes of it there decides */
	DELIVERY_DELIVERED,  /* the next hop has taken it: 2xx */
	DELIVERY_BOUNCED,    /* the next hop refused it for good, or reported so */
	DELIVERY_EXPIRED,    /* Postfix gave it up */
	DELIVERY_DISCARDED,  /* a rule of Postfix dropped it */
	DELIVERY_REMOVED,    /* an admin removed it from the queue */
	DELIVERY_UNKNOWN,    /* it left the queue, and nobody said how */
	DELIVERY_COMPLAINED, /* delivered, and reported as unwanted */
	DELIVERY_SUPPRESSED, /* not handed to Postfix: it is on the list of its company
			      * (store_suppression) */
	DELIVERY_STATUSES
};
/* How the text of a recipient begins whose message a rule of Postfix has sent
 * to somebody else; then comes who. */
#define DELIVERY_REDIRECTED "Postfix redirected it to "

/* ... and of one whose message it refused behind the milter's record; then comes why. */
#define DELIVERY_REFUSED "Postfix did not take it: "

/* As they are stored. */
extern const struct row_words delivery_status_words;
const char *delivery_status_name(enum delivery_status status);

/* What a source tells. */
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
	/* Of emails that never came to Postfix; they move nothing. */
	EVENT_CANCELED,
	EVENT_FAILED,       /* Postfix refused it for good, or did not take it in its lifetime */
	EVENT_UNSUBSCRIBED, /* its recipient wants no more; it moves nothing */
	EVENT_KINDS,
	/* No event, but counted with them: the milter refused an email. */
	COUNTED_REFUSED = EVENT_KINDS
};
extern const struct row_words event_kind_words;
extern const struct row_words counted_words; /* with COUNTED_REFUSED */
const char *event_kind_name(enum event_kind kind);

/* The state of a delivery after the event. */
enum delivery_status delivery_status_next(enum delivery_status status, enum event_kind kind);
/* The state of a delivery of which the event is all that is known; and the event that
 * makes it what it is. */
enum delivery_status delivery_status_of_event(enum event_kind kind);
enum event_kind delivery_status_event(enum delivery_status status);
/* Whether the one counts, of two deliveries. */
bool delivery_status_is_worse(enum delivery_status status, enum delivery_status than);

/* Whether Postfix may still have the message for this recipient. */
bool delivery_is_open(enum delivery_status status);
/* Whether the event ends an attempt of delivery. */
bool event_is_attempt(enum event_kind kind);

/* The word for the whole email (email.last_event), of how many of its
 * recipients are in each state: the worst status once all are told, before that
 * `delivery_delayed` if one is deferred, else `sent`. */
const char *delivery_last_event(const size_t counts[static DELIVERY_STATUSES]);

#endif
