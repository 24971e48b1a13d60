/*
 * store_fate: the states of a delivery, and which of several decides.
 *
 * A recipient has a delivery for each address that its email is delivered to in a
 * queue message (delivery_tree). steps says what a fact makes of a delivery, ranks
 * which of several decides.
 *
 * Threads: any; the tables are constant.
 */
#include "core/store/store_fate.h"

#include <assert.h>

static const char *const fates[] = {
	[FATE_QUEUED] = "queued",
	[FATE_DEFERRED] = "deferred",
	[FATE_HANDED_ON] = "handed_on",
	[FATE_DELIVERED] = "delivered",
	[FATE_BOUNCED] = "bounced",
	[FATE_EXPIRED] = "expired",
	[FATE_DISCARDED] = "discarded",
	[FATE_REMOVED] = "removed",
	[FATE_UNKNOWN] = "unknown",
	[FATE_COMPLAINED] = "complained",
};
const struct row_words fate_words = {fates, FATES, false};

static const char *const facts[FACTS + 1] = {
	[FACT_ACCEPTED] = "accepted",
	[FACT_DEFERRED] = "deferred",
	[FACT_HANDED_ON] = "handed_on",
	[FACT_DELIVERED] = "delivered",
	[FACT_BOUNCED] = "bounced",
	[FACT_EXPIRED] = "expired",
	[FACT_DISCARDED] = "discarded",
	[FACT_REMOVED] = "removed",
	[FACT_LOST] = "unknown",
	[FACT_COMPLAINED] = "complained",
	[FACT_CANCELED] = "canceled",
	[FACT_FAILED] = "failed",
	[COUNTED_REFUSED] = "refused",
};
const struct row_words fact_words = {facts, FACTS, false};
const struct row_words counted_words = {facts, COUNTED_REFUSED + 1, false};

/*
 * What follows for a delivery, when a fact is told of it. The facts that lines tell
 * lead to the same state in any order: a state gives way only to one that is
 * more certain, or worse where two lines of one address differ. UNKNOWN alone
 * gives way to all that is found later.
 */
/* clang-format off */
#define QUEUED     FATE_QUEUED
#define DEFERRED   FATE_DEFERRED
#define HANDED_ON  FATE_HANDED_ON
#define DELIVERED  FATE_DELIVERED
#define BOUNCED    FATE_BOUNCED
#define EXPIRED    FATE_EXPIRED
#define DISCARDED  FATE_DISCARDED
#define REMOVED    FATE_REMOVED
#define UNKNOWN    FATE_UNKNOWN
#define COMPLAINED FATE_COMPLAINED
static const unsigned char steps[FATES][FACTS] = {
	/*                   accepted    deferred    handed on   delivered   bounced  expired     discarded  removed     lost        complained  canceled    failed */
	[FATE_QUEUED]     = {QUEUED,     DEFERRED,   HANDED_ON,  DELIVERED,  BOUNCED, EXPIRED,    DISCARDED, REMOVED,    UNKNOWN,    COMPLAINED, QUEUED,     QUEUED},
	[FATE_DEFERRED]   = {DEFERRED,   DEFERRED,   HANDED_ON,  DELIVERED,  BOUNCED, EXPIRED,    DISCARDED, REMOVED,    UNKNOWN,    COMPLAINED, DEFERRED,   DEFERRED},
	[FATE_HANDED_ON]  = {HANDED_ON,  HANDED_ON,  HANDED_ON,  HANDED_ON,  BOUNCED, HANDED_ON,  DISCARDED, HANDED_ON,  UNKNOWN,    COMPLAINED, HANDED_ON,  HANDED_ON},
	[FATE_DELIVERED]  = {DELIVERED,  DELIVERED,  HANDED_ON,  DELIVERED,  BOUNCED, DELIVERED,  DISCARDED, DELIVERED,  DELIVERED,  COMPLAINED, DELIVERED,  DELIVERED},
	[FATE_BOUNCED]    = {BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED, BOUNCED,    BOUNCED,   BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED},
	[FATE_EXPIRED]    = {EXPIRED,    EXPIRED,    HANDED_ON,  DELIVERED,  BOUNCED, EXPIRED,    DISCARDED, EXPIRED,    EXPIRED,    COMPLAINED, EXPIRED,    EXPIRED},
	[FATE_DISCARDED]  = {DISCARDED,  DISCARDED,  DISCARDED,  DISCARDED,  BOUNCED, DISCARDED,  DISCARDED, DISCARDED,  DISCARDED,  DISCARDED,  DISCARDED,  DISCARDED},
	[FATE_REMOVED]    = {REMOVED,    REMOVED,    HANDED_ON,  DELIVERED,  BOUNCED, EXPIRED,    DISCARDED, REMOVED,    REMOVED,    COMPLAINED, REMOVED,    REMOVED},
	[FATE_UNKNOWN]    = {UNKNOWN,    DEFERRED,   HANDED_ON,  DELIVERED,  BOUNCED, EXPIRED,    DISCARDED, REMOVED,    UNKNOWN,    COMPLAINED, UNKNOWN,    UNKNOWN},
	[FATE_COMPLAINED] = {COMPLAINED, COMPLAINED, COMPLAINED, COMPLAINED, BOUNCED, COMPLAINED, DISCARDED, COMPLAINED, COMPLAINED, COMPLAINED, COMPLAINED, COMPLAINED},
};
#undef QUEUED
#undef DEFERRED
#undef HANDED_ON
#undef DELIVERED
#undef BOUNCED
#undef EXPIRED
#undef DISCARDED
#undef REMOVED
#undef UNKNOWN
#undef COMPLAINED

