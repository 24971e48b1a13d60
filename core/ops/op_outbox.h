/*
 * op_outbox: what waits in the outbox, and what is done with the emails of a company, a
 * domain or a key that do.
 */
#ifndef POSTERN_OPS_OP_OUTBOX_H
#define POSTERN_OPS_OP_OUTBOX_H

#include "core/ops/op.h"

/* Whose emails are meant: one of the first three. Of a list: whose are told of. */
struct op_outbox {
	const char *company_id;
	const char *domain;
	const char *key_id;
	const char *reason; /* of a pause, for people */
};

/* What waits of each company (struct backlog), and besides: `waiting`, `paused` and
 * `scheduled` of all that are told of, `pauses`, `rate_per_hour` and `breaker`. Members see
 * neither the rate nor why the breaker is open, which others' mail tells. */
extern const struct operation op_outbox_list;

/* Both give the pause. ERR_EXISTS when there is one already; ERR_NOT_FOUND when there is none. */
extern const struct operation op_outbox_pause;
extern const struct operation op_outbox_resume;
/* In steps: gives how many emails it has `canceled`. */
extern const struct operation op_outbox_cancel;

#endif
