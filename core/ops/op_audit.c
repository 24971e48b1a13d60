/*
 * op_audit: the audit log.
 */
#include "core/ops/op_audit.h"

#include "core/store/store_audit.h"

static const struct op_field fields[] = {
	{OP_FIELD(op_audit, company_id, OP_ID), .removed = true},
	{OP_FIELD(op_audit, object, OP_WORDS)},
	{OP_FIELD(op_audit, actor, OP_WORDS)},
	{OP_FIELD(op_audit, action, OP_WORDS)},
	{OP_FIELD(op_audit, since, OP_TIME)},
	{0},
};

static int list_audit(struct op *op, const void *arg, struct err *err)
{
	const struct op_audit *input = arg;
	const struct audit_scope scope = {
		.company_id = op_company_of(op, input->company_id),
		.object = input->object,
		.actor = input->actor,
		.action = input->action,
		.since_us = input->since,
		.of_member = op->company_id != NULL,
	};
	struct audit_list entries = {0};
	struct page_end end;
	int found = store_audit_page(op->db, &scope, &op->page, &entries, &end, err);

	if (found > 0)
		op_give_page(op, &store_audit_type, entries.items, entries.n, &end);
	return found;
}

const struct operation op_audit_list = {
	fields, sizeof(struct op_audit), .list = OP_BACKWARDS, .run = list_audit};
