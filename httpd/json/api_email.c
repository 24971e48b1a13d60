/*
 * api_email: the routes /emails, except for batches.
 *
 * Threads: the worker's. parse_email(), get_email() and the lists may run in the
 * pool.
 */
#include "httpd/json/api_json.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/ops/op_email.h"
#include "core/ops/op_email_list.h"
#include "core/report/email_render.h"
#include "core/store/email/store_email.h"
#include "core/store/event/store_event.h"
#include "httpd/admission/json_text.h"
#include "httpd/admission/request.h"
#include "httpd/http/uri.h"
#include "httpd/json/api_manage.h"
#include "httpd/json/email_json.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "httpd/json/operate.h"
#include "httpd/send/probe_report.h"
#include "httpd/send/send_request.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* POST /emails */

static void on_email_sent(struct request *request, const struct send_outcome *outcome)
{
	const struct problem *problem = send_first_problem(outcome);

	if (problem)
		reply_problem(request, problem);
	else
		reply_json(request, 200, json_pack("{s:s}", "id", outcome->results[0].id));
}

static int parse_email(
	struct send_body *body, struct send_parsed *parsed_r, struct problem *problem)
{
	struct admission *admission = body->admission;
	int64_t max = admission_recipients(admission, EMAIL_JSON_RECIPIENTS);

	if (admission_reserve_body(
		    body->worker, admission, json_text_cost(body->data, body->len), problem) < 0)
		return -1;
	parsed_r->emails = mem_new(struct draft);
	parsed_r->n = 1;
	return email_json_parse(body->data, body->len, max, parsed_r->emails, problem);
}

void api_email_send(struct request *request)
{
	static const struct send_dialect dialect = {
		.action = "POST /emails",
		.parse = parse_email,
		.done = on_email_sent,
	};

	send_request(request, &dialect);
}

/* Adds the time up to which delivery statuses are known, of one host or of all (NULL). */
static json_t *add_as_of(const struct request *request, const char *host, json_t *answer)
{
	json_object_set_new(
		answer, "status_as_of", probe_report_as_of(request->worker->shared->probe, host));
	return answer;
}

/* GET /emails/{id} */

/* Which email of the caller. */
struct email_ask {
	struct email_scope scope;
	const char *message_id; /* or NULL */
	char id[ID_SIZE];
};

/* Reads which email the path names. Returns 0, or -1 with the problem. */
static int read_path(const struct admission *admission, const struct key *key,
	struct email_ask *ask_r, struct problem *problem)
{
	*ask_r = (struct email_ask){
		.scope = {.company_id = key->company_id, .domain = key->domain, .sent_only = true},
	};
	if (*admission->param == '<')
		ask_r->message_id = admission->param;
	else if (!id_parse(admission->param, ask_r->id))
		return problem_set(problem, PROBLEM_PARAMETER, "The `id` must be a valid UUID.");
	return 0;
}

/* Finds the email, or only its seq (email_r is NULL). Returns 1, 0, or -1. */
static int find_email(struct db *db, struct email_ask *ask, struct email *email_r, int64_t *seq_r,
	struct err *err)
{
	int found = ask->message_id ? store_email_by_message_id(
					      db, &ask->scope, ask->message_id, ask->id, err)
				    : 1;

	if (found <= 0)
		return found;
	return email_r ? store_email_get(db, ask->id, &ask->scope, email_r, err)
		       : store_email_seq(db, ask->id, NULL, &ask->scope, seq_r, err);
}

static int no_email(struct problem *problem)
{
	return problem_set(problem, PROBLEM_NOT_FOUND, "Email not found");
}

/* Emails with more content are printed in the pool; those with more recipients are read there, from
 * a database server. */
enum { PRINT_ON_LOOP_MAX = 64 * 1024, RECIPIENTS_ON_LOOP_MAX = 50 };

void api_email_row_free(void *arg)
{
	store_email_clear(arg);
	free(arg);
}

/* Which email to read along with the key. Returns false for what get_email() reads: by another
 * name, in any state. */
static bool ask_with_key(const struct admission_rows *rows, char id_r[static ID_SIZE],
	struct email_ask_with_key *ask_r)
{
	*ask_r = (struct email_ask_with_key){.hash = rows->hash,
		.id = id_r,
		.longest = PRINT_ON_LOOP_MAX,
		.recipients = RECIPIENTS_ON_LOOP_MAX};
	return rows->query.len == 0 && id_parse(rows->admission->param, id_r);
}

void api_email_announce(struct db *db, const struct admission_rows *rows)
{
	struct email_ask_with_key ask;
	char id[ID_SIZE];

	if (ask_with_key(rows, id, &ask))
		store_email_with_key_ahead(db, &ask);
	else
		store_key_find_ahead(db, rows->hash);
}

int api_email_read(struct db *db, struct admission_rows *rows, struct err *err)
{
	struct email_ask_with_key ask;
	struct email_with_key got;
	char id[ID_SIZE];
	int found;

	if (!ask_with_key(rows, id, &ask))
		return store_key_find(db, rows->hash, &rows->key, err);
	found = store_email_with_key(db, &ask, &got, err);
	if (found <= 0)
		return found;
	rows->key = got.key;
	if (got.found) {
		rows->row = mem_new(struct email);
		*(struct email *)rows->row = got.email;
	}
	return 1;
}

static void print_in_pool(struct request *request);

/* Reading an email is fast whatever its size; printing takes ten times as long.
 * So a large one is printed in the pool. Asking for its size before reading it
 * would slow down the small ones. */
