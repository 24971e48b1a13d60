/*
 * op_email: what can be done with an email: while it waits in the outbox, to give it another
 * time or cancel it; afterwards, to send it again.
 */
#ifndef POSTERN_OPS_OP_EMAIL_H
#define POSTERN_OPS_OP_EMAIL_H

#include "core/ops/op.h"

struct op_email {
	int64_t scheduled_us; /* when it is to go out */
};

/* Of the email that op is about. Both give its id. ERR_INVALID when it is too late: it is
 * not scheduled any more; the milter has decided about it. */
extern const struct operation op_email_schedule;
extern const struct operation op_email_cancel;

struct op_resend {
	const char *to;     /* mailboxes, separated by commas; NULL: its own recipients */
	const char *key_id; /* of its company, in whose name it goes; NULL: its own */
};

/* Makes a new email of the message that is kept, with an id and a ticket of its own, under
 * the rules and the limits of now, and gives that id. Message-ID and Date are new, unless
 * the client chose them. One that never came to the milter is canceled with that. Its check
 * takes memory for the message three times. ERR_INVALID says why it cannot be sent again;
 * ERR_TEMPORARY when there is no room. */
extern const struct operation op_email_resend;

#endif
