/*
 * api_domain: the routes /domains: what a client asks for, what it is answered,
 * and what changes.
 *
 * Clients know settings of a domain that have no meaning here. What they ask
 * for is accepted when it is so anyway, and else refused: a client that wants
 * TLS enforced must not believe that it is.
 *
 * What is decided about a domain is decided on the committer's thread, inside
 * the transaction that acts on it: an operator may be at it at the same time.
 *
 * Threads: the worker's; functions *_run() are the committer's, and what they call.
 */
#include "httpd/json/api_json.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/address/addr.h"
#include "core/store/store_audit.h"
#include "core/store/store_domain.h"
#include "core/store/store_key.h"
#include "core/store/store_limit.h"
#include "core/postfix/postconf.h"
#include "httpd/worker/worker.h"
#include "httpd/gate/request.h"
#include "httpd/http/problem.h"
#include "httpd/transport/reply.h"
#include "httpd/json/json_field.h"
#include "httpd/json/list_json.h"

/* Where the mail goes out is where Postfix runs; clients that check the region
 * know these only. */
static const char *const regions[] = {"us-east-1", "eu-west-1", "sa-east-1", "ap-northeast-1"};

/* Settings and the only value that they can have. */
static const struct {
	const char *path;   /* as problems name it */
	const char *object; /* it is in there; NULL: in the body itself */
	const char *name;
	const char *value; /* NULL: false */
} fixed[] = {
	{"open_tracking", NULL, "open_tracking", NULL},
	{"click_tracking", NULL, "click_tracking", NULL},
	{"tls", NULL, "tls", "opportunistic"},
	{"capabilities.sending", "capabilities", "sending", "enabled"},
	{"capabilities.receiving", "capabilities", "receiving", "disabled"},
};

static bool is_fixed(const json_t *value, const char *wanted)
{
	if (wanted == NULL)
		return json_is_false(value);
	return json_is_string(value) && str_eq(json_string_value(value), wanted);
}

/* An object, or not given. */
static int check_capabilities(const json_t *body, struct problem *problem)
{
	const json_t *value = json_field_get(body, "capabilities");

	if (value == NULL || json_is_object(value))
		return 0;
	return problem_set(
		problem, PROBLEM_VALIDATION, "The `capabilities` field must be an object.");
}

/* Checks the body of PATCH /domains/{id}: it may ask only for what is so
 * anyway. */
static int check_settings(const json_t *body, struct problem *problem)
{
	if (check_capabilities(body, problem) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		const json_t *object = fixed[i].object ? json_object_get(body, fixed[i].object)
						       : body;
		const json_t *value = json_field_get(object, fixed[i].name);
		const char *wanted = fixed[i].value;

		if (value && !is_fixed(value, wanted))
			return problem_set(problem, PROBLEM_VALIDATION,
				"The `%s` field can only be `%s` here.", fixed[i].path,
				wanted ? wanted : "false");
	}
	if (json_field_get(body, "tracking_subdomain"))
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `tracking_subdomain` field is not supported.");
	return 0;
}

static int check_region(const json_t *body, struct problem *problem)
{
	const json_t *region = json_field_get(body, "region");
	_cleanup_buf_ struct buf known = BUF_INIT;

	if (region == NULL)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(regions); i++) {
		if (json_is_string(region) && str_eq(json_string_value(region), regions[i]))
			return 0;
		buf_printf(&known, "%s%s",
			i == 0                        ? ""
			: i + 1 < ARRAY_SIZE(regions) ? ", "
						      : " and ",
			regions[i]);
	}
	return problem_set(problem, PROBLEM_REGION,
		"The `region` field must be one of %s. It has no meaning here.", buf_str(&known));
}

static int read_name(const json_t *body, char **name_r, struct problem *problem)
{
	struct err err = ERR_INIT;
	const char *name;

	if (json_field_line(body, "name", "name", &name, problem) < 0)
		return -1;
	if (name == NULL)
		return problem_set(problem, PROBLEM_MISSING_FIELD, "Missing `name` field.");
	if (addr_domain_normalize(name, name_r, &err) < 0)
		return problem_set(
			problem, PROBLEM_VALIDATION, "Invalid `name` field: %s.", err.text);
	return 0;
}

int domain_json_parse_new(const json_t *body, char **name_r, struct problem *problem)
{
	if (check_region(body, problem) < 0 || check_settings(body, problem) < 0)
		return -1;
	return read_name(body, name_r, problem);
}

