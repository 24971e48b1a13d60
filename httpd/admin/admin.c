/*
 * admin: the table of routes of the admin listener, and what its handlers
 * share.
 *
 * Threads: the worker's. Reads run in the pool where their row says so;
 * check_code(), admin_job_before() and the rendering of a change run on the
 * committer's.
 */
#include "httpd/admin/admin.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/ops/op_audit.h"
#include "core/ops/op_company.h"
#include "core/ops/op_domain.h"
#include "core/ops/op_email.h"
#include "core/ops/op_email_list.h"
#include "core/ops/op_event.h"
#include "core/ops/op_exemption.h"
#include "core/ops/op_held.h"
#include "core/ops/op_host.h"
#include "core/ops/op_key.h"
#include "core/ops/op_outbox.h"
#include "core/ops/op_refusal.h"
#include "core/ops/op_stats.h"
#include "core/ops/op_suppression.h"
#include "core/ops/op_user.h"
#include "core/ops/op_webhook.h"
#include "core/ops/suppression_csv.h"
#include "core/store/company/store_company.h"
#include "httpd/json/json_field.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "httpd/outbox/outbox.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* Embeds the file unchanged. */
__asm__(".pushsection .rodata\n"
	".globl admin_openapi\n"
	"admin_openapi:\n"
	".incbin \"httpd/admin.json\"\n"
	".byte 0\n"
	".popsection\n");

static void get_openapi(struct request *request)
{
	reply_printed(request, 200, mem_strdup(admin_openapi));
}

static void get_index(struct request *request)
{
	reply_json(request, 200,
		json_pack("{s:s, s:s, s:s, s:s}", "object", "postern", "version", POSTERN_VERSION,
			"session", "/admin/session", "openapi", "/admin/openapi.json"));
}

