/*
 * op_held: mail that the rules have Postfix hold, and what is decided about it.
 *
 * Only root may read and change Postfix's queue. So an operation writes down what an admin has
 * decided, with the entry in the audit log, and `postern held serve`, which runs as root, carries
 * it out; it also reads what these operations show of a message.
 */
#ifndef POSTERN_OPS_OP_HELD_H
#define POSTERN_OPS_OP_HELD_H

#include "core/ops/op.h"

enum { OP_HELD_MAX = 200 }; /* messages that are decided about at once */

struct op_held {
	const char *id;
};

struct op_held_decision {
	const char *decision;     /* `recheck`, `release` or `drop` */
	struct op_items messages; /* of struct op_held */
};

/* Gives held messages, the newest first. */
extern const struct operation op_held_list;
/* Gives one, with its header. */
extern const struct operation op_held_get;
/* Gives how many were `decided` about, and how many are `gone`. */
extern const struct operation op_held_decide;

#endif