/* What an operator has taken from the company looks as if it never began. */
static const char *status(const struct domain *domain)
{
	if (domain->active)
		return "verified";
	return domain->pending ? "pending" : "not_started";
}

json_t *domain_json_render_item(const struct domain *domain)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s, s:b, s:b, s:{s:s, s:s}}", "object",
		"domain", "id", domain->id, "name", domain->name, "status", status(domain),
		"created_at", json_field_time(domain->created_us), "region", regions[0],
		"open_tracking", 0, "click_tracking", 0, "capabilities", "sending", "enabled",
		"receiving", "disabled");
}

json_t *domain_json_render(const struct domain *domain)
{
	json_t *object = domain_json_render_item(domain);

	json_object_set_new(object, "records", json_array());
	return object;
}

static json_t *render_id(const char *id)
{
	return json_pack("{s:s, s:s}", "object", "domain", "id", id);
}

/* The id in the path. 0, or -1 with the problem. */
static int id_of_path(
	const struct request *request, char id[static ID_SIZE], struct problem *problem)
{
	if (id_parse(request->admission.param, id))
		return 0;
	return problem_set(problem, PROBLEM_PARAMETER, "The `id` must be a valid UUID.");
}

/* The domain that the key may see: 1, 0 or -1. */
static int find_seen(struct db *db, const struct key *key, const char *id, struct domain *domain_r,
	struct err *err)
{
	struct domain domain;
	int found = store_domain_get(db, key->company_id, id, &domain, err);

	if (found <= 0)
		return found;
	if (key->domain && !str_eq(key->domain, domain.name)) {
		store_domain_clear(&domain);
		return 0;
	}
	*domain_r = domain;
	return 1;
}

/* The answer to a domain that is not there. -1. */
static int missing(struct problem *problem)
{
	return problem_set(problem, PROBLEM_NOT_FOUND, "Domain not found");
}

/* The domain of the path. 0, or -1 with the problem. */
static int find(struct request *request, struct domain *domain_r, struct problem *problem)
{
	struct err err = ERR_INIT;
	char id[ID_SIZE];
	int found;

	if (id_of_path(request, id, problem) < 0)
		return -1;
	found = find_seen(request->db, &request->admission.key, id, domain_r, &err);
	if (found < 0)
		return request_failed(request, "domain_lookup_failed", &err, problem);
	return found == 0 ? missing(problem) : 0;
}