const struct route admin_routes[] = {
	{"GET", "/", .auth = AUTH_NONE, .handle = admin_web_index},
	{"HEAD", "/", .auth = AUTH_NONE, .handle = admin_web_index},
	{"GET", "/web/{}", .auth = AUTH_NONE, .handle = admin_web_file},
	{"HEAD", "/web/{}", .auth = AUTH_NONE, .handle = admin_web_file},
	{"GET", "/web/pages/{}", .auth = AUTH_NONE, .handle = admin_web_file},
	{"HEAD", "/web/pages/{}", .auth = AUTH_NONE, .handle = admin_web_file},
	{"GET", "/web/{}/{}", .auth = AUTH_NONE, .handle = admin_web_version},
	{"HEAD", "/web/{}/{}", .auth = AUTH_NONE, .handle = admin_web_version},
	{"GET", "/web/{}/pages/{}", .auth = AUTH_NONE, .handle = admin_web_version},
	{"HEAD", "/web/{}/pages/{}", .auth = AUTH_NONE, .handle = admin_web_version},
	{"GET", "/admin", .auth = AUTH_NONE, .handle = get_index},
	{"GET", "/admin/openapi.json", .auth = AUTH_NONE, .handle = get_openapi},
	{"POST", "/admin/session", .auth = AUTH_LOGIN, .body = BODY_JSON_SMALL,
		.handle = admin_session_login},
	{"POST", "/admin/session/link", .auth = AUTH_LOGIN, .body = BODY_JSON_SMALL,
		.handle = admin_session_link},
	{"GET", "/admin/session", .auth = AUTH_USER, .handle = admin_session_get},
	{"DELETE", "/admin/session", .auth = AUTH_USER, .handle = admin_session_logout,
		.operation = &op_session_logout, .done_alone = true},
	{"POST", "/admin/password", .auth = AUTH_USER, .body = BODY_JSON_SMALL,
		.handle = admin_session_new_password, .operation = &op_password_set,
		.done_alone = true},
	{"GET", "/admin/account", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_account_get},
	{"POST", "/admin/totp", .auth = AUTH_USER, .body = BODY_JSON_SMALL,
		.handle = admin_session_change_codes, .operation = &op_totp_start, .status = 201},
	{"POST", "/admin/totp/confirm", .auth = AUTH_USER, .body = BODY_JSON_SMALL,
		.handle = admin_session_confirm_codes, .operation = &op_totp_confirm},
	{"POST", "/admin/totp/off", .auth = AUTH_USER, .body = BODY_JSON_SMALL,
		.handle = admin_session_change_codes, .operation = &op_totp_off,
		.done_alone = true},
	{"GET", "/admin/sessions", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_session_list},
	{"DELETE", "/admin/sessions", .auth = AUTH_USER, .handle = admin_operate,
		.operation = &op_session_end_others, .done_alone = true},
	{"DELETE", "/admin/sessions/{}", .auth = AUTH_USER, .handle = admin_operate,
		.operation = &op_session_end, .done_alone = true},
	{"GET", "/admin/users", .auth = AUTH_USER, .role = USER_OWNER, .pooled = true,
		.handle = admin_operate, .operation = &op_user_list},
	{"POST", "/admin/users", .auth = AUTH_USER, .role = USER_OWNER, .makes_login = true,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_user_add,
		.status = 201},
	{"PATCH", "/admin/users/{}", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_operate, .operation = &op_user_update},
	{"DELETE", "/admin/users/{}", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_operate, .operation = &op_user_remove, .done_alone = true},
	{"POST", "/admin/users/{}/link", .auth = AUTH_USER, .role = USER_OWNER, .makes_login = true,
		.handle = admin_operate, .operation = &op_user_link, .status = 201},
	{"POST", "/admin/users/{}/reset", .auth = AUTH_USER, .role = USER_OWNER,
		.makes_login = true, .handle = admin_operate, .operation = &op_user_reset,
		.status = 201},
	{"GET", "/admin/tokens", .auth = AUTH_USER, .role = USER_OWNER, .pooled = true,
		.handle = admin_operate, .operation = &op_token_list},
	{"POST", "/admin/tokens", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_session_make_token, .operation = &op_token_create, .status = 201},
	{"DELETE", "/admin/tokens/{}", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_operate, .operation = &op_token_revoke, .done_alone = true},
	{"GET", "/admin/companies", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_company_list},
	{"POST", "/admin/companies", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_company_add,
		.status = 201},
	{"GET", "/admin/companies/{}", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_company_get},
	{"DELETE", "/admin/companies/{}", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.handle = admin_operate, .operation = &op_company_remove, .done_alone = true},
	{"GET", "/admin/domains", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_domain_list},
	{"POST", "/admin/domains", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_operate, .operation = &op_domain_add, .status = 201},
	{"GET", "/admin/domains/{}", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_domain_get},
	{"GET", "/admin/domains/{}/dns", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_domain_show},
	{"POST", "/admin/domains/{}/verify", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_operate, .operation = &op_domain_verify},
	{"PATCH", "/admin/domains/{}", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_domain_update},
	{"DELETE", "/admin/domains/{}", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.handle = admin_operate, .operation = &op_domain_remove, .done_alone = true},
	{"GET", "/admin/keys", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_key_list},
	{"POST", "/admin/keys", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_operate, .operation = &op_key_create, .status = 201},
	{"POST", "/admin/keys/revoke", .auth = AUTH_USER, .role = USER_OWNER,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_key_revoke_all},
	{"GET", "/admin/keys/{}", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_key_get},
	{"PATCH", "/admin/keys/{}", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_operate, .operation = &op_key_rename},
	{"DELETE", "/admin/keys/{}", .auth = AUTH_USER, .role = USER_OWNER, .handle = admin_operate,
		.operation = &op_key_revoke, .done_alone = true},
	{"GET", "/admin/exemptions", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_exemption_list},
	{"POST", "/admin/exemptions", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_exemption_add,
		.status = 201},
	{"POST", "/admin/exemptions/batch", .auth = AUTH_USER, .role = USER_OWNER,
		.operators = true, .body = BODY_JSON_SMALL, .handle = admin_operate,
		.operation = &op_exemption_add_all, .status = 201},
	{"DELETE", "/admin/exemptions/{}", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.handle = admin_operate, .operation = &op_exemption_remove, .done_alone = true},
	{"GET", "/admin/suggestions", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_exemption_suggest},
	{"GET", "/admin/host", .auth = AUTH_USER, .pooled = true, .handle = admin_host_get},
	{"GET", "/admin/emails", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_email_list},
	{"GET", "/admin/emails/{}", .auth = AUTH_USER, .pooled = true, .handle = admin_email_get},
	{"POST", "/admin/emails/test", .auth = AUTH_USER, .role = USER_OWNER,
		.body = BODY_JSON_SMALL, .handle = admin_email_test},
	{"GET", "/admin/emails/{}/html", .auth = AUTH_USER, .pooled = true,
		.handle = admin_email_html},
	{"GET", "/admin/emails/{}/raw", .auth = AUTH_USER, .pooled = true,
		.handle = admin_email_raw},
	{"POST", "/admin/emails/{}/cancel", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_operate, .operation = &op_email_cancel},
	{"POST", "/admin/emails/{}/resend", .auth = AUTH_USER, .role = USER_OWNER,
		.body = BODY_JSON_SMALL, .handle = admin_email_resend,
		.operation = &op_email_resend, .status = 201},
	{"GET", "/admin/hosts", .auth = AUTH_USER, .operators = true, .pooled = true,
		.handle = admin_operate, .operation = &op_host_list},
	{"GET", "/admin/held", .auth = AUTH_USER, .operators = true, .pooled = true,
		.handle = admin_operate, .operation = &op_held_list},
	{"GET", "/admin/held/{}", .auth = AUTH_USER, .operators = true, .pooled = true,
		.handle = admin_operate, .operation = &op_held_get},
	{"POST", "/admin/held/decide", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_held_decide},
	{"GET", "/admin/events", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_event_list},
	{"GET", "/admin/outbox", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_outbox_list},
	{"POST", "/admin/outbox/pause", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_outbox_pause,
		.status = 201},
	{"POST", "/admin/outbox/resume", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_outbox_resume},
	{"POST", "/admin/outbox/cancel", .auth = AUTH_USER, .role = USER_OWNER,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_outbox_cancel},
	{"GET", "/admin/webhooks", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_webhook_search},
	{"POST", "/admin/webhooks", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_operate, .operation = &op_webhook_add, .status = 201},
	{"GET", "/admin/webhooks/{}", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_webhook_get},
	{"PATCH", "/admin/webhooks/{}", .auth = AUTH_USER, .role = USER_OWNER,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_webhook_update},
	{"DELETE", "/admin/webhooks/{}", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_operate, .operation = &op_webhook_remove, .done_alone = true},
	{"POST", "/admin/webhooks/{}/secret", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_operate, .operation = &op_webhook_secret},
	{"POST", "/admin/webhooks/{}/rotate", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_operate, .operation = &op_webhook_rotate},
	{"POST", "/admin/webhooks/{}/test", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_operate, .operation = &op_webhook_test, .status = 201},
	{"GET", "/admin/webhooks/{}/events", .auth = AUTH_USER, .pooled = true,
		.handle = admin_operate, .operation = &op_webhook_events},
	{"GET", "/admin/webhooks/{}/event", .auth = AUTH_USER, .pooled = true,
		.handle = admin_operate, .operation = &op_webhook_event},
	{"GET", "/admin/webhooks/{}/attempts", .auth = AUTH_USER, .pooled = true,
		.handle = admin_operate, .operation = &op_webhook_attempts},
	{"POST", "/admin/webhooks/{}/replay", .auth = AUTH_USER, .role = USER_OWNER,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_webhook_replay},
	{"GET", "/admin/suppressions", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_suppression_list},
	{"POST", "/admin/suppressions", .auth = AUTH_USER, .role = USER_OWNER,
		.body = BODY_JSON_SMALL, .handle = admin_operate, .operation = &op_suppression_add,
		.status = 201},
	{"POST", "/admin/suppressions/batch", .auth = AUTH_USER, .role = USER_OWNER,
		.body = BODY_JSON_SMALL, .handle = admin_operate,
		.operation = &op_suppression_add_all, .status = 201},
	{"POST", "/admin/suppressions/remove", .auth = AUTH_USER, .role = USER_OWNER,
		.body = BODY_JSON_SMALL, .handle = admin_operate,
		.operation = &op_suppression_remove_all, .done_alone = true},
	{"GET", "/admin/suppressions/csv", .auth = AUTH_USER, .pooled = true,
		.handle = admin_suppression_csv, .operation = &op_suppression_list},
	{"GET", "/admin/suppressions/{}", .auth = AUTH_USER, .pooled = true,
		.handle = admin_operate, .operation = &op_suppression_get},
	{"DELETE", "/admin/suppressions/{}", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_operate, .operation = &op_suppression_remove, .done_alone = true},
	{"GET", "/admin/refusals", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_refusal_list},
	{"GET", "/admin/stats", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_stats_events},
	{"GET", "/admin/stats/reasons", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_stats_reasons},
	{"GET", "/admin/stats/providers", .auth = AUTH_USER, .pooled = true,
		.handle = admin_operate, .operation = &op_stats_providers},
	{"GET", "/admin/stats/delays", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_stats_delays},
	{"GET", "/admin/stats/backlog", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_stats_backlog},
	{"GET", "/admin/attention", .auth = AUTH_USER, .pooled = true,
		.handle = admin_attention_list},
	{"GET", "/admin/live", .auth = AUTH_USER, .unattended = true, .handle = admin_live},
	{"GET", "/admin/audit", .auth = AUTH_USER, .pooled = true, .handle = admin_operate,
		.operation = &op_audit_list},
	{"GET", "/admin/settings", .auth = AUTH_USER, .operators = true,
		.handle = admin_setting_list},
	{"GET", "/admin/health", .auth = AUTH_USER, .operators = true, .pooled = true,
		.handle = admin_health_get},
	{"GET", "/admin/doctor", .auth = AUTH_USER, .operators = true, .pooled = true,
		.handle = admin_doctor_get},
	{"GET", "/healthz", .auth = AUTH_NONE, .handle = admin_healthz},
	{"HEAD", "/healthz", .auth = AUTH_NONE, .handle = admin_healthz},
	{"GET", "/readyz", .auth = AUTH_NONE, .handle = admin_readyz},
	{"HEAD", "/readyz", .auth = AUTH_NONE, .handle = admin_readyz},
	{"GET", "/metrics", .auth = AUTH_USER, .operators = true, .on_loopback = true,
		.handle = admin_metrics_get},
	{.method = NULL},
};