static void answer_email(
	struct request *request, const struct email *email, bool any_state, bool charged)
{
	struct problem problem = PROBLEM_INIT;
	size_t bytes = email_json_content_size(email);
	bool large = bytes > PRINT_ON_LOOP_MAX;

	if (large && !charged &&
		admission_reserve_answer(
			request->worker, &request->admission, 2 * (uint64_t)bytes, &problem) < 0)
		reply_problem(request, &problem);
	else if (large && request->pooled == NULL)
		reply_from_pool(request, print_in_pool);
	else
		reply_printed(request, 200,
			email_json_print(
				add_as_of(request, email->host, email_render(email, any_state)),
				email));
}

static void find_and_answer(struct request *request, bool charged)
{
	const struct admission *admission = &request->admission;
	const struct email *row = admission->row;
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	char state[QUERY_VALUE_MAX];
	struct email_ask ask;
	struct email email;
	int found = -1, given = -1;

	if (read_path(admission, &admission->key, &ask, &problem) == 0)
		given = query_get(request_query(request), "state", state, &problem);
	/* A key that may only send never sees unsent emails. */
	ask.scope.sent_only = given == 0 || !(admission->key.scopes & KEY_READING);
	if (given > 0 && !str_eq(state, "any")) {
		problem_set(&problem, PROBLEM_PARAMETER,
			"The `state` parameter must be `any`, if it is given.");
	} else if (given >= 0) {
		found = row ? 1 : find_email(request->db, &ask, &email, NULL, &err);
		if (found < 0)
			request_failed(request, "email_lookup_failed", &err, &problem);
		else if (found == 0)
			no_email(&problem);
	}
	if (problem.kind != PROBLEM_NONE)
		reply_problem(request, &problem);
	else
		answer_email(request, row ? row : &email, !ask.scope.sent_only, charged);
	if (row == NULL && found > 0)
		store_email_clear(&email);
}

/* What the loop has found and charged. */
static void print_in_pool(struct request *request)
{
	find_and_answer(request, true);
}

static void get_email(struct request *request)
{
	find_and_answer(request, false);
}

void api_email_get(struct request *request)
{
	if (request->worker->shared->lookups && request->admission.row == NULL) {
		reply_from_pool(request, get_email);
	} else {
		request->db = request->worker->db; /* a file, or not needed */
		get_email(request);
	}
}

/* PATCH /emails/{id}, POST /emails/{id}/cancel */

static json_t *render_id(const struct op *op)
{
	return json_incref(op->result.more);
}

static int parse_schedule(const json_t *body, void *arg, struct problem *problem)
{
	struct op_email *input = arg;

	if (email_json_schedule(body, "", &input->scheduled_us, problem) < 0)
		return -1;
	if (input->scheduled_us == 0)
		return problem_set(problem, PROBLEM_MISSING_FIELD, "Missing `scheduled_at` field.");
	if (input->scheduled_us <= clock_now_us(&clock_system))
		return problem_fixed(problem, PROBLEM_SCHEDULED_BEFORE);
	return 0;
}

#define MISSING "Email not found"

const struct manage api_email_update = {
	parse_schedule, render_id, NULL, MISSING, PROBLEM_VALIDATION};
const struct manage api_email_cancel = {NULL, render_id, NULL, MISSING, PROBLEM_VALIDATION};

/* GET /emails/{id}/events */

static int find_events(struct request *request, const struct page *page, json_t *data, bool *more_r,
	struct problem *problem)
{
	struct err err = ERR_INIT;
	struct event_list list;
	struct email_ask ask;
	int64_t seq;
	int found;

	if (read_path(&request->admission, &request->admission.key, &ask, problem) < 0)
		return -1;
	found = find_email(request->db, &ask, NULL, &seq, &err);
	if (found < 0)
		return request_failed(request, "email_lookup_failed", &err, problem);
	if (found == 0)
		return no_email(problem);
	found = store_event_page_of_email(request->db, seq, page->after, page->limit, &list, &err);
	if (list_json_check(request, found, page, "event_list_failed", &err, problem) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(data, email_render_event(&list.items[i]));
	*more_r = list.more;
	store_event_list_free(&list);
	return 0;
}

/* Oldest first, so a client never needs `before`. */
void api_email_events(struct request *request)
{
	static const char *const names[] = {"limit", "after", NULL};
	struct problem problem = PROBLEM_INIT;
	json_t *data = json_array();
	struct json_query query;
	struct page page;
	bool more = false;

	if (json_query_read(request, names, &query, &problem) == 0 &&
		json_query_page(&query, &page, &problem) == 0)
		find_events(request, &page, data, &more, &problem);
	reply_either(
		request, &problem, 200, add_as_of(request, NULL, list_json_render(data, more)));
}

/* GET /emails */

/* Runs in the pool: a page may have 100,000 recipients, and a search reads many
 * emails. */
void api_email_list(struct request *request)
{
	const struct operation *operation = request->admission.route->operation;
	struct problem problem = PROBLEM_INIT;
	struct op_email_list input = {0};
	json_t *data = json_array(), *list;
	const struct rows *rows;
	struct err err = ERR_INIT;
	struct json_query query;
	struct op op;

	operate_init(request, &op);
	rows = &op.result.rows;
	if (operate_read_query(request, operation, &op, &input, &query, &problem) == 0)
		manage_list_check(request, operation->run(&op, &input, &err), &op, &err, &problem);
	for (size_t i = 0; i < rows->n; i++)
		json_array_append_new(data, op_item_json(&op, i));
	list = list_json_render(data, rows->more);
	if (*rows->next)
		json_object_set_new(list, "next", json_string(rows->next));
	op_clear(&op);
	reply_either(request, &problem, 200, add_as_of(request, NULL, list));
}
