/*
 * op_outbox: the emails that wait in the outbox, and operations on them.
 */
#include "core/ops/op_outbox.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/store_audit.h"
#include "core/store/outbox/store_backlog.h"
#include "core/store/outbox/store_outbox.h"
#include "core/store/company/store_pause.h"

enum { COMPANIES_MAX = 1000, BREAKS_SHOWN = 20 };

#define WHOSE_FIELDS                                                                               \
	{OP_FIELD(op_outbox, company_id, OP_ID)}, {OP_FIELD(op_outbox, domain, OP_TEXT)},          \
	{                                                                                          \
		OP_FIELD(op_outbox, key_id, OP_ID)                                                 \
	}
static const struct op_field list_fields[] = {{OP_FIELD(op_outbox, company_id, OP_ID)}, {0}};
static const struct op_field whose_fields[] = {WHOSE_FIELDS, {0}};
static const struct op_field pause_fields[] = {
	WHOSE_FIELDS, {OP_FIELD(op_outbox, reason, OP_TEXT)}, {0}};

/* Adds the rate, the circuit breaker, and the pauses of the company (NULL: of all). */
static int add_flow(
	struct op *op, const char *company_id, int64_t *rate_r, bool *open_r, struct err *err)
{
	bool all = op->company_id == NULL;
	json_t *more = op_more(op), *history = json_array(), *paused = json_array();
	const struct outbox_break *last;
	struct break_list breaks = {0};
	struct pause_list pauses = {0};

	if (store_outbox_rate(op->db, op->now_us, rate_r, err) < 0 ||
		store_break_list(op->db, BREAKS_SHOWN, &breaks, err) < 0 ||
		store_pause_list(op->db, company_id, &pauses, err) < 0) {
		store_break_list_free(&breaks);
		json_decref(history);
		json_decref(paused);
		return -1;
	}
	last = breaks.n > 0 ? &breaks.items[0] : NULL;
	*open_r = last && last->closed_us == 0;
	for (size_t i = 0; i < breaks.n && all; i++)
		json_array_append_new(
			history, row_json(&store_break_type, &breaks.items[i], ROW_SHOWN));
	json_object_set_new(more, "rate_per_hour", all ? json_integer(*rate_r) : json_null());
	json_object_set_new(more, "breaker",
		json_pack("{s:s, s:s?, s:s?, s:o, s:o}", "state", *open_r ? "open" : "closed",
			"cause", *open_r ? last->cause : NULL, "words",
			*open_r && all ? last->words : NULL, "since_at",
			row_json_time(*open_r ? last->opened_us : 0), "history", history));
	for (size_t i = 0; i < pauses.n; i++)
		json_array_append_new(
			paused, row_json(&store_pause_counted_type, &pauses.items[i], ROW_SHOWN));
	json_object_set_new(more, "pauses", paused);
	store_pause_list_free(&pauses);
	store_break_list_free(&breaks);
	return 0;
}

/* Reads what waits for a company (NULL: for each), and estimates when it will have left. Companies
 * take turns, one email each: until the last one of a company leaves, as many of each other company
 * have left, or all that it has. */
static int read_backlog(struct op *op, const char *company_id, int64_t rate,
	struct backlog_list *list_r, struct err *err)
{
	struct backlog_list list;
	size_t own = 0;

	if (store_backlog_list(op->db, op->company_id, COMPANIES_MAX, op->now_us, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n && rate > 0; i++) {
		struct backlog *one = &list.items[i];
		int64_t before = 0;

		for (size_t k = 0; k < list.n; k++)
			before += list.items[k].waiting < one->waiting ? list.items[k].waiting
								       : one->waiting;
		if (one->waiting > 0)
			one->done_us = op->now_us + before * 3600 / rate * SECOND_US;
	}
	*list_r = list;
	if (company_id == NULL)
		return 0;
	while (own < list.n && !str_eq(list.items[own].id, company_id))
		own++;
	if (own == list.n) { /* not among the first ones */
		store_backlog_list_free(&list);
		return store_backlog_list(op->db, company_id, 1, op->now_us, list_r, err) < 0 ? -1
											      : 0;
	}
	for (size_t i = 0; i < list.n; i++)
		if (i != own)
			row_clear(&store_backlog_type, &list.items[i]);
	list.items[0] = list.items[own];
	list_r->n = 1;
	return 0;
}

static int list_outbox(struct op *op, const void *arg, struct err *err)
{
	const struct op_outbox *input = arg;
	const char *company_id = op_company_of(op, input->company_id);
	struct backlog_list backlog;
	int64_t rate, waiting = 0, paused = 0, scheduled = 0;
	struct page_end end = {0};
	bool open, cut;

	if (add_flow(op, company_id, &rate, &open, err) < 0 ||
		read_backlog(op, company_id, open || op->company_id ? 0 : rate, &backlog, err) < 0)
		return -1;
	cut = backlog.n == COMPANIES_MAX;
	for (size_t i = 0; i < backlog.n; i++) {
		const struct backlog *one = &backlog.items[i];

		waiting += one->waiting;
		paused += one->paused;
		scheduled += one->scheduled;
		cut |= one->waiting >= BACKLOG_MAX || one->paused >= BACKLOG_MAX ||
		       one->scheduled >= BACKLOG_MAX;
	}
	json_object_update_new(
		op_more(op), json_pack("{s:I, s:I, s:I, s:b}", "waiting", waiting, "paused", paused,
				     "scheduled", scheduled, "at_least", (int)cut));
	op_give_page(op, &store_backlog_type, backlog.items, backlog.n, &end);
	return 1;
}

/* The object of the input, with its display name. */
struct pause_object {
	struct outbox_whose whose;
	const char *kind;
	char owner[ID_SIZE]; /* the company's id */
	char *name;
	char *domain; /* normalized */
	char company_id[ID_SIZE], key_id[ID_SIZE];
};

static void pause_object_clear(struct pause_object *object)
{
	free(object->name);
	free(object->domain);
}
#define _cleanup_pause_object_ __attribute__((cleanup(pause_object_clear)))

/* Finds the object. The caller clears it, also after a failure. Returns 0 or -1. */
static int find_object(const struct op *op, const struct op_outbox *input,
	struct pause_object *object, struct err *err)
{
	int given = (input->company_id != NULL) + (input->domain != NULL) + (input->key_id != NULL);
	int found = 0;

