/*
 * store_fate: what can become of an email for one recipient, and what moves it.
 *
 * Behind an alias a recipient may have several addresses, each with facts of
 * its own. The worst of them counts, whatever order they come in: so
 * `delivered` gives way to `bounced`, and never the reverse.
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

static const char *const facts[] = {
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
};
const struct row_words fact_words = {facts, FACTS, false};

/* The state that follows; SAME for a fact that tells nothing new. */
enum { SAME = FATES };

/* clang-format off */
#define OPEN                                                                   \
	[FACT_DEFERRED] = FATE_DEFERRED, [FACT_HANDED_ON] = FATE_HANDED_ON,    \
	[FACT_DELIVERED] = FATE_DELIVERED, [FACT_BOUNCED] = FATE_BOUNCED,      \
	[FACT_EXPIRED] = FATE_EXPIRED, [FACT_DISCARDED] = FATE_DISCARDED,      \
	[FACT_REMOVED] = FATE_REMOVED, [FACT_COMPLAINED] = FATE_COMPLAINED
#define TOLD                                                                   \
	[FACT_ACCEPTED] = SAME, [FACT_DEFERRED] = SAME,                        \
	[FACT_HANDED_ON] = SAME, [FACT_DELIVERED] = SAME,                      \
	[FACT_BOUNCED] = SAME, [FACT_EXPIRED] = SAME, [FACT_DISCARDED] = SAME, \
	[FACT_REMOVED] = SAME, [FACT_LOST] = SAME, [FACT_COMPLAINED] = SAME
/* clang-format on */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const unsigned char steps[FATES][FACTS] = {
	[FATE_QUEUED] =
		{OPEN, [FACT_ACCEPTED] = FATE_QUEUED, [FACT_LOST] = FATE_UNKNOWN},
	[FATE_DEFERRED] =
		{OPEN, [FACT_ACCEPTED] = FATE_DEFERRED, [FACT_LOST] = FATE_UNKNOWN},
	[FATE_HANDED_ON] =
		{OPEN, [FACT_ACCEPTED] = FATE_HANDED_ON, [FACT_LOST] = FATE_UNKNOWN},
	/* What is found later counts. */
	[FATE_UNKNOWN] = {OPEN, [FACT_ACCEPTED] = FATE_UNKNOWN, [FACT_LOST] = SAME},
	/* A later report, or another address behind an alias. */
	[FATE_DELIVERED] = {TOLD, [FACT_BOUNCED] = FATE_BOUNCED, [FACT_EXPIRED] = FATE_EXPIRED,
		[FACT_DISCARDED] = FATE_DISCARDED, [FACT_COMPLAINED] = FATE_COMPLAINED},
	[FATE_BOUNCED] = {TOLD},
	[FATE_EXPIRED] = {TOLD},
	[FATE_DISCARDED] =
		{TOLD, [FACT_BOUNCED] = FATE_BOUNCED, [FACT_EXPIRED] = FATE_EXPIRED},
	/* An attempt that was under way goes on. */
	[FATE_REMOVED] =
		{TOLD, [FACT_DELIVERED] = FATE_DELIVERED, [FACT_BOUNCED] = FATE_BOUNCED},
	[FATE_COMPLAINED] = {TOLD},
};
#pragma GCC diagnostic pop

const char *fate_name(enum fate fate)
{
	assert(fate < FATES);
	return fates[fate];
}

const char *fact_name(enum fact fact)
{
	assert(fact < FACTS);
	return facts[fact];
}

struct fate_step fate_next(enum fate fate, enum fact fact)
{
	unsigned char next = steps[fate][fact];

	return next == SAME ? (struct fate_step){fate, false}
			    : (struct fate_step){(enum fate)next, true};
}

bool fate_is_open(enum fate fate)
{
	return fate == FATE_QUEUED || fate == FATE_DEFERRED ||
	       fate == FATE_HANDED_ON;
}

bool fact_is_attempt(enum fact fact)
{
	return fact == FACT_DEFERRED || fact == FACT_DELIVERED ||
	       fact == FACT_BOUNCED;
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
