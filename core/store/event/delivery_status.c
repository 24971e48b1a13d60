/*
 * delivery_status: the states of a delivery, and which of several decides.
 *
 * A recipient has a delivery for each address that its email is delivered to in a queue message
 * (delivery_tree). `steps` has the next state for each state and event; `ranks` orders the states.
 *
 * Threads: any; the tables are constant.
 */
#include "core/store/event/delivery_status.h"

#include <assert.h>

static const char *const statuses[] = {
	[DELIVERY_QUEUED] = "queued",
	[DELIVERY_DEFERRED] = "deferred",
	[DELIVERY_HANDED_ON] = "handed_on",
	[DELIVERY_DELIVERED] = "delivered",
	[DELIVERY_BOUNCED] = "bounced",
	[DELIVERY_EXPIRED] = "expired",
	[DELIVERY_DISCARDED] = "discarded",
	[DELIVERY_REMOVED] = "removed",
	[DELIVERY_UNKNOWN] = "unknown",
	[DELIVERY_COMPLAINED] = "complained",
	[DELIVERY_SUPPRESSED] = "suppressed",
};
const struct row_words delivery_status_words = {statuses, DELIVERY_STATUSES, false};

static const char *const kinds[EVENT_KINDS + 1] = {
	[EVENT_ACCEPTED] = "accepted",
	[EVENT_DEFERRED] = "deferred",
	[EVENT_HANDED_ON] = "handed_on",
	[EVENT_DELIVERED] = "delivered",
	[EVENT_BOUNCED] = "bounced",
	[EVENT_EXPIRED] = "expired",
	[EVENT_DISCARDED] = "discarded",
	[EVENT_REMOVED] = "removed",
	[EVENT_LOST] = "unknown",
	[EVENT_COMPLAINED] = "complained",
	[EVENT_SUPPRESSED] = "suppressed",
	[EVENT_CANCELED] = "canceled",
	[EVENT_FAILED] = "failed",
	[EVENT_UNSUBSCRIBED] = "unsubscribed",
	[COUNTED_REFUSED] = "refused",
};
const struct row_words event_kind_words = {kinds, EVENT_KINDS, false};
const struct row_words counted_words = {kinds, COUNTED_REFUSED + 1, false};

/*
 * The next state of a delivery, by the kind of the event. Log lines lead to the same final state in
 * any order: a state gives way only to a more certain one, or to a worse one if two lines about one
 * address differ. Only UNKNOWN gives way to everything that is found later.
 */
