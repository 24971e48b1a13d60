/*
 * form_domains: /v3/domains and /v4/domains: the domains of a company, and the
 * DNS records that each needs.
 *
 * Clients send settings of a domain that do not exist here. A setting that asks
 * for what is the case anyway is accepted, any other is refused: a client that
 * wants to enforce TLS must not believe that it does.
 *
 * Threads: reads run in the pool, changes start on the worker's; render
 * functions of changes run on the committer's.
 */
#include "httpd/form/api_form.h"

#include <jansson.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_domain.h"
#include "core/ops/op_domain_dns.h"
#include "httpd/admission/request.h"
#include "httpd/form/form.h"
#include "httpd/http/uri.h"
#include "httpd/json/operate.h"
#include "httpd/transport/reply.h"

#define DOMAIN_MISSING "Domain not found: %s"

/* Clients read `valid`. */
static json_t *render_record(const json_t *record)
{
	const char *status = row_json_text(record, "status");
	const char *valid = str_eq(status, "verified")  ? "valid"
			    : str_eq(status, "unknown") ? "unknown"
							: "invalid";

	return json_pack("{s:s, s:s, s:s, s:s, s:[], s:b, s:s}", "record_type",
		row_json_text(record, "type"), "name", row_json_text(record, "name"), "value",
		row_json_text(record, "value"), "valid", valid, "cached", "is_active",
		str_eq(status, "verified"), "purpose", row_json_text(record, "record"));
}

/* An MX has its priority apart from its value, and no name. */
static json_t *render_mx(const json_t *record)
{
	json_t *object = render_record(record);
	const char *value = row_json_text(record, "value");
	size_t len = strcspn(value, " ");
	_cleanup_free_ char *priority = mem_dup(value, len);

	json_object_del(object, "name");
	json_object_set_new(object, "priority", json_string(priority));
	json_object_set_new(object, "value", json_string(value + len + (value[len] == ' ')));
	return object;
}

/* A domain that an operator deactivated is shown as `disabled`, like
 * not_started in the JSON dialect. */
static const char *state_of(const struct domain *domain)
{
	if (domain->active)
		return "active";
	return domain->pending ? "unverified" : "disabled";
}

static json_t *render_item(const struct domain *domain)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:b, s:b, s:b, s:b}", "id", domain->id,
		"name", domain->name, "state", state_of(domain), "type", "custom", "created_at",
		form_time_json(domain->created_us), "spam_action", "disabled", "wildcard",
		domain->covers_subdomains, "require_tls", 0, "skip_verification", 0, "is_disabled",
		!domain->active && !domain->pending);
}

/* The domain with the records of the operation; message may be NULL. */
static json_t *render_whole(const struct domain *domain, const struct op *op, const char *message)
{
	json_t *sending = json_array(), *receiving = json_array(), *answer;
	const json_t *record;
	size_t i;

	json_array_foreach(json_object_get(op->result.more, "records"), i, record) {
		if (str_eq(row_json_text(record, "record"), "MX"))
			json_array_append_new(receiving, render_mx(record));
		else
			json_array_append_new(sending, render_record(record));
	}
	answer = json_pack("{s:o, s:o, s:o}", "domain", render_item(domain), "sending_dns_records",
		sending, "receiving_dns_records", receiving);
	if (message)
		json_object_set_new(answer, "message", json_string(message));
	return answer;
}

/* The operation is about the domain that the path names. Returns 0, or -1 with the problem if that
 * is no name. */
static int about_named(const struct request *request, struct op *op, struct problem *problem)
{
	_cleanup_free_ char *name = NULL;

	if (addr_domain_normalize(request->admission.param, &name, NULL) < 0)
		return problem_set(
			problem, PROBLEM_NOT_FOUND, DOMAIN_MISSING, request->admission.param);
	op->object_is_name = true;
	return 0;
}

void api_form_domain(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	json_t *answer = NULL;
	struct op op;
	int found;

	operate_init(request, &op);
	if (about_named(request, &op, &problem) == 0) {
		found = op_domain_show.run(&op, NULL, &err);
		if (found > 0)
			answer = render_whole(op.result.rows.items, &op, NULL);
		else if (found == 0)
			problem_set(&problem, PROBLEM_NOT_FOUND, DOMAIN_MISSING,
				request->admission.param);
		else
			request_failed(request, "domain_failed", &err, &problem);
	}
	op_clear(&op);
	reply_either(request, &problem, 200, answer);
}

/* The list. */

enum { LIST_DEFAULT = 100, LIST_MAX = 1000 };

struct list_ask {
	int64_t limit, skip;
	char state[QUERY_VALUE_MAX];  /* "" for any */
	char search[QUERY_VALUE_MAX]; /* a part of the name; "" for any */
};

static int query_number(const char *query, const char *name, int64_t min, int64_t max,
	int64_t *number, struct problem *problem)
{
	char text[QUERY_VALUE_MAX];
	int given = query_get(query, name, text, problem);

	if (given > 0 && str_int(text, min, max, number) < 0)
		return problem_set(problem, PROBLEM_PARAMETER,
			"'%s' parameter must be a number from %d to %d", name, (int)min, (int)max);
	return given < 0 ? -1 : 0;
}

/* Reads all domains that the key may see, since clients want their total
 * number; limits.domains bounds it. NULL with err. */
