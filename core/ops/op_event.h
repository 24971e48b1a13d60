/*
 * op_event: the events of all emails, in the order in which they were recorded.
 */
#ifndef POSTERN_OPS_OP_EVENT_H
#define POSTERN_OPS_OP_EVENT_H

#include "core/ops/op.h"

struct op_event_list {
	const char *company_id;
	const char *domain;
	const char *kind;      /* a name of event_kind_words */
	const char *recipient; /* an address */
	int64_t limit;
	/* Cursors; not both. They name an event by its email's id and its own, because a number
	 * would tell a company how many events all others have. */
	const char *after;  /* the `next` of a page: older events */
	const char *before; /* the `newest` of a page: events recorded since */
};

/* Gives a page of events, newest first. Further members: `next`, `newest`, and `looked_until` if
 * the search stopped before the page was full. */
extern const struct operation op_event_list;

#endif