void admin_body_free(json_t *body)
{
	static const char *const secrets[] = {"password", "new_password", "code"};

	/* Nothing else refers to these strings. */
	for (size_t i = 0; i < ARRAY_SIZE(secrets); i++) {
		json_t *text = json_object_get(body, secrets[i]);

		if (json_is_string(text))
			secret_wipe((char *)json_string_value(text), json_string_length(text));
	}
	json_decref(body);
}

void admin_verified_free(struct admin_verified *verified)
{
	if (verified)
		secret_text_free(verified->stored);
	free(verified);
}

/* A user with two-factor codes gives one for a change that would bypass them
 * later: somebody who found a logged-in browser and knows the password does not
 * have the phone. */
static int check_code(
	struct db *db, struct admin_job *job, const struct user *user, struct err *err)
{
	const char *code = json_string_value(json_object_get(job->operate.body, "code"));

	if (store_user_use_code(db, user, code, job->operate.op.now_us, &job->code_is, err) < 0)
		return -1;
	if (job->code_is == USER_CODE_MISSING)
		return err_set(err, ERR_INVALID,
			"the `code` field is missing: what the authenticator app shows, or a "
			"recovery code");
	if (job->code_is == USER_CODE_WRONG)
		return err_set(err, ERR_INVALID,
			"the `code` is wrong, or was used already: wait for the next one");
	return 0;
}

