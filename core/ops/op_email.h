/*
 * op_email: operations on an email: reschedule or cancel it while it waits in the outbox, send it
 * again afterwards.
 */
#ifndef POSTERN_OPS_OP_EMAIL_H
#define POSTERN_OPS_OP_EMAIL_H

#include "core/ops/op.h"

struct op_email {
	int64_t scheduled_us; /* when it is to be sent */
};

/* Both give the email's id. ERR_INVALID if it is too late: it is no longer scheduled, or the milter
 * has decided about it. */
extern const struct operation op_email_schedule;
extern const struct operation op_email_cancel;

struct op_resend {
	const char *to;     /* comma-separated mailboxes; NULL: the original recipients */
	const char *key_id; /* another key of its company to send with; NULL: its own */
};

/* Makes a new email from the kept message, with a new id and ticket, under the present rules and
 * limits, and gives the new id. Message-ID and Date are new, unless the client chose them. If the
 * old email never reached the milter, it is canceled. check() takes three times the message's size
 * of memory. ERR_INVALID says why it cannot be sent again; ERR_TEMPORARY if there is no room. */
extern const struct operation op_email_resend;

#endif
