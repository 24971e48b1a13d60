/*
 * admin: the table of what the admin listener serves, and what its handlers
 * share.
 *
 * Threads: the worker's; admin_run_change() is the committer's.
 */
#include "httpd/admin/admin.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/store/store_company.h"
#include "httpd/json/json_field.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* The file goes into the program as it is. */
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
	{"GET", "/admin", .auth = AUTH_NONE, .handle = get_index},
	{"GET", "/admin/openapi.json", .auth = AUTH_NONE, .handle = get_openapi},
	{"GET", "/login", .auth = AUTH_LOGIN, .handle = admin_session_link},
	{"POST", "/admin/session", .auth = AUTH_LOGIN, .body = BODY_JSON_SMALL,
		.handle = admin_session_login},
	{"GET", "/admin/session", .auth = AUTH_USER, .handle = admin_session_get},
	{"DELETE", "/admin/session", .auth = AUTH_USER, .handle = admin_session_logout,
		.change = admin_session_end},
	{"POST", "/admin/password", .auth = AUTH_USER, .body = BODY_JSON_SMALL,
		.handle = admin_session_new_password, .change = admin_account_set_password},
	{"GET", "/admin/account", .auth = AUTH_USER, .handle = admin_account_get},
	{"POST", "/admin/totp", .auth = AUTH_USER, .body = BODY_JSON_SMALL,
		.handle = admin_session_change_codes, .change = admin_account_totp_start,
		.status = 201},
	{"POST", "/admin/totp/confirm", .auth = AUTH_USER, .body = BODY_JSON_SMALL,
		.handle = admin_session_confirm_codes, .change = admin_account_totp_confirm},
	{"POST", "/admin/totp/off", .auth = AUTH_USER, .body = BODY_JSON_SMALL,
		.handle = admin_session_change_codes, .change = admin_account_totp_off},
	{"GET", "/admin/sessions", .auth = AUTH_USER, .pooled = true,
		.handle = admin_account_session_list},
	{"DELETE", "/admin/sessions", .auth = AUTH_USER, .handle = admin_make_change,
		.change = admin_account_session_end_others},
	{"DELETE", "/admin/sessions/{}", .auth = AUTH_USER, .handle = admin_make_change,
		.change = admin_account_session_end},
	{"GET", "/admin/users", .auth = AUTH_USER, .role = USER_OWNER, .pooled = true,
		.handle = admin_user_list},
	{"POST", "/admin/users", .auth = AUTH_USER, .role = USER_OWNER, .lets_in = true,
		.body = BODY_JSON_SMALL, .handle = admin_make_change, .change = admin_user_add,
		.status = 201},
	{"PATCH", "/admin/users/{}", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_make_change, .change = admin_user_update},
	{"DELETE", "/admin/users/{}", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_make_change, .change = admin_user_remove},
	{"POST", "/admin/users/{}/link", .auth = AUTH_USER, .role = USER_OWNER, .lets_in = true,
		.handle = admin_make_change, .change = admin_user_link, .status = 201},
	{"POST", "/admin/users/{}/reset", .auth = AUTH_USER, .role = USER_OWNER, .lets_in = true,
		.handle = admin_make_change, .change = admin_user_reset, .status = 201},
	{"GET", "/admin/tokens", .auth = AUTH_USER, .role = USER_OWNER, .pooled = true,
		.handle = admin_token_list},
	{"POST", "/admin/tokens", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_session_make_token, .change = admin_token_create, .status = 201},
	{"DELETE", "/admin/tokens/{}", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_make_change, .change = admin_token_revoke},
	{"GET", "/admin/companies", .auth = AUTH_USER, .pooled = true,
		.handle = admin_company_list},
	{"POST", "/admin/companies", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.body = BODY_JSON_SMALL, .handle = admin_make_change, .change = admin_company_add,
		.status = 201},
	{"DELETE", "/admin/companies/{}", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.handle = admin_make_change, .change = admin_company_remove},
	{"GET", "/admin/domains", .auth = AUTH_USER, .pooled = true, .handle = admin_domain_list},
	{"POST", "/admin/domains", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_domain_add, .change = admin_domain_make, .status = 201},
	{"GET", "/admin/domains/{}", .auth = AUTH_USER, .handle = admin_domain_get},
	{"PATCH", "/admin/domains/{}", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.body = BODY_JSON_SMALL, .handle = admin_domain_update,
		.change = admin_domain_change},
	{"DELETE", "/admin/domains/{}", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.handle = admin_make_change, .change = admin_domain_remove},
	{"GET", "/admin/keys", .auth = AUTH_USER, .pooled = true, .handle = admin_key_list},
	{"POST", "/admin/keys", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_make_change, .change = admin_key_create, .status = 201},
	{"GET", "/admin/keys/{}", .auth = AUTH_USER, .handle = admin_key_get},
	{"PATCH", "/admin/keys/{}", .auth = AUTH_USER, .role = USER_OWNER, .body = BODY_JSON_SMALL,
		.handle = admin_make_change, .change = admin_key_update},
	{"DELETE", "/admin/keys/{}", .auth = AUTH_USER, .role = USER_OWNER,
		.handle = admin_make_change, .change = admin_key_revoke},
	{"GET", "/admin/exemptions", .auth = AUTH_USER, .pooled = true,
		.handle = admin_exemption_list},
	{"POST", "/admin/exemptions", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.body = BODY_JSON_SMALL, .handle = admin_make_change, .change = admin_exemption_add,
		.status = 201},
	{"POST", "/admin/exemptions/batch", .auth = AUTH_USER, .role = USER_OWNER,
		.operators = true, .body = BODY_JSON_SMALL, .handle = admin_make_change,
		.change = admin_exemption_add_all, .status = 201},
	{"DELETE", "/admin/exemptions/{}", .auth = AUTH_USER, .role = USER_OWNER, .operators = true,
		.handle = admin_make_change, .change = admin_exemption_remove},
	{"GET", "/admin/suggestions", .auth = AUTH_USER, .pooled = true,
		.handle = admin_suggestion_list},
	{"GET", "/admin/host", .auth = AUTH_USER, .pooled = true, .handle = admin_host_get},
	{"GET", "/admin/emails", .auth = AUTH_USER, .pooled = true, .handle = admin_email_list},
	{"GET", "/admin/emails/{}", .auth = AUTH_USER, .pooled = true, .handle = admin_email_get},
	{"POST", "/admin/emails/test", .auth = AUTH_USER, .role = USER_OWNER,
		.body = BODY_JSON_SMALL, .handle = admin_email_test},
	{"GET", "/admin/emails/{}/html", .auth = AUTH_USER, .pooled = true,
		.handle = admin_email_html},
	{"GET", "/admin/emails/{}/raw", .auth = AUTH_USER, .pooled = true,
		.handle = admin_email_raw},
	{"GET", "/admin/refusals", .auth = AUTH_USER, .pooled = true, .handle = admin_refusal_list},
	{"GET", "/admin/stats", .auth = AUTH_USER, .pooled = true, .handle = admin_stats_get},
	{"GET", "/admin/attention", .auth = AUTH_USER, .pooled = true,
		.handle = admin_attention_list},
	{"GET", "/admin/live", .auth = AUTH_USER, .unattended = true, .handle = admin_live},
	{"GET", "/admin/audit", .auth = AUTH_USER, .pooled = true, .handle = admin_audit_list},
	{"GET", "/admin/settings", .auth = AUTH_USER, .operators = true,
		.handle = admin_setting_list},
	{"GET", "/admin/health", .auth = AUTH_USER, .operators = true, .pooled = true,
		.handle = admin_health_get},
	{"GET", "/healthz", .auth = AUTH_NONE, .handle = admin_healthz},
	{"GET", "/readyz", .auth = AUTH_NONE, .handle = admin_readyz},
	{"GET", "/metrics", .auth = AUTH_USER, .operators = true, .on_loopback = true,
		.handle = admin_metrics_get},
	{.method = NULL},
};