/* The verified password may have been changed or removed meanwhile, to lock somebody out. */
int admin_job_before(struct operate *operate, struct db *db, struct err *err)
{
	struct admin_job *job = (struct admin_job *)operate;
	const struct session *session = operate->op.session;
	const char *verified;
	char *stored = NULL;
	struct user user = {0};
	int found, result;
	bool same;

	if (job->verified == NULL)
		return 0;
	verified = job->verified->stored;
	found = store_user_password(db, session->login, &user, &stored, err);
	same = found > 0 && str_eq(user.id, session->user_id) &&
	       (stored && verified ? str_eq(stored, verified) : stored == verified);
	result = found < 0 ? -1 : 0;
	if (found >= 0 && !same)
		result = err_set(err, ERR_INVALID, "the `password` was changed meanwhile");
	else if (same && job->asks_code)
		result = check_code(db, job, &user, err);
	store_user_clear(&user);
	secret_text_free(stored);
	return result;
}

/* Results of operations. */

/* Adds the company's name for operators, unless the item has it. */
static json_t *name_company(const struct op *op, json_t *item)
{
	const char *id = json_string_value(json_object_get(item, "company_id"));
	struct company company;

	if (op->company_id == NULL && id && json_object_get(item, "company_name") == NULL &&
		store_company_get(op->db, id, &company, NULL) > 0) {
		json_object_set_new(item, "company_name", json_string(company.name));
		store_company_clear(&company);
	}
	return item;
}

