/*
 * op_email: what can be done with an email that waits in the outbox.
 */
#include "core/ops/op_email.h"

#include "core/store/store_audit.h"
#include "core/store/store_email.h"
#include "core/store/store_outbox.h"

/* Whether there is such an email, for who asks: 1, 0, -1. */
static int find_email(const struct op *op, struct err *err)
{
	const struct email_scope scope = {.company_id = op->company_id,
		.domain = op->domain,
		.sent_only = op->actor == OP_KEY};
	int64_t seq;

	return store_email_seq(op->db, op->id, NULL, &scope, &seq, err);
}

static int give(struct op *op)
{
	json_t *more = op_more(op);

	json_object_set_new(more, "object", json_string("email"));
	json_object_set_new(more, "id", json_string(op->id));
	return 1;
}

static int schedule(struct op *op, const void *arg, struct err *err)
{
	const struct op_email *input = arg;
	int found = find_email(op, err);

	if (found <= 0)
		return found;
	found = store_outbox_schedule(op->db, op->id, input->scheduled_us, op->now_us, err);
	if (found == 0)
		return err_set(err, ERR_INVALID,
			"the email is not scheduled, or its time has come already");
	return found < 0 ? -1 : give(op);
}

/* What clients do with their own emails is told by these; admins are told of. */
static int add_audit_entry(struct op *op, struct err *err)
{
	return store_audit_add(op->db,
		&(struct audit_action){.company_id = op->company_id,
			.action = "email.cancel",
			.object_id = op->id,
			.object_name = op->id,
			.after = "{\"last_event\":\"canceled\"}"},
		err);
}

static int cancel(struct op *op, const void *arg, struct err *err)
{
	int found = find_email(op, err);

	(void)arg;
	if (found <= 0)
		return found;
	found = store_outbox_cancel(op->db, op->id, op->now_us, err);
	if (found == 0)
		return err_set(err, ERR_INVALID,
			"the email cannot be canceled any more: it does not wait");
	if (found < 0 || (op->actor != OP_KEY && add_audit_entry(op, err) < 0))
		return -1;
	return give(op);
}

const struct operation op_email_schedule = {NULL, sizeof(struct op_email), .run = schedule};
const struct operation op_email_cancel = {.run = cancel};