	if (given != 1)
		return err_set(err, ERR_INVALID,
			op->actor == OP_COMMAND
				? "one of --company, --domain and --key has to be given"
				: "one of `company_id`, `domain` and `key_id` has to be given");
	object->kind = input->company_id ? "company" : input->domain ? "domain" : "key";
	if (input->domain && addr_domain_normalize(input->domain, &object->domain, err) < 0)
		return -1;
	object->whose.domain = object->domain;
	if (input->key_id && id_parse(input->key_id, object->key_id))
		object->whose.key_id = object->key_id;
	if (input->company_id && id_parse(input->company_id, object->company_id))
		object->whose.company_id = object->company_id;
	if (object->whose.domain || object->whose.key_id || object->whose.company_id)
		found = store_pause_owner(
			op->db, op->company_id, &object->whose, object->owner, &object->name, err);
	if (found != 0)
		return found < 0 ? -1 : 0;
	return err_set(err, ERR_NOT_FOUND, "there is no %s %s", object->kind,
		object->domain  ? object->domain
		: input->key_id ? input->key_id
				: input->company_id);
}

static int pause(struct op *op, const void *arg, struct err *err)
{
	const struct op_outbox *input = arg;
	_cleanup_pause_object_ struct pause_object object = {0};
	struct pause pause = {.created_us = op->now_us};

	if (find_object(op, input, &object, err) < 0)
		return -1;
	id_new(pause.id);
	memcpy(pause.company_id, object.owner, ID_SIZE);
	memcpy(pause.key_id, object.key_id, ID_SIZE);
	pause.kind = mem_strdup(object.kind);
	pause.name = mem_strdup(object.name);
	pause.domain = mem_strdup(object.domain);
	pause.reason = mem_strdup(input->reason ? input->reason : "");
	if (store_pause_add(op->db, &pause, err) < 0) {
		store_pause_clear(&pause);
		return -1;
	}
	op_give(op, &store_pause_type, &pause);
	return 1;
}

static int resume(struct op *op, const void *arg, struct err *err)
{
	_cleanup_pause_object_ struct pause_object object = {0};
	struct pause pause;
	int found;

	if (find_object(op, arg, &object, err) < 0)
		return -1;
	found = store_pause_find(op->db, &object.whose, &pause, err);
	if (found == 0)
		return err_set(
			err, ERR_NOT_FOUND, "the %s %s is not paused", object.kind, object.name);
	if (found < 0)
		return -1;
	found = store_pause_remove(op->db, pause.id, err);
	op_give(op, &store_pause_type, &pause);
	return found;
}

struct cancel_step {
	struct op *op;
	const struct pause_object *object;
};

static int cancel_step(struct db *db, void *arg, struct err *err)
{
	const struct cancel_step *step = arg;
	struct op *op = step->op;
	struct outbox_cancel some = {
		.company_id = step->object->owner,
		.domain = step->object->whose.domain,
		.key_id = step->object->whose.key_id,
		.mark = op->mark,
		.canceled = json_integer_value(json_object_get(op_more(op), "canceled")),
	};
	const struct pause_object *object = step->object;
	int result;

	/* One audit entry for all; each email has its own event. */
	if (op->mark == 0 && store_audit_add(op->db,
				     &(struct audit_action){.company_id = object->owner,
					     .action = "outbox.cancel",
					     .object_id = *object->key_id  ? object->key_id
							  : object->domain ? object->domain
									   : object->owner,
					     .object_name = object->name,
					     .after = json_pack("{s:s}", "kind", object->kind)},
				     err) < 0)
		return -1;
	result = store_outbox_cancel_some(db, &some, op->now_us, err);
	if (result < 0)
		return -1;
	op->mark = some.mark;
	json_object_set_new(op_more(op), "canceled", json_integer(some.canceled));
	return result;
}

static int cancel(struct op *op, const void *arg, struct err *err)
{
	_cleanup_pause_object_ struct pause_object object = {0};
	struct cancel_step step = {op, &object};

	if (find_object(op, arg, &object, err) < 0)
		return -1;
	json_object_set_new(op_more(op), "kind", json_string(object.kind));
	json_object_set_new(op_more(op), "name", json_string(object.name));
	return db_atomic(op->db, cancel_step, &step, err);
}

#define INPUT sizeof(struct op_outbox)

const struct operation op_outbox_list = {list_fields, INPUT, .list = OP_WHOLE, .run = list_outbox};
const struct operation op_outbox_pause = {pause_fields, INPUT, .run = pause};
const struct operation op_outbox_resume = {whose_fields, INPUT, .run = resume};
const struct operation op_outbox_cancel = {whose_fields, INPUT, .run = cancel};