static json_t *render_list(const struct op *op, bool in_pages)
{
	const struct rows *rows = &op->result.rows;
	json_t *data = json_array(), *answer;

	for (size_t i = 0; i < rows->n; i++)
		json_array_append_new(data, name_company(op, op_item_json(op, i)));
	answer = list_json_render(data, rows->more);
	if (in_pages)
		json_object_set_new(answer, "next", row_json_given(rows->next));
	json_object_update(answer, op->result.more);
	return answer;
}

static json_t *render_change(const struct op *op)
{
	return name_company(op, op_json(op));
}

static json_t *render_changes(const struct op *op)
{
	return render_list(op, false);
}

/* Sets the problem of an operation. Errors that the caller may not see are
 * logged. */
static void explain_operation(
	const struct request *request, int result, const struct err *err, struct problem *problem)
{
	static const enum problem_kind kinds[ERR_CODES] = {
		[ERR_INVALID] = PROBLEM_VALIDATION,
		[ERR_NOT_FOUND] = PROBLEM_NOT_FOUND,
		[ERR_EXISTS] = PROBLEM_EXISTS,
		[ERR_DENIED] = PROBLEM_FORBIDDEN,
		[ERR_SHARE] = PROBLEM_UNAVAILABLE,
	};

	if (result == 0)
		problem_set(problem, PROBLEM_NOT_FOUND, "Not found.");
	else if (result < 0 && kinds[err->code] != PROBLEM_NONE)
		problem_set(problem, kinds[err->code], "%s", err->text);
	else if (result < 0)
		request_failed(request, "operation_failed", err, problem);
}

/* Runs an operation that only reads, and replies. */
static void reply_reading(struct request *request)
{
	const struct operation *operation = request->admission.route->operation;
	_cleanup_free_ void *input = operation->size ? mem_alloc(1, operation->size) : NULL;
	const bool in_pages = operation->list >= OP_SEARCH;
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	struct json_query query;
	json_t *answer = NULL;
	struct op op;
	int found;

	operate_init(request, &op);
	if (operate_read_query(request, operation, &op, input, &query, &problem) == 0) {
		found = operation->run(&op, input, &err);
		if (found == 0 && in_pages)
			list_json_check(request, found, &op.page, NULL, &err, &problem);
		else if (found < 0 && err.code == ERR_INVALID) /* the input is the query */
			problem_set(&problem, PROBLEM_PARAMETER, "%s", err.text);
		else
			explain_operation(request, found, &err, &problem);
		if (found > 0)
			answer = operation->list == OP_ONE ? name_company(&op, op_json(&op))
							   : render_list(&op, in_pages);
		op_clear(&op);
	}
	reply_either(request, &problem, 200, answer);
}

/* Changes. */

static void on_change_made(struct change *change)
{
	struct admin_job *job = (struct admin_job *)change;
	struct problem problem = change->refused;

	if (job->settled)
		job->settled(job);
	if (problem.kind == PROBLEM_NONE)
		explain_operation(change->request, change->result, &change->err, &problem);
	reply_changed(change->request, &problem,
		job->operate.answer ? job->operate.answer : json_object());
	operate_end(&job->operate);
	admin_body_free(job->operate.body);
	admin_verified_free(job->verified);
	free(job);
}

