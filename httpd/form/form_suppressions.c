/*
 * form_suppressions: /v3/{domain}/bounces, complaints, unsubscribes and
 * whitelists: the lists of suppressed addresses, as clients of Mailgun read and
 * change them.
 *
 * A list has what applies to the domain: its own entries, and those for all
 * domains of the company, as incoming bounces and complaints are stored. A
 * client adds entries for the domain only, and removes them from both. Entries
 * that an admin added by hand are on none of the lists.
 *
 * Threads: the worker's. Reads run in the pool, changes on the committer's.
 */
#include "httpd/form/api_form.h"

#include <event2/http.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/ops/op_suppression.h"
#include "core/ops/suppression_csv.h"
#include "core/store/company/store_suppression.h"
#include "httpd/admission/json_text.h"
#include "httpd/admission/request.h"
#include "httpd/form/form.h"
#include "httpd/http/uri.h"
#include "httpd/json/operate.h"
#include "httpd/transport/reply.h"

enum {
	LIMIT_MAX = 1000,
	LIMIT_DEFAULT = 100,
	AT_ONCE_MAX = 999,
	JSON_MAX = 4 * 1024 * 1024, /* body with AT_ONCE_MAX entries of maximum size */
	ROW_COST = 512,             /* bytes of memory of a line of CSV */
};

static const struct list {
	const char *name;
	enum suppression_reason reason; /* SUPPRESSION_REASONS for the allow list */
	const char *many;
	const char *removed;
	const char *cleared;
	const char *missing;
	const char *nothing_removed;
} lists[] = {
	{"bounces", SUPPRESSION_BOUNCE, "addresses", "Bounced address has been removed",
		"Bounced addresses for this domain have been removed",
		"Address not found in bounces table", "Address not found in bounces table"},
	{"complaints", SUPPRESSION_COMPLAINT, "complaint addresses",
		"Spam complaint has been removed",
		"Complaint addresses for this domain have been removed",
		"No spam complaints found for this address",
		"No spam complaints found for this address"},
	{"unsubscribes", SUPPRESSION_UNSUBSCRIBE, "addresses", "Unsubscribe event has been removed",
		"Unsubscribe addresses for this domain have been removed",
		"Address not found in unsubscribers table",
		"Unsubscribe event for this tag does not exist"},
	{"whitelists", SUPPRESSION_REASONS, "addresses",
		"Whitelist address/domain has been removed",
		"Allowlist addresses/domains for this domain have been removed",
		"Address/Domain not found in allowlist table",
		"Address/Domain not found in allowlist table"},
};

/* Reads the segments of the path after /v3/{domain}/: the list, and the decoded
 * address, "" if there is none. */
