/*
 * record: what the milter writes down about a message, before it answers.
 */
#ifndef POSTERN_MILTER_RECORD_H
#define POSTERN_MILTER_RECORD_H

#include "core/store/store_refusal.h"
#include "milter/facts.h"
#include "milter/service.h"
#include "milter/session.h"

/* Each waits until it is durable: 0 or -1. */

/* The email of the ticket is sent. ERR_NOT_FOUND when it is gone. */
int record_sent(struct service *service, const struct session *session,
	struct err *err);

struct record_refusal {
	enum verdict_reason reason;
	enum refusal_outcome outcome;
	bool own; /* the message is the email of its ticket */
};

/* The message is refused, or would be: so is the email of its ticket when it is
 * that email; any other message is noted, and leaves the email as it is. */
int record_refused(struct service *service, const struct session *session,
	const struct facts *facts, const struct record_refusal *refusal,
	struct err *err);

/* Notes that the milter was asked about the message of a probe. */
int record_probe(struct service *service, const struct session *session,
	struct err *err);

#endif