void admin_secret_free(char *secret)
{
	if (secret)
		secret_wipe(secret, strlen(secret));
	free(secret);
}

void admin_body_free(json_t *body)
{
	static const char *const secrets[] = {"password", "new_password", "code"};

	/* The texts are the request's alone. */
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
		admin_secret_free(verified->stored);
	free(verified);
}

/* Who has codes gives one for what would do without them from then on: whoever
 * has found a browser logged in, and knows the password, has no phone. */
static int check_code(
	struct db *db, struct admin_job *job, const struct user *user, struct err *err)
{
	const char *code = json_string_value(json_object_get(job->body, "code"));

	if (store_user_use_code(db, user, code, job->now_us, &job->code_is, err) < 0)
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

/* Whether what was verified is still the caller's password: it may have been
 * changed or taken away by who keeps somebody out. */
static int check_verified(struct db *db, struct admin_job *job, struct err *err)
{
	const struct session *session = &job->request->admission.session;
	const char *verified = job->verified->stored;
	char *stored = NULL;
	struct user user = {0};
	int found = store_user_password(db, session->login, &user, &stored, err);
	bool same = found > 0 && str_eq(user.id, session->user_id) &&
		    (stored && verified ? str_eq(stored, verified) : stored == verified);
	int result = found < 0 ? -1 : 0;

	if (found >= 0 && !same)
		result = err_set(err, ERR_INVALID, "the `password` was changed meanwhile");
	else if (same && job->asks_code)
		result = check_code(db, job, &user, err);
	store_user_clear(&user);
	admin_secret_free(stored);
	return result;
}

int admin_run_change(struct db *db, void *arg, struct err *err)
{
	struct admin_job *job = arg;

	if (job->verified && check_verified(db, job, err) < 0)
		return -1;
	return job->request->admission.route->change(db, job, err);
}

static void on_change_made(struct change *change)
{
	struct admin_job *job = (struct admin_job *)change;
	struct problem problem = PROBLEM_INIT;

	if (job->settled)
		job->settled(job);
	if (change->result == 0 || (change->result < 0 && change->err.code == ERR_NOT_FOUND))
		problem_set(&problem, PROBLEM_NOT_FOUND, "%s",
			change->result < 0 ? change->err.text : "Not found.");
	else if (change->result < 0 && change->err.code == ERR_INVALID)
		problem_set(&problem, PROBLEM_VALIDATION, "%s", change->err.text);
	else if (change->result < 0 && change->err.code == ERR_EXISTS)
		problem_set(&problem, PROBLEM_EXISTS, "%s", change->err.text);
	else if (change->result < 0)
		change_failed(change, "admin_change_failed", &problem);
	reply_changed(change->request, &problem, job->answer ? job->answer : json_object());
	secret_wipe(job->token, sizeof(job->token));
	admin_body_free(job->body);
	admin_verified_free(job->verified);
	free(job);
}

void admin_submit_change(struct request *request, struct admin_job *job)
{
	job->request = request;
	job->param = request->admission.param;
	job->company_id = admission_company(&request->admission);
	job->now_us = clock_now_us(request->worker->shared->clock);
	job->limits = request->worker->conf->limits;
	secret_user_token(job->token);
	change_submit(request, &job->change, admin_run_change, on_change_made);
}

void admin_make_change(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	json_t *body = NULL;
	struct admin_job *job;

	if (request->admission.route->body == BODY_JSON_SMALL &&
		json_field_parse_request(request, &body, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	job = mem_new(struct admin_job);
	job->body = body;
	admin_submit_change(request, job);
}

static int read_field(
	const char *name, json_t *value, const struct admin_field *field, struct err *err)
{
	if (field->text) {
		if (!json_is_string(value) ||
			strlen(json_string_value(value)) != json_string_length(value))
			return err_set(err, ERR_INVALID, "the `%s` field must be a text", name);
		*field->text = json_string_value(value);
	} else if (field->flag) {
		if (!json_is_boolean(value))
			return err_set(
				err, ERR_INVALID, "the `%s` field must be true or false", name);
		*field->flag = json_is_true(value);
	} else if (field->array) {
		if (!json_is_array(value))
			return err_set(err, ERR_INVALID, "the `%s` field must be an array", name);
		*field->array = value;
	} else {
		if (!json_is_integer(value))
			return err_set(
				err, ERR_INVALID, "the `%s` field must be a whole number", name);
		*field->number = json_integer_value(value);
	}
	return 0;
}

int admin_fields(
	const struct admin_job *job, const struct admin_field *fields, size_t n, struct err *err)
{
	return admin_fields_of(job->body, fields, n, err);
}

int admin_fields_of(json_t *object, const struct admin_field *fields, size_t n, struct err *err)
{
	const char *name;
	json_t *value;
	size_t i;

	json_object_foreach(object, name, value) {
		for (i = 0; i < n && !str_eq(fields[i].name, name); i++)
			;
		if (i == n)
			return err_set(err, ERR_INVALID, "there is no field `%.60s` here", name);
		if (!json_is_null(value) && read_field(name, value, &fields[i], err) < 0)
			return -1;
	}
	for (i = 0; i < n; i++) {
		value = json_object_get(object, fields[i].name);
		if (fields[i].required && (value == NULL || json_is_null(value)))
			return err_set(
				err, ERR_INVALID, "the `%s` field is missing", fields[i].name);
	}
	return 0;
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

int admin_list_read(struct request *request, const char *const *names, struct admin_list *list_r)
{
	const char *all[8] = {"limit", "after", "search"};
	struct problem problem = PROBLEM_INIT;

	*list_r = (struct admin_list){0};
	for (size_t i = 0; names[i]; i++)
		all[3 + i] = names[i];
	if (json_query_read(request, all, &list_r->query, &problem) < 0 ||
		json_query_page(&list_r->query, &list_r->page, &problem) < 0) {
		reply_problem(request, &problem);
		return -1;
	}
	if (json_query_get(&list_r->query, "limit") == NULL)
		list_r->page.limit = LIST_LIMIT_MAX;
	list_r->page.search = json_query_words(&list_r->query, "search");
	return 0;
}

void admin_list_reply(struct request *request, int found, const struct admin_list *list,
	json_t *data, const char *event, const struct err *err)
{
	json_t *object = list_json_render(data, list->end.more);
	struct problem problem = PROBLEM_INIT;

	json_object_set_new(object, "next", admin_text(list->end.next));
	list_json_check(request, found, &list->page, event, err, &problem);
	reply_either(request, &problem, 200, object);
}

json_t *admin_name_company(const struct request *request, json_t *item)
{
	const char *id = json_string_value(json_object_get(item, "company_id"));
	struct company company;

	if (admission_company(&request->admission) == NULL && id &&
		store_company_get(request->db, id, &company, NULL) > 0) {
		json_object_set_new(item, "company_name", json_string(company.name));
		store_company_clear(&company);
	}
	return item;
}

const char *admin_query_company(const struct request *request, const struct json_query *query)
{
	const char *own = admission_company(&request->admission);

	return own ? own : json_query_get(query, "company_id");
}

json_t *admin_text(const char *text)
{
	return str_empty(text) ? json_null() : json_string(text);
}