/* What counts of several deliveries: the one with the highest rank. */
static const unsigned char ranks[FATES] = {
	[FATE_BOUNCED]    = 10,
	[FATE_EXPIRED]    = 9,
	[FATE_REMOVED]    = 8,
	[FATE_DISCARDED]  = 7,
	[FATE_DEFERRED]   = 6,
	[FATE_HANDED_ON]  = 5,
	[FATE_QUEUED]     = 4,
	[FATE_COMPLAINED] = 3,
	[FATE_UNKNOWN]    = 2,
	[FATE_DELIVERED]  = 1,
};
/* clang-format on */

const char *fate_name(enum fate fate)
{
	assert(fate < FATES);
	return fates[fate];
}

const char *fact_name(enum fact fact)
{
	assert(fact <= COUNTED_REFUSED);
	return facts[fact];
}

enum fate fate_next(enum fate fate, enum fact fact)
{
	return (enum fate)steps[fate][fact];
}

enum fate fate_of_fact(enum fact fact)
{
	return fate_next(FATE_QUEUED, fact);
}

enum fact fate_fact(enum fate fate)
{
	static const enum fact told[FATES] = {
		[FATE_QUEUED] = FACT_ACCEPTED,
		[FATE_DEFERRED] = FACT_DEFERRED,
		[FATE_HANDED_ON] = FACT_HANDED_ON,
		[FATE_DELIVERED] = FACT_DELIVERED,
		[FATE_BOUNCED] = FACT_BOUNCED,
		[FATE_EXPIRED] = FACT_EXPIRED,
		[FATE_DISCARDED] = FACT_DISCARDED,
		[FATE_REMOVED] = FACT_REMOVED,
		[FATE_UNKNOWN] = FACT_LOST,
		[FATE_COMPLAINED] = FACT_COMPLAINED,
	};

	return told[fate];
}

bool fate_is_worse(enum fate fate, enum fate than)
{
	return ranks[fate] > ranks[than];
}

bool fate_is_open(enum fate fate)
{
	return fate == FATE_QUEUED || fate == FATE_DEFERRED || fate == FATE_HANDED_ON;
}

bool fact_is_attempt(enum fact fact)
{
	return fact == FACT_DEFERRED || fact == FACT_DELIVERED || fact == FACT_BOUNCED;
}

const char *fate_last_event(const size_t counts[static FATES])
{
	/* From the worst to the best. */
	static const struct {
		enum fate fate;
		const char *event;
	} told[] = {
		{FATE_BOUNCED, "bounced"},
		{FATE_EXPIRED, "bounced"},
		{FATE_REMOVED, "failed"},
		{FATE_DISCARDED, "failed"},
		{FATE_COMPLAINED, "complained"},
		{FATE_UNKNOWN, "sent"},
		{FATE_DELIVERED, "delivered"},
	};

	if (counts[FATE_DEFERRED])
		return "delivery_delayed";
	if (counts[FATE_QUEUED] || counts[FATE_HANDED_ON])
		return "sent";
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (counts[told[i].fate])
			return told[i].event;
	return "sent";
}
