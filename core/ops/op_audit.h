/*
 * op_audit: the audit log.
 */
#ifndef POSTERN_OPS_OP_AUDIT_H
#define POSTERN_OPS_OP_AUDIT_H

#include "core/ops/op.h"

struct op_audit {
	const char *company_id; /* may be removed */
	const char *object;     /* its id or name */
	const char *actor;      /* likewise */
	const char *action;     /* `domain.activate`, or `domain` for all of them */
	int64_t since;
};

/* Gives entries, newest first. */
extern const struct operation op_audit_list;

#endif
