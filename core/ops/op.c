/*
 * op: code that all operations share.
 */
#include "core/ops/op.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "core/ops/dns_view.h"

void op_about(struct op *op, const char *text)
{
	/* Ids are compared in lower case. */
	op->object = text && id_parse(text, op->id) ? op->id : text;
}

void op_ready_clear(struct op_ready *ready)
{
	if (ready->data)
		ready->free(ready->data);
	*ready = (struct op_ready){0};
}

void op_clear(struct op *op)
{
	struct op_result *result = &op->result;

	if (result->type)
		row_list_free(result->type, result->rows.items, result->rows.n);
	json_decref(result->more);
	*result = (struct op_result){0};
	dns_view_free(op->view);
	op->view = NULL;
	json_decref(op->looked_up);
	op->looked_up = NULL;
	op_ready_clear(&op->ready);
}

json_t *op_item_json(const struct op *op, size_t i)
{
	const struct row_type *type = op->result.type;

	return row_json(type, (const char *)op->result.rows.items + i * type->size, ROW_SHOWN);
}

json_t *op_json(const struct op *op)
{
	json_t *object = op->result.rows.n > 0 ? op_item_json(op, 0) : NULL;

	if (object == NULL)
		return op->result.more ? json_incref(op->result.more) : json_null();
	if (op->result.more)
		json_object_update(object, op->result.more);
	return object;
}

json_t *op_list_json(const struct op *op)
{
	json_t *list = op->result.more ? json_incref(op->result.more) : json_object();
	json_t *data = json_array();

	for (size_t i = 0; i < op->result.rows.n; i++)
		json_array_append_new(data, op_item_json(op, i));
	json_object_set_new(list, "data", data);
	return list;
}

void op_give(struct op *op, const struct row_type *type, const void *item)
{
	static const struct page_end end = {0};

	op_give_page(op, type, mem_dup(item, type->size), 1, &end);
}

void op_give_page(struct op *op, const struct row_type *type, void *items, size_t n,
	const struct page_end *end)
{
	struct rows *rows = &op->result.rows;

	op->result.type = type;
	*rows = (struct rows){.items = items, .n = n, .more = end->more};
	memcpy(rows->next, end->next, ID_SIZE);
}

json_t *op_more(struct op *op)
{
	if (op->result.more == NULL)
		op->result.more = json_object();
	return op->result.more;
}

int op_refuse(const struct op *op, struct err *err, const char *field, const char *format, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list args;

	va_start(args, format);
	text = mem_vprintf(format, args);
	va_end(args);
	if (op->actor == OP_COMMAND)
		return err_set(err, ERR_INVALID, "--%s %s", field, text);
	return err_set(err, ERR_INVALID, "the `%s` %s", field, text);
}

int op_check_limit(const struct op *op, enum store_limit limit, const char *owner, struct err *err)
{
	const struct conf_limits *limits = &op->conf->limits;
	const int64_t max[LIMITS] = {
		[LIMIT_KEYS] = limits->keys,
		[LIMIT_DOMAINS] = limits->domains,
		[LIMIT_PENDING_DOMAINS] = limits->pending_domains,
		[LIMIT_EXEMPTIONS] = limits->exemptions,
		[LIMIT_USERS] = limits->users,
		[LIMIT_TOKENS] = limits->tokens,
		[LIMIT_WEBHOOKS] = limits->webhooks,
		[LIMIT_SUPPRESSIONS] = limits->suppressions,
	};

	if (op->actor == OP_COMMAND)
		return 0;
	return store_limit_check(op->db, limit, owner, max[limit], err);
}

const char *op_company_of(const struct op *op, const char *given)
{
	return op->company_id ? op->company_id : given;
}
