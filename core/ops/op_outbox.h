/*
 * op_outbox: the emails that wait in the outbox, and operations on those of a company, a domain or
 * a key.
 */
#ifndef POSTERN_OPS_OP_OUTBOX_H
#define POSTERN_OPS_OP_OUTBOX_H

#include "core/ops/op.h"

/* Whose emails: one of the first three is set. For a list: whose emails to show. */
struct op_outbox {
	const char *company_id;
	const char *domain;
	const char *key_id;
	const char *reason; /* of a pause, for people */
};

/* Gives what waits for each company (struct backlog), and in addition `waiting`, `paused` and
 * `scheduled` over all of them, `pauses`, `rate_per_hour` and `breaker`. Members see neither the
 * rate nor why the breaker is open, because these depend on other companies' mail. */
extern const struct operation op_outbox_list;

/* Both give the pause. ERR_EXISTS if there is one already; ERR_NOT_FOUND if there is none. */
extern const struct operation op_outbox_pause;
extern const struct operation op_outbox_resume;
/* Cancels in steps. Gives the number of emails as `canceled`. */
extern const struct operation op_outbox_cancel;

#endif
