/*
 * op_held: mail that the rules have put on hold, and decisions about it.
 *
 * Only root may read and change Postfix's queue. So an operation stores the admin's decision with
 * its audit entry, and `postern held serve`, which root starts, carries it out; that program also
 * reads the messages for these operations.
 */
#ifndef POSTERN_OPS_OP_HELD_H
#define POSTERN_OPS_OP_HELD_H

#include "core/ops/op.h"

enum { OP_HELD_MAX = 200 }; /* messages per decision */

struct op_held {
	const char *id;
	const char *company_id; /* for the list: only messages that use a domain of this company */
};

struct op_held_decision {
	const char *decision;     /* `recheck`, `release` or `drop` */
	struct op_items messages; /* items of struct op_held */
};

/* Gives held messages, newest first. */
extern const struct operation op_held_list;
/* Gives one message, with its header. */
extern const struct operation op_held_get;
/* Gives the numbers of `decided` and of `gone` messages. */
extern const struct operation op_held_decide;

#endif
