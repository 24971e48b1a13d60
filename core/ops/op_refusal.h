/*
 * op_refusal: what the rules refused, and what they would have refused under another policy.
 */
#ifndef POSTERN_OPS_OP_REFUSAL_H
#define POSTERN_OPS_OP_REFUSAL_H

#include "core/ops/op.h"

struct op_refusal {
	const char *company_id; /* owner of the domain at the time; may be removed */
	const char *domain;
	enum op_flag learnt; /* only what passed, because the policy of its domain is `learn` */
	int64_t limit;
	const char *after; /* the `next` of the previous page */
};

/* Gives refused mail without an email, newest first; equal messages are one row. `next` is where
 * the next page begins. A row that is counted again moves to the front; the others stay. */
extern const struct operation op_refusal_list;
/* Lists refusals together with refused emails, which have an `email_id`: one page. */
extern const struct operation op_refusal_list_all;

#endif
