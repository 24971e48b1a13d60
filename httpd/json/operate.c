/*
 * operate: how requests run the operations of core/ops.
 */
#include "httpd/json/operate.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/db_pool.h"
#include "httpd/worker/worker.h"

void operate_init(struct request *request, struct op *op)
{
	const struct admission *admission = &request->admission;
	const bool by_user = admission->is_admin;

	*op = (struct op){
		.db = request->db,
		.conf = request->conf ? request->conf : request->worker->conf,
		.now_us = clock_now_us(request->worker->shared->clock),
		.actor = by_user ? OP_USER : OP_KEY,
		.company_id = by_user ? admission_company(admission) : admission->key.company_id,
		.domain = by_user ? NULL : admission->key.domain,
		.session = by_user ? &admission->session : NULL,
		.client = request->client,
	};
	op_about(op, admission->param);
}

/* The fields of a body. */

static int read_items(const struct op *op, json_t *array, const struct op_field *field,
	struct op_items *items, struct err *err)
{
	size_t i, n = json_array_size(array);
	json_t *item;

	if (n == 0 || n > (size_t)field->max)
		return err_set(err, ERR_INVALID, "the `%s` are 1 to %lld at once", field->name,
			(long long)field->max);
	items->items = mem_alloc(n, field->size);
	items->n = n;
	json_array_foreach(array, i, item) {
		char *input = (char *)items->items + i * field->size;

		if (!json_is_object(item))
			err_set(err, ERR_INVALID, "it must be an object");
		else if (operate_read_body(op, item, field->fields, input, err) == 0)
			continue;
		return err_prefix(err, "%s[%zu]", field->name, i);
	}
	return 0;
}

/* True for a string without NUL. */
static bool is_text(const json_t *value)
{
	return json_is_string(value) &&
	       strlen(json_string_value(value)) == json_string_length(value);
}

/* Joins the strings of the array into one, which becomes its only item. */
static bool join_list(json_t *array)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	json_t *item;
	size_t i;

	json_array_foreach(array, i, item) {
		if (!is_text(item))
			return false;
		buf_printf(&text, "%s%s", i ? ", " : "", json_string_value(item));
	}
	json_array_clear(array);
	return json_array_append_new(array, json_string(buf_str(&text))) == 0;
}

static int read_field(const struct op *op, json_t *value, const struct op_field *field, void *input,
	struct err *err)
{
	void *member = (char *)input + field->offset;
	json_int_t number;

	switch (field->type) {
	case OP_LIST:
		if (json_is_array(value)) {
			if (!join_list(value))
				return op_refuse(op, err, field->name, "field must have texts");
			value = json_array_get(value, 0);
		}
		/* fall through */
	case OP_TEXT:
	case OP_WORDS:
	case OP_ID:
		if (!is_text(value))
			return op_refuse(op, err, field->name, "field must be a text");
		*(const char **)member = json_string_value(value);
		return 0;
	case OP_FLAG:
		if (!json_is_boolean(value))
			return op_refuse(op, err, field->name, "field must be true or false");
		*(enum op_flag *)member = json_is_true(value) ? OP_YES : OP_NO;
		return 0;
	case OP_TIME: /* a text, or microseconds since 1970 */
		number = json_integer_value(value);
		if (is_text(value) && clock_parse(json_string_value(value), op->now_us, member))
			return 0;
		if (!json_is_integer(value) || number < 0)
			return op_refuse(op, err, field->name,
				"field is no time like 2026-11-21T02:43:18Z, or 7d");
		*(int64_t *)member = number;
		return 0;
	case OP_NUMBER:
		number = json_integer_value(value);
		if (!json_is_integer(value))
			return op_refuse(op, err, field->name, "field must be a whole number");
		if (number < 1 || number > field->max)
			return op_refuse(op, err, field->name, "field is a number from 1 to %lld",
				(long long)field->max);
		*(int64_t *)member = number;
		return 0;
	case OP_ITEMS:
		if (!json_is_array(value))
			return op_refuse(op, err, field->name, "field must be an array");
		return read_items(op, value, field, member, err);
	}
	return 0;
}

/* Members change nothing of another company, which is for them as one that is not there. Lists show
 * theirs, whatever the query names. */
static int check_company(const struct op *op, const char *given, struct err *err)
{
	char id[ID_SIZE];

	if (op->company_id == NULL || (id_parse(given, id) && str_eq(id, op->company_id)))
		return 0;
	return err_set(err, ERR_NOT_FOUND, "there is no company %.36s", given);
}

static bool is_offered(const struct op *op, const struct op_field *field)
{
	return !field->command && (!field->operators || op->company_id == NULL) &&
	       (!field->admins || op->actor != OP_KEY);
}

int operate_read_body(const struct op *op, json_t *body, const struct op_field *fields, void *input,
	struct err *err)
{
	const struct op_field *field;
	const char *name;
	json_t *value;

	json_object_foreach(body, name, value) {
		for (field = fields; field->name && !str_eq(field->name, name); field++)
			;
		if (field->name == NULL || !is_offered(op, field))
			return err_set(err, ERR_INVALID, "there is no field `%.60s` here", name);
		if (json_is_null(value))
			continue;
		if (read_field(op, value, field, input, err) < 0)
			return -1;
		if (str_eq(name, "company_id") &&
			check_company(op, json_string_value(value), err) < 0)
			return -1;
	}
	for (field = fields; field->name; field++) {
		value = json_object_get(body, field->name);
		if (field->required && is_offered(op, field) &&
			(value == NULL || json_is_null(value)))
			return op_refuse(op, err, field->name, "field is missing");
	}
	return 0;
}

