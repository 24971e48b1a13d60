/*
 * api_key: the routes /api-keys: what a client asks for, what it is answered,
 * and what changes.
 *
 * Invariant: a token is kept until its one answer is made, then wiped.
 *
 * Threads: the worker's; functions *_run() are the committer's.
 */
#include "httpd/json/api_json.h"

#include <string.h>

#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/store_domain.h"
#include "core/store/store_limit.h"
#include "httpd/gate/request.h"
#include "httpd/json/json_field.h"
#include "httpd/json/list_json.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

static const struct {
	const char *permission;
	unsigned scopes;
} permissions[] = {
	{"full_access", KEY_ALL},
	{"sending_access", KEY_SENDING},
};

static int read_name(const json_t *body, const char **name_r, struct problem *problem)
{
	if (json_field_line(body, "name", "name", name_r, problem) < 0)
		return -1;
	if (*name_r == NULL)
		*name_r = "";
	if (str_utf8_count(*name_r, strlen(*name_r)) > KEY_NAME_MAX)
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `name` field must not be longer than %d characters.", KEY_NAME_MAX);
	return 0;
}

static int read_permission(const json_t *body, unsigned *scopes_r, struct problem *problem)
{
	const json_t *value = json_field_get(body, "permission");

	*scopes_r = permissions[0].scopes;
	if (value == NULL)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(permissions); i++) {
		if (!json_is_string(value) ||
			!str_eq(json_string_value(value), permissions[i].permission))
			continue;
		*scopes_r = permissions[i].scopes;
		return 0;
	}
	return problem_set(problem, PROBLEM_VALIDATION,
		"The `permission` field must be `full_access` or `sending_access`.");
}

static int read_domain_id(const json_t *body, char id[static ID_SIZE], struct problem *problem)
{
	const char *text;

	id[0] = '\0';
	if (json_field_text(body, "domain_id", "domain_id", &text, problem) < 0)
		return -1;
	if (text == NULL || id_parse(text, id))
		return 0;
	return problem_set(
		problem, PROBLEM_VALIDATION, "The `domain_id` field must be a valid UUID.");
}

int key_json_parse(const json_t *body, struct key_request *wanted_r, struct problem *problem)
{
	struct key_request wanted = {0};
	const char *name;

	if (read_name(body, &name, problem) < 0 ||
		read_permission(body, &wanted.scopes, problem) < 0 ||
		read_domain_id(body, wanted.domain_id, problem) < 0)
		return -1;
	wanted.name = mem_strdup(name);
	*wanted_r = wanted;
	return 0;
}

int key_json_parse_name(const json_t *body, char **name_r, struct problem *problem)
{
	const json_t *given = json_object_get(body, "name");
	const char *name;

	if (given == NULL || json_is_null(given))
		return problem_set(problem, PROBLEM_MISSING_FIELD, "Missing `name` field.");
	/* Else {} and [] would be taken for "": a name would be lost. */
	if (json_field_check_line(given, "name", problem) < 0 ||
		read_name(body, &name, problem) < 0)
		return -1;
	*name_r = mem_strdup(name);
	return 0;
}

json_t *key_json_render(const struct key *key)
{
	return json_pack("{s:s, s:s, s:o, s:o}", "id", key->id, "name", key->name, "created_at",
		json_field_time(key->created_us), "last_used_at",
		json_field_time(key->last_used_us));
}

static int find_page(struct request *request, const struct page *page, json_t *data, bool *more_r,
	struct err *err)
{
	const struct key *key = &request->admission.key;
	const struct key_range range = {key->company_id, key->domain};
	struct key_list list;
	int found = store_key_page(request->db, &range, page, &list, more_r, err);

	if (found <= 0)
		return found;
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(data, key_json_render(&list.items[i]));
	store_key_list_free(&list);
	return 1;
}

void api_key_list(struct request *request)
{
	list_json_reply(request, find_page, "key_list_failed");
}

/* POST /api-keys */

struct key_change {
	struct change change;      /* first */
	const struct key *by;      /* the request's */
	char id[ID_SIZE];          /* of the key that the path names */
	struct key_request wanted; /* of its name only, to be renamed */
	char token[SECRET_TOKEN_SIZE];
	int64_t limit; /* of valid keys */
	json_t *answer;
};

static void job_free(struct key_change *job)
{
	secret_wipe(job->token, sizeof(job->token));
	free(job->wanted.name);
	free(job);
}

static void on_key_changed(struct change *change)
{
	struct key_change *job = (struct key_change *)change;
	struct problem problem = PROBLEM_INIT;

	if (change->result < 0)
		change_failed(change, "key_change_failed", &problem);
	reply_changed(change->request, &problem, job->answer);
	job_free(job);
}