struct admin_job *admin_job_new(struct request *request)
{
	const struct route *route = request->admission.route;
	struct admin_job *job = mem_new(struct admin_job);

	operate_begin(request, &job->operate, route->operation);
	job->operate.op.outbox_bytes = outbox_bytes_get;
	job->operate.op.outbox = request->worker->shared->outbox;
	job->operate.before = admin_job_before;
	if (!route->done_alone)
		job->operate.render = route->operation->list == OP_ONE ? render_change
								       : render_changes;
	return job;
}

void admin_job_submit(struct admin_job *job)
{
	struct operate *operate = &job->operate;
	struct change *change = &operate->change;

	if (operate->operation->fields && operate->body)
		change->result = operate_read_body(&operate->op, operate->body,
			operate->operation->fields, operate->input, &change->err);
	if (change->result < 0)
		on_change_made(change);
	else
		operate_submit(operate, on_change_made);
}

void admin_operate(struct request *request)
{
	const struct route *route = request->admission.route;
	struct problem problem = PROBLEM_INIT;
	json_t *body = NULL;
	struct admin_job *job;

	if (str_eq(route->method, "GET")) {
		reply_reading(request);
		return;
	}
	if (route->body == BODY_JSON_SMALL &&
		json_field_parse_request(request, &body, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	job = admin_job_new(request);
	job->operate.body = body;
	admin_job_submit(job);
}

/* GET /admin/suppressions/csv: a page of a company's list, as CSV. */
void admin_suppression_csv(struct request *request)
{
	enum { LINES = 2000 };
	const struct operation *operation = request->admission.route->operation;
	struct op_suppression input = {0};
	struct problem problem = PROBLEM_INIT;
	_cleanup_buf_ struct buf lines = BUF_INIT;
	struct err err = ERR_INIT;
	struct json_query query;
	json_t *answer = NULL;
	struct op op;
	int found;

	operate_init(request, &op);
	if (operate_read_query(request, operation, &op, &input, &query, &problem) == 0) {
		const struct rows *rows = &op.result.rows;
		const struct suppression *items;

		if (op.company_id == NULL && input.company_id == NULL)
			found = op_refuse(&op, &err, "company_id", "parameter is missing");
		else
			found = 1;
		op.page.limit = LINES;
		if (found > 0)
			found = operation->run(&op, &input, &err);
		if (found == 0)
			list_json_check(request, found, &op.page, NULL, &err, &problem);
		else
			explain_operation(request, found, &err, &problem);
		items = rows->items;
		if (op.page.after[0] == '\0')
			suppression_csv_head(&lines);
		for (size_t i = 0; i < rows->n; i++)
			suppression_csv_add(&lines, &items[i]);
		if (found > 0)
			answer = json_pack("{s:s, s:i, s:s, s:b, s:o}", "object", "suppression_csv",
				"lines", (int)rows->n, "csv", buf_str(&lines), "has_more",
				rows->more || *rows->next, "next",
				row_json_given(*rows->next                 ? rows->next
					       : rows->more && rows->n > 0 ? items[rows->n - 1].id
									   : NULL));
		op_clear(&op);
	}
	reply_either(request, &problem, 200, answer);
}

void admin_reply_found(struct request *request, int found, json_t *object, const char *event,
	const struct err *err)
{
	struct problem problem = PROBLEM_INIT;

	if (found < 0) {
		request_failed(request, event, err, &problem);
	} else if (found == 0) {
		problem_set(&problem, PROBLEM_NOT_FOUND, "Not found.");
	}
	reply_either(request, &problem, 200, object);
}

void admin_reply_list(
	struct request *request, int result, json_t *data, const char *event, const struct err *err)
{
	admin_reply_found(request, result < 0 ? -1 : 1, list_json_render(data, false), event, err);
}

const char *admin_query_company(const struct request *request, const struct json_query *query)
{
	const char *own = admission_company(&request->admission);

	return own ? own : json_query_get(query, "company_id");
}