void operate_free_input(const struct op_field *fields, void *input)
{
	for (; input && fields && fields->name; fields++)
		if (fields->type == OP_ITEMS)
			free(((struct op_items *)(void *)((char *)input + fields->offset))->items);
	free(input);
}

/* The parameters of a query. */

static int read_param(const struct request *request, struct json_query *query,
	const struct op_field *field, void *input, struct problem *problem)
{
	void *member = (char *)input + field->offset;
	const char *text = json_query_get(query, field->name);
	bool flag;

	switch (field->type) {
	case OP_WORDS:
		*(const char **)member = json_query_words(query, field->name);
		break;
	case OP_FLAG:
		if (json_query_flag(query, field->name, &flag, problem) < 0)
			return -1;
		if (text)
			*(enum op_flag *)member = flag ? OP_YES : OP_NO;
		return 0;
	case OP_NUMBER:
		return json_query_number(query, field->name, field->max, 0, member, problem);
	case OP_TIME:
		return json_query_time(request, query, field->name, member, problem);
	default:
		*(const char **)member = text;
	}
	if (field->required && text == NULL)
		return problem_set(
			problem, PROBLEM_PARAMETER, "The `%s` parameter is missing.", field->name);
	return 0;
}

int operate_read_query(const struct request *request, const struct operation *operation,
	struct op *op, void *input, struct json_query *query_r, struct problem *problem)
{
	static const char *const paging[][4] = {
		[OP_SEARCH] = {"limit", "after", "search"},
		[OP_BACKWARDS] = {"limit", "after", "before"},
		[OP_ONWARD] = {"limit", "after"},
	};
	const char *names[ARRAY_SIZE(query_r->params)] = {NULL};
	const struct op_field *field;
	size_t n = 0;

	for (const char *const *name = paging[operation->list];
		operation->list >= OP_SEARCH && *name; name++)
		names[n++] = *name;
	for (field = operation->fields; field && field->name; field++)
		if (is_offered(op, field))
			names[n++] = field->name;
	if ((operation->list != OP_ONE || operation->fields) &&
		json_query_read(request, names, query_r, problem) < 0)
		return -1;
	if (operation->list >= OP_SEARCH && json_query_page(query_r, &op->page, problem) < 0)
		return -1;
	if (operation->list == OP_SEARCH) {
		if (json_query_get(query_r, "limit") == NULL)
			op->page.limit = LIST_LIMIT_MAX;
		op->page.search = json_query_words(query_r, "search");
	}
	for (field = operation->fields; field && field->name; field++)
		if (is_offered(op, field) &&
			read_param(request, query_r, field, input, problem) < 0)
			return -1;
	return 0;
}

/* Operations that change something. */

void operate_begin(
	struct request *request, struct operate *operate, const struct operation *operation)
{
	operate->change.request = request;
	operate->operation = operation;
	operate_init(request, &operate->op);
	operate->conf = conf_copy(request->worker->conf);
	operate->op.conf = operate->conf;
	if (operation->size)
		operate->input = mem_alloc(1, operation->size);
}

void operate_end(struct operate *operate)
{
	op_clear(&operate->op);
	if (operate->operation)
		operate_free_input(operate->operation->fields, operate->input);
	conf_free(operate->conf);
}

static int run_operation(struct db *db, void *arg, struct err *err)
{
	struct operate *operate = arg;
	struct op *op = &operate->op;
	int result;

	op->db = db;
	if (operate->before && operate->before(operate, db, err) < 0)
		return -1;
	result = operate->operation->run(op, operate->input, err);
	if (result == 1 && operate->render)
		operate->answer = operate->render(op);
	return result;
}

static bool check_operation(struct work *work)
{
	struct operate *operate = CONTAINER_OF(work, struct operate, work);
	struct db_pool *readers = operate->change.request->worker->shared->readers;
	struct change *change = &operate->change;

	change->result = db_pool_take(readers, &operate->op.db, &change->err);
	if (change->result < 0)
		return true;
	change->result = operate->operation->check(&operate->op, operate->input, &change->err);
	db_pool_give(
		readers, operate->op.db, change->result == 0 || change->err.code < ERR_TEMPORARY);
	/* A value of the request that cannot be used is the client's error. */
	if (change->result < 0 && change->err.code == ERR_CONFIG)
		change->err.code = ERR_INVALID;
	return true;
}

static void on_checked(struct task *task)
{
	struct operate *operate = CONTAINER_OF(task, struct operate, work.done);
	struct change *change = &operate->change;

	if (change->result < 0)
		change->done(change);
	else
		change_submit(change->request, change, run_operation, change->done);
}

void operate_submit(struct operate *operate, void (*done)(struct change *change))
{
	struct request *request = operate->change.request;
	const struct worker *worker = request->worker;

	if (operate->operation->check == NULL) {
		change_submit(request, &operate->change, run_operation, done);
		return;
	}
	operate->change.done = done;
	operate->change.refused = PROBLEM_INIT;
	operate->work = (struct work){
		.done = {.run = on_checked},
		.tasks = worker->tasks,
		.company_id = admission_whose(&request->admission),
		.run = check_operation,
	};
	work_pool_submit(operate->operation->asks_dns ? worker->shared->dns : worker->shared->pool,
		&operate->work);
}
