/*
 * store_fate: what can become of an email for one address, what moves it, and
 * what that makes of a recipient and of the whole email.
 *
 * Pure. One table says for each state of a delivery and each fact which state
 * follows, another which of several deliveries decides.
 */
#ifndef POSTERN_STORE_STORE_FATE_H
#define POSTERN_STORE_STORE_FATE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/store/row.h"

/* Of a recipient. */
enum fate {
	FATE_QUEUED,
	FATE_DEFERRED,   /* Postfix tries again */
	FATE_HANDED_ON,  /* to an alias or a content filter of this host: what
			  * becomes of it there decides */
	FATE_DELIVERED,  /* the next hop has taken it: 2xx */
	FATE_BOUNCED,    /* the next hop refused it for good, or reported so */
	FATE_EXPIRED,    /* Postfix gave it up */
	FATE_DISCARDED,  /* a rule of Postfix dropped it */
	FATE_REMOVED,    /* an admin removed it from the queue */
	FATE_UNKNOWN,    /* it left the queue, and nobody said how */
	FATE_COMPLAINED, /* delivered, and reported as unwanted */
	FATES
};
/* How the text of a recipient begins whose message a rule of Postfix has sent
 * to somebody else; then comes who. */
#define FATE_REDIRECTED "Postfix redirected it to "

/* As they are stored. */
extern const struct row_words fate_words;
const char *fate_name(enum fate fate);

/* What a source tells. */
enum fact {
	FACT_ACCEPTED, /* Postfix has it */
	FACT_DEFERRED,
	FACT_HANDED_ON,
	FACT_DELIVERED,
	FACT_BOUNCED,
	FACT_EXPIRED,
	FACT_DISCARDED,
	FACT_REMOVED,
	FACT_LOST, /* neither in the queue nor in the log */
	FACT_COMPLAINED,
	/* Of emails that never came to Postfix; they move nothing. */
	FACT_CANCELED,
	FACT_FAILED, /* Postfix refused it for good, or did not take it in its lifetime */
	FACTS,
	/* No event, but counted with them: the milter refused an email. */
	COUNTED_REFUSED = FACTS
};
extern const struct row_words fact_words;
extern const struct row_words counted_words; /* with COUNTED_REFUSED */
const char *fact_name(enum fact fact);

/* The state of a delivery after the fact. */
enum fate fate_next(enum fate fate, enum fact fact);
/* The state of a delivery of which the fact is all that is known; and the fact that
 * makes it what it is. */
enum fate fate_of_fact(enum fact fact);
enum fact fate_fact(enum fate fate);
/* Whether the one counts, of two deliveries. */
bool fate_is_worse(enum fate fate, enum fate than);

/* Whether Postfix may still have the message for this recipient. */
bool fate_is_open(enum fate fate);
/* Whether the fact ends an attempt of delivery. */
bool fact_is_attempt(enum fact fact);

/* The word for the whole email (email.last_event), of how many of its
 * recipients are in each state: the worst fate once all are told, before that
 * `delivery_delayed` if one is deferred, else `sent`. */
const char *fate_last_event(const size_t counts[static FATES]);

#endif
