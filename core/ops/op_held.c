/*
 * op_held: held mail.
 */
#include "core/ops/op_held.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/policy/verdict.h"
#include "core/store/store_audit.h"
#include "core/store/host/store_held.h"

static const struct op_field one_fields[] = {
	{OP_FIELD(op_held, id, OP_ID), .required = true},
	{0},
};
static const struct op_field list_fields[] = {
	{OP_FIELD(op_held, company_id, OP_ID)},
	{0},
};
static const struct op_field decision_fields[] = {
	{OP_FIELD(op_held_decision, decision, OP_TEXT), .required = true},
	{OP_FIELD(op_held_decision, messages, OP_ITEMS), .required = true, .max = OP_HELD_MAX,
		.fields = one_fields, .size = sizeof(struct op_held)},
	{0},
};

static void explain_reason(struct held *held)
{
	held->reason_text = mem_strdup(verdict_reason_words(held->reason));
}

static int list_held(struct op *op, const void *arg, struct err *err)
{
	const struct op_held *input = arg;
	struct held_list list = {0};
	struct page_end end;
	int found = store_held_page(
		op->db, op_company_of(op, input->company_id), &op->page, &list, &end, err);

	if (found <= 0)
		return found;
	for (size_t i = 0; i < list.n; i++)
		explain_reason(&list.items[i]);
	op_give_page(op, &store_held_type, list.items, list.n, &end);
	return 1;
}

static int get_held(struct op *op, const void *arg, struct err *err)
{
	struct held held;
	int found = store_held_find(op->db, op->object, &held, err);

	(void)arg;
	if (found <= 0)
		return found;
	explain_reason(&held);
	op_give(op, &store_held_whole_type, &held);
	return 1;
}

/* Decides about one message. The audit entry describes it, because its row is removed with it.
 * Returns 1, 0 if it is not held any more, or -1. */
static int decide_held(struct op *op, const char *id, enum held_decision decision, struct err *err)
{
	static const char *const actions[] = {[HELD_RECHECK] = "held.recheck",
		[HELD_RELEASE] = "held.release",
		[HELD_DROP] = "held.drop"};
	char parsed[ID_SIZE];
	struct held held;
	int found = id_parse(id, parsed) ? store_held_find(op->db, parsed, &held, err) : 0;

	if (found <= 0)
		return found;
	found = store_held_decide(op->db, parsed, decision, op->now_us, err);
	if (found > 0 &&
		store_audit_add(op->db,
			&(struct audit_action){.action = actions[decision],
				.object_id = held.id,
				.object_name = held.queue_id,
				.after = json_pack("{s:s, s:s, s:s, s:s}", "queue_id",
					held.queue_id, "from", held.from, "sender", held.sender,
					"reason", verdict_reason_words(held.reason))},
			err) < 0)
		found = -1;
	store_held_clear(&held);
	return found;
}

static int add_decision(struct op *op, const void *arg, struct err *err)
{
	const struct op_held_decision *input = arg;
	size_t decision = row_word(&held_decisions, input->decision);
	const struct op_held *items = input->messages.items;
	json_int_t decided = 0;

	if (decision == held_decisions.n)
		return op_refuse(op, err, "decision", "field is one of recheck, release and drop");
	for (size_t i = 0; i < input->messages.n; i++) {
		int found = decide_held(op, items[i].id, (enum held_decision)decision, err);

		if (found < 0)
			return -1;
		decided += found;
	}
	json_object_update_new(op_more(op), json_pack("{s:I, s:I}", "decided", decided, "gone",
						    (json_int_t)input->messages.n - decided));
	return 1;
}

const struct operation op_held_list = {
	list_fields, sizeof(struct op_held), .list = OP_SEARCH, .run = list_held};
const struct operation op_held_get = {.run = get_held};
const struct operation op_held_decide = {
	decision_fields, sizeof(struct op_held_decision), .run = add_decision};