static json_t *list_domains(struct request *request, const struct list_ask *ask, struct err *err)
{
	const struct domain_scope scope = {
		request->admission.key.company_id, request->admission.key.domain};
	struct page page = {.limit = LIST_DEFAULT};
	json_t *items = json_array();
	int64_t total = 0;
	bool more = true;

	while (more) {
		struct domain_list list = {0};
		int found = store_domain_page(request->db, &scope, &page, &list, &more, err);

		if (found < 0) {
			json_decref(items);
			return NULL;
		}
		more &= found > 0 && list.n > 0;
		for (size_t i = 0; i < list.n; i++) {
			const struct domain *domain = &list.items[i];

			if ((*ask->state && !str_eq(ask->state, state_of(domain))) ||
				!strstr(domain->name, ask->search))
				continue;
			if (total >= ask->skip && total - ask->skip < ask->limit)
				json_array_append_new(items, render_item(domain));
			total++;
		}
		if (more)
			memcpy(page.after, list.items[list.n - 1].id, ID_SIZE);
		store_domain_list_free(&list);
	}
	return json_pack("{s:I, s:o}", "total_count", (json_int_t)total, "items", items);
}

void api_form_domain_list(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	json_t *answer = NULL;
	struct list_ask ask = {.limit = LIST_DEFAULT};
	const char *query = request_query(request);

	if (query_number(query, "limit", 1, LIST_MAX, &ask.limit, &problem) == 0 &&
		query_number(query, "skip", 0, INT32_MAX, &ask.skip, &problem) == 0 &&
		query_get(query, "state", ask.state, &problem) >= 0 &&
		query_get(query, "search", ask.search, &problem) >= 0) {
		answer = list_domains(request, &ask, &err);
		if (answer == NULL)
			request_failed(request, "domain_failed", &err, &problem);
	}
	reply_either(request, &problem, 200, answer);
}

/* Changes. */

struct domain_change {
	struct operate operate; /* first */
	struct form form;       /* owns the strings of the input */
};

static void end_change(struct domain_change *change)
{
	operate_end(&change->operate);
	form_clear(&change->form);
	free(change);
}

static void on_domain_changed(struct change *done)
{
	struct domain_change *change = (struct domain_change *)done;
	const struct err *err = &done->err;
	struct problem problem = done->refused;

	if (problem.kind != PROBLEM_NONE)
		;
	else if (done->result == 0)
		problem_set(&problem, PROBLEM_NOT_FOUND, DOMAIN_MISSING,
			done->request->admission.param);
	else if (done->result < 0 && err->code == ERR_DENIED)
		problem_set(&problem, PROBLEM_DOMAIN, "%s", err->text);
	else if (done->result < 0 && (err->code == ERR_INVALID || err->code == ERR_EXISTS))
		problem_set(&problem, PROBLEM_VALIDATION, "%s", err->text);
	else if (done->result < 0)
		request_failed(done->request, "operation_failed", err, &problem);
	reply_changed(done->request, &problem, change->operate.answer);
	end_change(change);
}

static struct domain_change *begin_change(struct request *request,
	const struct operation *operation, json_t *(*render)(const struct op *op))
{
	struct domain_change *change = mem_new(struct domain_change);

	operate_begin(request, &change->operate, operation);
	change->operate.render = render;
	return change;
}

/* Runs an operation on the domain of the path. */
static void change_named(struct request *request, const struct operation *operation,
	json_t *(*render)(const struct op *op))
{
	struct domain_change *change = begin_change(request, operation, render);
	struct problem problem = PROBLEM_INIT;

	if (about_named(request, &change->operate.op, &problem) == 0) {
		operate_submit(&change->operate, on_domain_changed);
		return;
	}
	reply_problem(request, &problem);
	end_change(change);
}

/* Checks the settings of a form. Those about received mail, links and other
 * logins are ignored. */
static int check_settings(const struct form *form, struct problem *problem)
{
	static const char *const fixed[][2] = {
		{"spam_action", "disabled"},
		{"wildcard", "false"},
		{"require_tls", "false"},
		{"skip_verification", "false"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		const char *value;

		if (form_text(form, fixed[i][0], &value, problem) < 0)
			return -1;
		if (value == NULL || *value == '\0' || str_eq_nocase(value, fixed[i][1]) ||
			(str_eq(fixed[i][1], "false") && str_eq_nocase(value, "no")))
			continue;
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			"'%s' parameter can only be '%s' here", fixed[i][0], fixed[i][1]);
	}
	return 0;
}

static json_t *render_added(const struct op *op)
{
	return render_whole(op->result.rows.items, op, "Domain has been created");
}

void api_form_domain_add(struct request *request)
{
	struct domain_change *change = begin_change(request, &op_domain_add, render_added);
	struct op_domain *input = change->operate.input;
	struct problem problem = PROBLEM_INIT;

	if (api_form_read(request, &change->form, &problem) == 0 &&
		check_settings(&change->form, &problem) == 0 &&
		form_text_line(&change->form, "name", &input->name, &problem) == 0 &&
		(input->name == NULL || *input->name == '\0'))
		problem_set(&problem, PROBLEM_BAD_REQUEST, "name parameter is missing");
	if (problem.kind == PROBLEM_NONE) {
		operate_submit(&change->operate, on_domain_changed);
		return;
	}
	reply_problem(request, &problem);
	end_change(change);
}

static json_t *render_verified(const struct op *op)
{
	return render_whole(op->result.rows.items, op, "Domain DNS records have been updated");
}

void api_form_domain_verify(struct request *request)
{
	change_named(request, &op_domain_verify_shown, render_verified);
}

static json_t *render_removed(const struct op *op)
{
	(void)op;
	return json_pack("{s:s}", "message", "Domain has been deleted");
}

void api_form_domain_remove(struct request *request)
{
	change_named(request, &op_domain_remove, render_removed);
}