/* Reads what the route takes of path and body, and has run called. */
static void change_key(struct request *request,
	int (*parse)(const json_t *body, struct key_change *job, struct problem *problem),
	int (*run)(struct db *db, void *arg, struct err *err))
{
	const struct admission *admission = &request->admission;
	struct key_change *job = mem_new(struct key_change);
	struct problem problem = PROBLEM_INIT;
	json_t *body = NULL;

	job->by = &admission->key;
	job->limit = request->worker->conf->limits.keys;
	if (*admission->param && !id_parse(admission->param, job->id))
		problem_set(&problem, PROBLEM_PARAMETER, "The `id` must be a valid UUID.");
	else if (parse && json_field_parse_request(request, &body, &problem) == 0)
		parse(body, job, &problem);
	json_decref(body);
	if (problem.kind == PROBLEM_NONE) {
		change_submit(request, &job->change, run, on_key_changed);
		return;
	}
	reply_problem(request, &problem);
	job_free(job);
}

/* The name of the wished domain, NULL for none; the caller frees it. 1, 0 when
 * there is no such domain that the key may see, -1. */
static int find_domain(struct db *db, const struct key_change *job, char **name_r, struct err *err)
{
	struct domain domain;
	int found;

	*name_r = NULL;
	if (job->wanted.domain_id[0] == '\0')
		return 1;
	found = store_domain_get(db, job->by->company_id, job->wanted.domain_id, &domain, err);
	if (found <= 0)
		return found;
	if (job->by->domain == NULL || str_eq(job->by->domain, domain.name))
		*name_r = mem_strdup(domain.name);
	store_domain_clear(&domain);
	return *name_r != NULL;
}

static int create_run(struct db *db, void *arg, struct err *err)
{
	struct key_change *job = arg;
	_cleanup_free_ char *domain = NULL;
	uint8_t hash[SECRET_HASH_LEN];
	int found = find_domain(db, job, &domain, err);
	const struct key_spec spec = {
		.company_id = job->by->company_id,
		.domain = domain,
		.name = job->wanted.name,
		.scopes = job->wanted.scopes,
	};
	struct key key;

	if (found < 0)
		return -1;
	if (found == 0)
		return problem_set(&job->change.refused, PROBLEM_VALIDATION,
			"The `domain_id` field is not the id of a domain that this API key may "
			"manage.");
	secret_token(job->token);
	secret_hash(job->token, strlen(job->token), hash);
	if (store_key_create(db, &spec, hash, job->change.now_us, &key, err) < 0)
		return -1;
	job->answer = json_pack("{s:s, s:s}", "id", key.id, "token", job->token);
	store_key_clear(&key);
	if (store_limit_check(db, LIMIT_KEYS, spec.company_id, job->limit, err) < 0)
		return change_refuse(&job->change, err);
	return store_key_forget_revoked(db, spec.company_id, job->limit, err);
}

/* A key that is restricted makes only keys that are as restricted. */
static int parse_new(const json_t *body, struct key_change *job, struct problem *problem)
{
	if (key_json_parse(body, &job->wanted, problem) < 0)
		return -1;
	if (job->by->domain == NULL || job->wanted.domain_id[0])
		return 0;
	return problem_set(problem, PROBLEM_RESTRICTED_KEY,
		"This API key is restricted to the domain %s: it can only create keys with its "
		"`domain_id`.",
		job->by->domain);
}

void api_key_create(struct request *request)
{
	change_key(request, parse_new, create_run);
}

/* Answers for the key of the path; found is 1, 0 or -1. */
static int answer_found(struct key_change *job, int found)
{
	if (found == 0)
		return problem_set(&job->change.refused, PROBLEM_NOT_FOUND, "API key not found");
	if (found > 0)
		job->answer = json_pack("{s:s, s:s}", "object", "api_key", "id", job->id);
	return found;
}

/* PATCH /api-keys/{id} */

static int rename_run(struct db *db, void *arg, struct err *err)
{
	struct key_change *job = arg;
	const struct key_range range = {job->by->company_id, job->by->domain};

	return answer_found(job, store_key_rename_own(db, &range, job->id, job->wanted.name, err));
}

static int parse_name(const json_t *body, struct key_change *job, struct problem *problem)
{
	return key_json_parse_name(body, &job->wanted.name, problem);
}

void api_key_update(struct request *request)
{
	change_key(request, parse_name, rename_run);
}

/* DELETE /api-keys/{id} */

static int remove_run(struct db *db, void *arg, struct err *err)
{
	struct key_change *job = arg;
	const struct key_range range = {job->by->company_id, job->by->domain};
	int found = answer_found(
		job, store_key_revoke_own(db, &range, job->id, job->change.now_us, err));

	json_object_set_new(job->answer, "deleted", json_true());
	return found;
}

void api_key_remove(struct request *request)
{
	change_key(request, NULL, remove_run);
}
