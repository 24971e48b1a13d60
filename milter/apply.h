/*
 * apply: carries out a verdict.
 */
#ifndef POSTERN_MILTER_APPLY_H
#define POSTERN_MILTER_APPLY_H

#include <stdbool.h> /* before mfapi.h, which would define its own bool */
#include <libmilter/mfapi.h>

#include "core/store/host/store_refusal.h"
#include "milter/facts.h"
#include "milter/service.h"
#include "milter/session.h"

/*
 * record: what the milter stores about a message before it answers Postfix.
 */

/* Each function returns when the record is durable: 0, or -1 on error. */

/* Records that the email of the ticket is sent, and that the suppressed recipients are left
 * out. ERR_NOT_FOUND if the email was removed or refused; ERR_TEMPORARY if the facts say that it
 * was not recorded yet, but another message with its ticket was since. */
int record_sent(struct service *service, const struct milter_session *session,
	const struct facts *facts, struct err *err);

struct record_refusal {
	enum verdict_reason reason;
	enum refusal_outcome outcome;
	bool own; /* the message is the email of its ticket */
};

/* Records that the message was refused, or would have been. If the message is the email of its
 * ticket (own), that email becomes refused. Any other message becomes a refusal entry, and the
 * email stays as it is. */
int record_refused(struct service *service, const struct milter_session *session,
	const struct facts *facts, const struct record_refusal *refusal, struct err *err);

/* Records that the milter was asked about a probe whose ticket is the envelope sender.
 * postfix-conf/check sends such a probe to port 25, where Postfix accepts no recipient of the
 * tickets' domain. Has no other effect. Senders from external clients are ignored. */
void record_probe_sender(struct service *service, const struct milter_session *session);

/* Decides about a message at its end: replaces the ticket by the recipients of its email,
 * records the decision, sets the SMTP reply, counts the message and logs one line. Returns the
 * answer for Postfix. It is accept only if every step has succeeded, so every accepted email is
 * recorded. */
sfsistat apply_verdict(SMFICTX *ctx, struct service *service, const struct milter_session *session,
	const struct facts *facts);

#endif