void api_domain_get(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct domain domain;

	if (find(request, &domain, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	reply_json(request, 200, domain_json_render(&domain));
	store_domain_clear(&domain);
}

static int find_page(struct request *request, const struct page *page, json_t *data, bool *more_r,
	struct err *err)
{
	const struct key *key = &request->admission.key;
	const struct domain_scope scope = {key->company_id, key->domain};
	struct domain_list list;
	int found = store_domain_page(request->db, &scope, page, &list, more_r, err);

	if (found <= 0)
		return found;
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(data, domain_json_render_item(&list.items[i]));
	store_domain_list_free(&list);
	return 1;
}

void api_domain_list(struct request *request)
{
	list_json_reply(request, find_page, "domain_list_failed");
}

static int parse_update(struct request *request, struct problem *problem)
{
	json_t *body;
	int result;

	if (json_field_parse_request(request, &body, problem) < 0)
		return -1;
	result = check_settings(body, problem);
	json_decref(body);
	return result;
}

void api_domain_update(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct domain domain;

	if (parse_update(request, &problem) < 0 || find(request, &domain, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	reply_json(request, 200, render_id(domain.id));
	store_domain_clear(&domain);
}

struct domain_change {
	struct change change;  /* first */
	const struct key *key; /* the request's */
	char id[ID_SIZE];      /* of the path */
	char *name;            /* of a new one */
	char *kept;            /* the names that no company may activate; NULL: all */
	struct conf_limits limits;
	json_t *answer;
};

static struct domain_change *job_new(struct request *request)
{
	struct domain_change *job = mem_new(struct domain_change);

	job->key = &request->admission.key;
	job->limits = request->worker->conf->limits;
	return job;
}

static void on_domain_changed(struct change *change)
{
	struct domain_change *job = (struct domain_change *)change;
	struct problem problem = PROBLEM_INIT;

	if (change->result < 0)
		change_failed(change, "domain_change_failed", &problem);
	reply_changed(change->request, &problem, job->answer);
	free(job->kept);
	free(job->name);
	free(job);
}

/* POST /domains */

static int create_run(struct db *db, void *arg, struct err *err)
{
	struct domain_change *job = arg;
	struct domain domain;

	if (store_domain_ask(
		    db, job->key->company_id, job->name, job->change.now_us, &domain, err) == 0) {
		job->answer = domain_json_render(&domain);
		store_domain_clear(&domain);
		return store_limit_check(db, LIMIT_PENDING_DOMAINS, job->key->company_id,
			       job->limits.pending_domains, err) < 0
			       ? change_refuse(&job->change, err)
			       : 0;
	}
	if (err->code == ERR_EXISTS)
		problem_set(&job->change.refused, PROBLEM_VALIDATION,
			"The %s domain has been registered already.", job->name);
	return -1;
}

/* 0, or -1 with the problem. */
static int parse_new(struct request *request, char **name_r, struct problem *problem)
{
	const char *bound = request->admission.key.domain;
	json_t *body;
	int result;

	if (bound)
		return problem_set(problem, PROBLEM_RESTRICTED_KEY,
			"This API key is restricted to the domain %s: it cannot add others.",
			bound);
	if (json_field_parse_request(request, &body, problem) < 0)
		return -1;
	result = domain_json_parse_new(body, name_r, problem);
	json_decref(body);
	return result;
}

void api_domain_create(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct domain_change *job;
	char *name;

	if (parse_new(request, &name, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	job = job_new(request);
	job->name = name;
	change_submit(request, &job->change, create_run, on_domain_changed);
}

/* The domain of the path: 0, or -1 with err or refused. */
static int find_own(
	struct db *db, struct domain_change *job, struct domain *domain_r, struct err *err)
{
	int found = find_seen(db, job->key, job->id, domain_r, err);

	return found == 0 ? missing(&job->change.refused) : found < 0 ? -1 : 0;
}

/* POST /domains/{id}/verify */

/* The name may be registered to another company, or covered by a domain of
 * one: then it stays pending, and nobody is told why. */
static int activate(
	struct db *db, struct domain_change *job, const struct domain *domain, struct err *err)
{
	int covered = store_domain_is_covered(db, domain, err);
	struct err why = ERR_INIT;

	if (covered != 0)
		return covered < 0 ? -1 : 0;
	if (store_domain_register(db, domain->id, &why) < 0)
		return why.code == ERR_EXISTS ? 0 : err_copy(err, &why);
	if (store_limit_check(db, LIMIT_DOMAINS, domain->company_id, job->limits.domains, err) < 0)
		return change_refuse(&job->change, err);
	return 0;
}

static int verify_run(struct db *db, void *arg, struct err *err)
{
	struct domain_change *job = arg;
	struct domain domain;
	int result;

	if (find_own(db, job, &domain, err) < 0)
		return -1;
	result = domain.pending && job->kept && !postconf_names_have(job->kept, domain.name)
			 ? activate(db, job, &domain, err)
			 : 0;
	store_domain_clear(&domain);
	job->answer = render_id(job->id);
	return result;
}

/* DELETE /domains/{id} */

/* What an operator has taken from the company, it cannot get back by removing
 * it and asking anew. */
static int remove_run(struct db *db, void *arg, struct err *err)
{
	struct domain_change *job = arg;
	struct domain domain;
	int result;

	if (find_own(db, job, &domain, err) < 0)
		return -1;
	if (!domain.active && !domain.pending)
		result = problem_set(&job->change.refused, PROBLEM_DOMAIN,
			"The %s domain was deactivated by the operator and cannot be removed.",
			domain.name);
	else
		result = store_domain_remove(db, job->id, err);
	store_domain_clear(&domain);
	if (result == STORE_MORE)
		return result;
	job->answer = render_id(job->id);
	json_object_set_new(job->answer, "deleted", json_true());
	return result;
}

static void change_one(
	struct request *request, int (*run)(struct db *db, void *arg, struct err *err))
{
	const struct conf *conf = request->worker->conf;
	struct problem problem = PROBLEM_INIT;
	struct domain_change *job;
	char id[ID_SIZE];

	if (id_of_path(request, id, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	job = job_new(request);
	memcpy(job->id, id, ID_SIZE);
	if (conf->http.domain_activation == ACTIVATION_COMPANY)
		job->kept = mem_strdup(conf->milter.local_domains);
	change_submit(request, &job->change, run, on_domain_changed);
}

void api_domain_verify(struct request *request)
{
	change_one(request, verify_run);
}

void api_domain_remove(struct request *request)
{
	change_one(request, remove_run);
}
