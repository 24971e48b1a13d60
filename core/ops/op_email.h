/*
 * op_email: what can be done with an email that waits in the outbox.
 */
#ifndef POSTERN_OPS_OP_EMAIL_H
#define POSTERN_OPS_OP_EMAIL_H

#include "core/ops/op.h"

struct op_email {
	int64_t scheduled_us; /* when it is to go out */
};

/* Of the email that op is about. Both give its id. ERR_DENIED when it is too late: it is
 * not scheduled any more; the milter has decided about it. */
extern const struct operation op_email_schedule;
extern const struct operation op_email_cancel;

#endif
