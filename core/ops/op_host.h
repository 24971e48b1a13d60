/*
 * op_host: the hosts that share the database, and how they are.
 */
#ifndef POSTERN_OPS_OP_HOST_H
#define POSTERN_OPS_OP_HOST_H

#include "core/base/buf.h"
#include "core/ops/op.h"

/* Gives all hosts, by name; none where the database is of one host alone. */
extern const struct operation op_host_list;
/* Forgets a host that is gone for good; what is in its outbox is taken over by others. The object
 * is its name. Refused while it is alive. */
extern const struct operation op_host_remove;

/* Adds how many hosts there are, and which are not well, such as `3, 2 well; mx2 lost`; nothing
 * where the database is of one host alone. Returns 0 or -1. */
int host_summary(struct db *db, int64_t now_us, struct buf *words, struct err *err);

#endif