static const struct list *find_list(
	const struct request *request, char address[static ROUTE_PARAM_MAX])
{
	const char *path = request_path(request);
	struct span rest = {path, strlen(path)}, name;

	address[0] = '\0';
	for (int i = 0; i < 3; i++)
		span_cut(&rest, '/');
	name = span_cut(&rest, '/');
	if (rest.len > 0 && !percent_decode(rest, address, ROUTE_PARAM_MAX))
		address[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		if (span_is(name, lists[i].name))
			return &lists[i];
	return &lists[0];
}

/* Returns the first of repeated parameters: clients append their own limit to
 * the URL of a page. */
static bool first_param(const char *query, const char *name, char value[static QUERY_VALUE_MAX])
{
	struct span rest = {query, strlen(query)};

	value[0] = '\0';
	while (rest.len > 0) {
		struct span pair = span_cut(&rest, '&');
		struct span key = span_cut(&pair, '=');

		if (span_is(key, name))
			return percent_decode(pair, value, QUERY_VALUE_MAX) && *value;
	}
	return false;
}

/* Rendering. */

/* Two digits for the day, and UTC as the zone; otherwise the Java client fails. */
static json_t *render_time(int64_t time_us)
{
	char text[CLOCK_TEXT_SIZE];

	clock_rfc5322(time_us, text);
	return json_sprintf("%.5s%s%.*sUTC", text, text[6] == ' ' ? "0" : "",
		(int)(strlen(text) - 10), text + 5);
}

static json_t *render_item(const struct suppression *one)
{
	json_t *item = json_pack(
		"{s:s, s:o}", "address", one->address, "created_at", render_time(one->created_us));
	json_t *tags;

	if (one->reason == SUPPRESSION_BOUNCE) {
		json_object_set_new(item, "code", json_string(one->code ? one->code : "550"));
		json_object_set_new(item, "error", json_string(one->text ? one->text : ""));
	} else if (one->reason == SUPPRESSION_UNSUBSCRIBE) {
		tags = one->tags ? json_loads(one->tags, 0, NULL) : NULL;
		json_object_set_new(item, "tags", tags ? tags : json_pack("[s]", "*"));
	}
	return item;
}

static json_t *render_allowed(const struct suppression_allowed *one)
{
	return json_pack("{s:s, s:s, s:s, s:o}", "type",
		strchr(one->value, '@') ? "address" : "domain", "value", one->value, "reason",
		one->reason, "createdAt", render_time(one->created_us));
}

struct page_ask {
	const struct list *list;
	struct suppression_walk walk;
	char page[QUERY_VALUE_MAX], address[QUERY_VALUE_MAX], term[QUERY_VALUE_MAX];
};

static void add_url(const struct request *request, const struct page_ask *ask, json_t *paging,
	const char *name, const char *page, const char *address)
{
	_cleanup_free_ char *base = request_own_url(request);
	_cleanup_free_ char *encoded = evhttp_uriencode(address ? address : "", -1, 0);
	_cleanup_free_ char *term = evhttp_uriencode(ask->term, -1, 0);

	json_object_set_new(paging, name,
		json_sprintf("%s/v3/%s/%s?%s%s%s%s%slimit=%d&term=%s", base,
			request->admission.param, ask->list->name, page ? "page=" : "",
			page ? page : "", address ? "&address=" : "", address ? encoded : "",
			page ? "&" : "", ask->walk.limit, term));
}

/* For a page without items, all URLs lead back to the first page. */
static json_t *render_paging(const struct request *request, const struct page_ask *ask,
	const char *first, const char *last)
{
	json_t *paging = json_object();

	add_url(request, ask, paging, "first", NULL, NULL);
	add_url(request, ask, paging, "last", "last", NULL);
	add_url(request, ask, paging, "next", last ? "next" : NULL, last);
	add_url(request, ask, paging, "previous", first ? "previous" : NULL, first);
	return paging;
}

static int read_page_ask(struct request *request, struct page_ask *ask, struct problem *problem)
{
	const char *query = request_query(request);
	char limit[QUERY_VALUE_MAX];
	int64_t n = LIMIT_DEFAULT;

	ask->walk = (struct suppression_walk){.company_id = request->admission.key.company_id,
		.domain = request->admission.param,
		.reason = ask->list->reason};
	if (first_param(query, "limit", limit) && str_int(limit, 1, INT32_MAX, &n) < 0)
		return problem_set(
			problem, PROBLEM_PARAMETER, "'limit' parameter must be a positive number");
	ask->walk.limit = n > LIMIT_MAX ? LIMIT_MAX : (int)n;
	if (first_param(query, "term", ask->term)) {
		str_lower(ask->term);
		ask->walk.prefix = ask->term;
	}
	first_param(query, "page", ask->page);
	if (first_param(query, "address", ask->address))
		ask->walk.address = ask->address;
	ask->walk.back = str_eq(ask->page, "previous") || str_eq(ask->page, "last");
	if (str_eq(ask->page, "last") || *ask->page == '\0')
		ask->walk.address = NULL;
	return 0;
}

void api_form_suppression_list(struct request *request)
{
	struct page_ask *ask = mem_new(struct page_ask);
	struct suppression_allowed_list allowed = {0};
	struct suppression_list list = {0};
	struct problem problem = PROBLEM_INIT;
	json_t *items = json_array(), *answer = NULL;
	const char *first = NULL, *last = NULL;
	char address[ROUTE_PARAM_MAX];
	struct err err = ERR_INIT;
	int result = 0;

	ask->list = find_list(request, address);
	if (read_page_ask(request, ask, &problem) == 0) {
		result = ask->list->reason < SUPPRESSION_REASONS
				 ? store_suppression_walk(request->db, &ask->walk, &list, &err)
				 : store_suppression_allowed_walk(
					   request->db, &ask->walk, &allowed, &err);
		if (result < 0)
			request_failed(request, "suppressions_failed", &err, &problem);
	}
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(items, render_item(&list.items[i]));
	for (size_t i = 0; i < allowed.n; i++)
		json_array_append_new(items, render_allowed(&allowed.items[i]));
	if (list.n > 0) {
		first = list.items[0].address;
		last = list.items[list.n - 1].address;
	} else if (allowed.n > 0) {
		first = allowed.items[0].value;
		last = allowed.items[allowed.n - 1].value;
	}
	if (problem.kind == PROBLEM_NONE)
		answer = json_pack("{s:O, s:o}", "items", items, "paging",
			render_paging(request, ask, first, last));
	json_decref(items);
	store_suppression_list_free(&list);
	store_suppression_allowed_list_free(&allowed);
	free(ask);
	reply_either(request, &problem, 200, answer);
}

void api_form_suppression_get(struct request *request)
{
	const struct admission *admission = &request->admission;
	const struct suppression_scope scope = {admission->key.company_id, admission->param};
	struct suppression_allowed allowed = {0};
	struct problem problem = PROBLEM_INIT;
	struct suppression one = {0};
	char address[ROUTE_PARAM_MAX];
	const struct list *list = find_list(request, address);
	_cleanup_free_ char *folded = addr_folded(address);
	struct err err = ERR_INIT;
	json_t *answer = NULL;
	int found;

	if (list->reason < SUPPRESSION_REASONS) {
		found = store_suppression_find(
			request->db, &scope, address, list->reason, &one, &err);
		if (found > 0)
			answer = render_item(&one);
		store_suppression_clear(&one);
	} else {
		found = store_suppression_allowed_get(
			request->db, scope.company_id, scope.domain, folded, &allowed, &err);
		if (found > 0)
			answer = render_allowed(&allowed);
		row_clear(&store_suppression_allowed_type, &allowed);
	}
	if (found < 0)
		request_failed(request, "suppression_failed", &err, &problem);
	else if (found == 0)
		problem_set(&problem, PROBLEM_NOT_FOUND, "%s", list->missing);
	reply_either(request, &problem, 200, answer);
}

/* Changes. */

struct list_change {
	struct operate operate; /* first */
	const struct list *list;
	char address[ROUTE_PARAM_MAX];
	char domain[ROUTE_PARAM_MAX];
	struct form form;
	struct suppression_csv csv;
	json_t *body;
	struct strv texts; /* strings that inputs point to */
	json_t *(*answer)(const struct list_change *change);
};

static void end_change(struct list_change *change)
{
	struct op_suppression *input = change->operate.input;

	if (change->csv.items && input)
		input->suppressions = (struct op_items){0};
	operate_end(&change->operate);
	form_clear(&change->form);
	suppression_csv_clear(&change->csv);
	json_decref(change->body);
	strv_free(&change->texts);
	free(change);
}

static void on_list_changed(struct change *done)
{
	struct list_change *change = (struct list_change *)done;
	struct problem problem = done->refused;
	const struct err *err = &done->err;
	json_t *answer = NULL;

	if (problem.kind == PROBLEM_NONE && done->result == 0)
		problem_set(&problem, PROBLEM_NOT_FOUND, "%s", change->list->nothing_removed);
	else if (problem.kind == PROBLEM_NONE && done->result < 0 &&
		 (err->code == ERR_INVALID || err->code == ERR_NOT_FOUND))
		problem_set(&problem, PROBLEM_PARAMETER, "%s", err->text);
	else if (problem.kind == PROBLEM_NONE && done->result < 0 && err->code == ERR_DENIED)
		problem_set(&problem, PROBLEM_DOMAIN, "%s", err->text);
	else if (problem.kind == PROBLEM_NONE && done->result < 0)
		request_failed(done->request, "operation_failed", err, &problem);
	if (problem.kind == PROBLEM_NONE)
		answer = change->answer(change);
	reply_changed(done->request, &problem, answer);
	end_change(change);
}

static struct list_change *begin_change(
	struct request *request, json_t *(*answer)(const struct list_change *change))
{
	struct list_change *change = mem_new(struct list_change);
	const struct operation *operation = request->admission.route->operation;
	struct op_suppression *input;
	char address[ROUTE_PARAM_MAX];

	change->list = find_list(request, address);
	if (change->list->reason == SUPPRESSION_REASONS)
		operation = operation == &op_suppression_add_all  ? &op_suppression_allow
			    : operation == &op_suppression_remove ? &op_suppression_disallow
			    : operation == &op_suppression_clear  ? &op_suppression_disallow
								  : &op_suppression_allow;
	snprintf(change->address, sizeof(change->address), "%s", address);
	snprintf(change->domain, sizeof(change->domain), "%s", request->admission.param);
	change->answer = answer;
	operate_begin(request, &change->operate, operation);
	input = change->operate.input;
	input->domain = change->domain;
	if (change->list->reason < SUPPRESSION_REASONS)
		input->reason = store_suppression_reason_name(change->list->reason);
	return change;
}

static void end_refused(struct list_change *change, const struct problem *problem)
{
	struct request *request = change->operate.change.request;

	reply_problem(request, problem);
	end_change(change);
}

static json_t *answer_removed(const struct list_change *change)
{
	return json_pack("{s:s, s:s}",
		change->list->reason < SUPPRESSION_REASONS ? "address" : "value", change->address,
		"message", change->list->removed);
}

void api_form_suppression_remove(struct request *request)
{
	struct list_change *change = begin_change(request, answer_removed);

	op_about(&change->operate.op, change->address);
	operate_submit(&change->operate, on_list_changed);
}

static json_t *answer_cleared(const struct list_change *change)
{
	return json_pack("{s:s}", "message", change->list->cleared);
}

void api_form_suppression_clear(struct request *request)
{
	struct list_change *change = begin_change(request, answer_cleared);

	op_about(&change->operate.op, NULL);
	operate_submit(&change->operate, on_list_changed);
}

static json_t *answer_added(const struct list_change *change)
{
	const struct op_suppression *input = change->operate.input;
	const struct op_suppression *items = input->suppressions.items;

	if (change->list->reason == SUPPRESSION_REASONS)
		return json_pack("{s:s, s:s, s:s}", "message",
			"Address/Domain has been added to the whitelists table", "type",
			items[0].address && strchr(items[0].address, '@') ? "address" : "domain",
			"value", items[0].address);
	if (change->body == NULL)
		return json_pack("{s:o, s:s}", "message",
			json_sprintf("Address has been added to the %s table", change->list->name),
			"address", items[0].address);
	return json_pack("{s:o}", "message",
		json_sprintf("%zu %s have been added to the %s table", input->suppressions.n,
			change->list->many, change->list->name));
}

static const char *keep_text(struct list_change *change, char *text)
{
	strv_add(&change->texts, text);
	free(text);
	return change->texts.items[change->texts.n - 1];
}

static void read_json_item(
	struct list_change *change, const json_t *object, struct op_suppression *item)
{
	json_t *code = json_object_get(object, "code"), *tags = json_object_get(object, "tags");
	const char *tag = json_string_value(json_object_get(object, "tag"));
	json_t *listed = json_is_string(tags) ? json_pack("[O]", tags) : NULL, *one;
	bool all;
	size_t i;

	/* A string is a list of one; other types count as not given. */
	tags = listed ? listed : json_is_array(tags) ? tags : NULL;
	all = tags == NULL && (tag == NULL || str_eq(tag, "*"));

	item->address = json_string_value(json_object_get(object, "address"));
	item->code = json_is_integer(code)
			     ? keep_text(change,
				       mem_printf("%lld", (long long)json_integer_value(code)))
			     : json_string_value(code);
	item->text = json_string_value(json_object_get(object, "error"));
	item->created_us = suppression_created(
		json_string_value(json_object_get(object, "created_at")));
	json_array_foreach(tags, i, one)
		all |= str_eq(json_string_value(one) ? json_string_value(one) : "*", "*");
	all |= json_is_array(tags) && json_array_size(tags) == 0;
	if (!all && change->list->reason == SUPPRESSION_UNSUBSCRIBE) {
		json_t *array = tags ? json_incref(tags) : json_pack("[s]", tag);

		item->tags = keep_text(change, json_dumps(array, JSON_COMPACT));
		json_decref(array);
	}
	json_decref(listed);
}

/* Parses a JSON array of entries, or one object. */
static int read_json(struct list_change *change, struct problem *problem)
{
	struct op_suppression *input = change->operate.input, *items;
	size_t len, mark, i;
	const char *text = request_body(change->operate.change.request, &len);
	json_t *object;

	if (len > JSON_MAX)
		return problem_set(
			problem, PROBLEM_BAD_REQUEST, "Batch size should be less than 1000");
	if (admission_reserve_body(change->operate.change.request->worker,
		    &change->operate.change.request->admission, json_text_cost(text, len),
		    problem) < 0)
		return -1;
	mark = json_text_mark(text, len);
	change->body = json_loadb(text + mark, len - mark, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(change->body))
		change->body = json_pack("[o]", change->body);
	if (!json_is_array(change->body) || json_array_size(change->body) == 0)
		return problem_set(
			problem, PROBLEM_BAD_REQUEST, "unable to parse request: no JSON array");
	if (json_array_size(change->body) > AT_ONCE_MAX)
		return problem_set(
			problem, PROBLEM_BAD_REQUEST, "Batch size should be less than 1000");
	input->suppressions.n = json_array_size(change->body);
	input->suppressions.items = items = mem_alloc(input->suppressions.n, sizeof(*items));
	json_array_foreach(change->body, i, object) {
		items[i] = (struct op_suppression){.reason = input->reason, .renews = true};
		read_json_item(change, object, &items[i]);
	}
	return 0;
}

static int read_one(struct list_change *change, struct problem *problem)
{
	struct op_suppression *input = change->operate.input, *item;
	struct form *form = &change->form;
	const char *created, *tag, *domain;

	if (api_form_read(change->operate.change.request, form, problem) < 0)
		return -1;
	item = mem_new(struct op_suppression);
	*item = (struct op_suppression){.reason = input->reason, .renews = true};
	input->suppressions = (struct op_items){item, 1};
	if (form_text_line(form, "address", &item->address, problem) < 0 ||
		form_text_line(form, "domain", &domain, problem) < 0 ||
		form_text_line(form, "code", &item->code, problem) < 0 ||
		form_text(form, change->list->reason < SUPPRESSION_REASONS ? "error" : "reason",
			&item->text, problem) < 0 ||
		form_text_line(form, "created_at", &created, problem) < 0 ||
		form_text_line(form, "tag", &tag, problem) < 0)
		return -1;
	item->created_us = suppression_created(created);
	if (change->list->reason == SUPPRESSION_UNSUBSCRIBE && !str_empty(tag) &&
		!str_eq(tag, "*")) {
		json_t *array = json_pack("[s]", tag);

		item->tags = keep_text(change, json_dumps(array, JSON_COMPACT));
		json_decref(array);
	}
	if (change->list->reason == SUPPRESSION_REASONS && str_empty(item->address))
		item->address = domain;
	if (str_empty(item->address))
		return problem_set(problem, PROBLEM_BAD_REQUEST,
			change->list->reason < SUPPRESSION_REASONS
				? "'address' parameter is missing"
				: "Missing mandatory parameter: address/domain");
	return 0;
}

void api_form_suppression_add(struct request *request)
{
	const char *type = request_header(request, "Content-Type");
	struct list_change *change = begin_change(request, answer_added);
	struct problem problem = PROBLEM_INIT;

	if ((type && str_starts_nocase(type, "application/json") ? read_json(change, &problem)
								 : read_one(change, &problem)) < 0)
		end_refused(change, &problem);
	else
		operate_submit(&change->operate, on_list_changed);
}

static json_t *answer_imported(const struct list_change *change)
{
	(void)change;
	return json_pack(
		"{s:s}", "message", "file uploaded successfully for processing. standby...");
}

static uint64_t lines_of(const struct buf *text)
{
	uint64_t n = 1;

	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n';
	return n;
}

void api_form_suppression_import(struct request *request)
{
	struct list_change *change = begin_change(request, answer_imported);
	struct op_suppression *input = change->operate.input;
	struct problem problem = PROBLEM_INIT;
	const struct form_field *file = NULL;
	struct err err = ERR_INIT;

	if (api_form_read(request, &change->form, &problem) == 0) {
		file = form_next(&change->form, "file", NULL);
		if (file == NULL)
			problem_set(&problem, PROBLEM_BAD_REQUEST, "'file' parameter is missing");
		else if (admission_count_bytes(request->worker, &request->admission,
				 lines_of(&file->value) * ROW_COST, &problem) == 0 &&
			 suppression_csv_read(buf_str(&file->value), file->value.len,
				 change->list->reason == SUPPRESSION_REASONS, &change->csv,
				 &err) < 0)
			problem_set(&problem, PROBLEM_BAD_REQUEST, "%s", err.text);
	}
	if (problem.kind != PROBLEM_NONE) {
		end_refused(change, &problem);
		return;
	}
	for (size_t i = 0; i < change->csv.n; i++) {
		change->csv.items[i].reason = input->reason;
		change->csv.items[i].renews = true;
	}
	input->suppressions = (struct op_items){change->csv.items, change->csv.n};
	operate_submit(&change->operate, on_list_changed);
}