/* clang-format off */
#define QUEUED     DELIVERY_QUEUED
#define DEFERRED   DELIVERY_DEFERRED
#define HANDED_ON  DELIVERY_HANDED_ON
#define DELIVERED  DELIVERY_DELIVERED
#define BOUNCED    DELIVERY_BOUNCED
#define EXPIRED    DELIVERY_EXPIRED
#define DISCARDED  DELIVERY_DISCARDED
#define REMOVED    DELIVERY_REMOVED
#define UNKNOWN    DELIVERY_UNKNOWN
#define COMPLAINED DELIVERY_COMPLAINED
#define SUPPRESSED DELIVERY_SUPPRESSED
static const unsigned char steps[DELIVERY_STATUSES][EVENT_KINDS] = {
	/*                       accepted    deferred    handed on   delivered   bounced     expired     discarded   removed     lost        complained  suppressed  canceled    failed      unsubscribed */
	[DELIVERY_QUEUED]     = {QUEUED,     DEFERRED,   HANDED_ON,  DELIVERED,  BOUNCED,    EXPIRED,    DISCARDED,  REMOVED,    UNKNOWN,    COMPLAINED, SUPPRESSED, QUEUED,     QUEUED,     QUEUED},
	[DELIVERY_DEFERRED]   = {DEFERRED,   DEFERRED,   HANDED_ON,  DELIVERED,  BOUNCED,    EXPIRED,    DISCARDED,  REMOVED,    UNKNOWN,    COMPLAINED, DEFERRED,   DEFERRED,   DEFERRED,   DEFERRED},
	[DELIVERY_HANDED_ON]  = {HANDED_ON,  HANDED_ON,  HANDED_ON,  HANDED_ON,  BOUNCED,    HANDED_ON,  DISCARDED,  HANDED_ON,  UNKNOWN,    COMPLAINED, HANDED_ON,  HANDED_ON,  HANDED_ON,  HANDED_ON},
	[DELIVERY_DELIVERED]  = {DELIVERED,  DELIVERED,  HANDED_ON,  DELIVERED,  BOUNCED,    DELIVERED,  DISCARDED,  DELIVERED,  DELIVERED,  COMPLAINED, DELIVERED,  DELIVERED,  DELIVERED,  DELIVERED},
	[DELIVERY_BOUNCED]    = {BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED,    BOUNCED},
	[DELIVERY_EXPIRED]    = {EXPIRED,    EXPIRED,    HANDED_ON,  DELIVERED,  BOUNCED,    EXPIRED,    DISCARDED,  EXPIRED,    EXPIRED,    COMPLAINED, EXPIRED,    EXPIRED,    EXPIRED,    EXPIRED},
	[DELIVERY_DISCARDED]  = {DISCARDED,  DISCARDED,  DISCARDED,  DISCARDED,  BOUNCED,    DISCARDED,  DISCARDED,  DISCARDED,  DISCARDED,  DISCARDED,  DISCARDED,  DISCARDED,  DISCARDED,  DISCARDED},
	[DELIVERY_REMOVED]    = {REMOVED,    REMOVED,    HANDED_ON,  DELIVERED,  BOUNCED,    EXPIRED,    DISCARDED,  REMOVED,    REMOVED,    COMPLAINED, REMOVED,    REMOVED,    REMOVED,    REMOVED},
	[DELIVERY_UNKNOWN]    = {UNKNOWN,    DEFERRED,   HANDED_ON,  DELIVERED,  BOUNCED,    EXPIRED,    DISCARDED,  REMOVED,    UNKNOWN,    COMPLAINED, SUPPRESSED, UNKNOWN,    UNKNOWN,    UNKNOWN},
	[DELIVERY_COMPLAINED] = {COMPLAINED, COMPLAINED, COMPLAINED, COMPLAINED, BOUNCED,    COMPLAINED, DISCARDED,  COMPLAINED, COMPLAINED, COMPLAINED, COMPLAINED, COMPLAINED, COMPLAINED, COMPLAINED},
	[DELIVERY_SUPPRESSED] = {SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED, SUPPRESSED},
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
#undef SUPPRESSED

/* The delivery with the highest rank decides. */
static const unsigned char ranks[DELIVERY_STATUSES] = {
	[DELIVERY_BOUNCED]    = 11,
	[DELIVERY_EXPIRED]    = 10,
	[DELIVERY_SUPPRESSED] = 9,
	[DELIVERY_REMOVED]    = 8,
	[DELIVERY_DISCARDED]  = 7,
	[DELIVERY_DEFERRED]   = 6,
	[DELIVERY_HANDED_ON]  = 5,
	[DELIVERY_QUEUED]     = 4,
	[DELIVERY_COMPLAINED] = 3,
	[DELIVERY_UNKNOWN]    = 2,
	[DELIVERY_DELIVERED]  = 1,
};
/* clang-format on */

const char *delivery_status_name(enum delivery_status status)
{
	assert(status < DELIVERY_STATUSES);
	return statuses[status];
}

const char *event_kind_name(enum event_kind kind)
{
	assert(kind <= COUNTED_REFUSED);
	return kinds[kind];
}

enum delivery_status delivery_status_next(enum delivery_status status, enum event_kind kind)
{
	return (enum delivery_status)steps[status][kind];
}

enum delivery_status delivery_status_of_event(enum event_kind kind)
{
	return delivery_status_next(DELIVERY_QUEUED, kind);
}

enum event_kind delivery_status_event(enum delivery_status status)
{
	static const enum event_kind told[DELIVERY_STATUSES] = {
		[DELIVERY_QUEUED] = EVENT_ACCEPTED,
		[DELIVERY_DEFERRED] = EVENT_DEFERRED,
		[DELIVERY_HANDED_ON] = EVENT_HANDED_ON,
		[DELIVERY_DELIVERED] = EVENT_DELIVERED,
		[DELIVERY_BOUNCED] = EVENT_BOUNCED,
		[DELIVERY_EXPIRED] = EVENT_EXPIRED,
		[DELIVERY_DISCARDED] = EVENT_DISCARDED,
		[DELIVERY_REMOVED] = EVENT_REMOVED,
		[DELIVERY_UNKNOWN] = EVENT_LOST,
		[DELIVERY_COMPLAINED] = EVENT_COMPLAINED,
		[DELIVERY_SUPPRESSED] = EVENT_SUPPRESSED,
	};

	return told[status];
}

bool delivery_status_is_worse(enum delivery_status status, enum delivery_status than)
{
	return ranks[status] > ranks[than];
}

bool delivery_is_open(enum delivery_status status)
{
	return status == DELIVERY_QUEUED || status == DELIVERY_DEFERRED ||
	       status == DELIVERY_HANDED_ON;
}

bool event_is_attempt(enum event_kind kind)
{
	return kind == EVENT_DEFERRED || kind == EVENT_DELIVERED || kind == EVENT_BOUNCED;
}

const char *delivery_last_event(const size_t counts[static DELIVERY_STATUSES])
{
	/* From the worst to the best. */
	static const struct {
		enum delivery_status status;
		const char *event;
	} told[] = {
		{DELIVERY_BOUNCED, "bounced"},
		{DELIVERY_EXPIRED, "bounced"},
		{DELIVERY_REMOVED, "failed"},
		{DELIVERY_DISCARDED, "failed"},
		{DELIVERY_SUPPRESSED, "suppressed"},
		{DELIVERY_COMPLAINED, "complained"},
		{DELIVERY_UNKNOWN, "sent"},
		{DELIVERY_DELIVERED, "delivered"},
	};

	if (counts[DELIVERY_DEFERRED])
		return "delivery_delayed";
	if (counts[DELIVERY_QUEUED] || counts[DELIVERY_HANDED_ON])
		return "sent";
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (counts[told[i].status])
			return told[i].event;
	return "sent";
}
