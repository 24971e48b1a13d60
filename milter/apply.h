/*
 * apply: carries a verdict out.
 */
#ifndef POSTERN_MILTER_APPLY_H
#define POSTERN_MILTER_APPLY_H

#include <stdbool.h> /* before mfapi.h, which else makes a bool of its own */
#include <libmilter/mfapi.h>

#include "core/store/store_refusal.h"
#include "milter/facts.h"
#include "milter/service.h"
#include "milter/session.h"

/*
 * record: what the milter writes down about a message, before it answers.
 */

/* Each waits until it is durable: 0 or -1. */

/* The email of the ticket is sent, but to nobody who is suppressed: that is recorded of these.
 * ERR_NOT_FOUND when it is gone. */
int record_sent(struct service *service, const struct milter_session *session,
	const struct suppressed_list *suppressed, struct err *err);

struct record_refusal {
	enum verdict_reason reason;
	enum refusal_outcome outcome;
	bool own; /* the message is the email of its ticket */
};

/* The message is refused, or would be: so is the email of its ticket when it is
 * that email; any other message is noted, and leaves the email as it is. */
int record_refused(struct service *service, const struct milter_session *session,
	const struct facts *facts, const struct record_refusal *refusal, struct err *err);

/* Where the ticket of a probe is the envelope sender, as postfix-conf/check has it on
 * port 25, on which Postfix takes no recipient of that domain: notes that the milter was
 * asked. Nothing else follows from it. Strangers' senders are not looked at. */
void record_probe_sender(struct service *service, const struct milter_session *session);

/* Decides about a message at its end: puts the recipients of its email in the
 * place of the ticket, records the decision, sets the reply, counts the message
 * and logs one line. The result is the answer to Postfix: accept only when all
 * of it has worked, so that what was accepted is recorded. */
sfsistat apply_verdict(SMFICTX *ctx, struct service *service, const struct milter_session *session,
	const struct facts *facts);

#endif
