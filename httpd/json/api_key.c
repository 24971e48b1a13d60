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

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/store/store_domain.h"
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

static int read_name(
	const json_t *body, const char **name_r, struct problem *problem)
{
	if (json_field_line(body, "name", "name", name_r, problem) < 0)
		return -1;
	if (*name_r == NULL)
		*name_r = "";
	if (str_utf8_count(*name_r, strlen(*name_r)) > KEY_NAME_MAX)
		return problem_set(problem, PROBLEM_VALIDATION,
			"The `name` field must not be longer than %d "
			"characters.",
			KEY_NAME_MAX);
	return 0;
}

static int read_permission(
	const json_t *body, unsigned *scopes_r, struct problem *problem)
{
	const json_t *value = json_field_get(body, "permission");

	*scopes_r = permissions[0].scopes;
	if (value == NULL)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(permissions); i++) {
		if (!json_is_string(value) || !str_eq(json_string_value(value),
						      permissions[i].permission))
			continue;
		*scopes_r = permissions[i].scopes;
		return 0;
	}
	return problem_set(problem, PROBLEM_VALIDATION,
		"The `permission` field must be `full_access` or "
		"`sending_access`.");
}

static int read_domain_id(
	const json_t *body, char id[static ID_SIZE], struct problem *problem)
{
	const char *text;

	id[0] = '\0';
	if (json_field_text(body, "domain_id", "domain_id", &text, problem) < 0)
		return -1;
	if (text == NULL || id_parse(text, id))
		return 0;
	return problem_set(problem, PROBLEM_VALIDATION,
		"The `domain_id` field must be a valid UUID.");
}

int key_json_parse(const json_t *body, struct key_request *wanted_r,
	struct problem *problem)
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
		return problem_set(problem, PROBLEM_MISSING_FIELD,
			"Missing `name` field.");
	/* Else {} and [] would be taken for "": a name would be lost. */
	if (json_field_check_line(given, "name", problem) < 0 ||
		read_name(body, &name, problem) < 0)
		return -1;
	*name_r = mem_strdup(name);
	return 0;
}

/* The key in an answer that only names it; a new reference. */
static json_t *render_id(const char *id)
{
	return json_pack("{s:s, s:s}", "object", "api_key", "id", id);
}

json_t *key_json_render(const struct key *key)
{
	return json_pack("{s:s, s:s, s:o, s:o}", "id", key->id, "name",
		key->name, "created_at", json_field_time(key->created_us),
		"last_used_at", json_field_time(key->last_used_us));
}

static int find_page(struct request *request, const struct page *page,
	json_t *data, bool *more_r, struct err *err)
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
	struct change change; /* first */
	const struct key *by; /* the request's */
	int64_t now_us;
	char id[ID_SIZE];          /* of the key that the path names */
	struct key_request wanted; /* of its name only, to be renamed */
	char token[SECRET_TOKEN_SIZE];
	struct key key; /* the new one */
};

static struct key_change *job_new(struct request *request)
{
	struct key_change *job = mem_new(struct key_change);

	job->change.request = request;
	job->by = &request->admission.key;
	job->now_us = clock_now_us(request->worker->shared->clock);
	return job;
}

static void job_free(struct key_change *job)
{
	secret_wipe(job->token, sizeof(job->token));
	store_key_clear(&job->key);
	free(job->wanted.name);
	free(job);
}

/* The name of the wished domain, NULL for none; the caller frees it. 1, 0 when
 * there is no such domain that the key may see, -1. */
static int find_domain(struct db *db, const struct key_change *job,
	char **name_r, struct err *err)
{
	struct domain domain;
	int found;

	*name_r = NULL;
	if (job->wanted.domain_id[0] == '\0')
		return 1;
	found = store_domain_get(
		db, job->by->company_id, job->wanted.domain_id, &domain, err);
	if (found <= 0)
		return found;
	if (job->by->domain == NULL || str_eq(job->by->domain, domain.name))
		*name_r = mem_strdup(domain.name);
	store_domain_clear(&domain);
	return *name_r != NULL;
}

/* 1, or 0 for a domain that is not there. */
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

	if (found <= 0)
		return found;
	secret_hash(job->token, strlen(job->token), hash);
	return store_key_create(db, &spec, hash, job->now_us, &job->key, err) < 0
		       ? -1
		       : 1;
}

static void on_key_created(struct change *change)
{
	struct key_change *job = (struct key_change *)change;
	struct problem problem = PROBLEM_INIT;
	json_t *object = NULL;

	if (change->result > 0)
		object = json_pack(
			"{s:s, s:s}", "id", job->key.id, "token", job->token);
	else if (change->result == 0)
		problem_set(&problem, PROBLEM_VALIDATION,
			"The `domain_id` field is not the id of a domain that "
			"this API key may manage.");
	else
		change_failed(change, "key_create_failed", &problem);
	reply_either(change->request, &problem, 201, object);
	job_free(job);
}

/* A key that is restricted makes only keys that are as restricted. */
static int decide(const struct key *by, const struct key_request *wanted,
	struct problem *problem)
{
	if (by->domain == NULL || wanted->domain_id[0])
		return 0;
	return problem_set(problem, PROBLEM_RESTRICTED_KEY,
		"This API key is restricted to the domain %s: it can only "
		"create keys with its `domain_id`.",
		by->domain);
}

/* 0, or -1 with the problem. */
static int parse_new(struct request *request, struct key_request *wanted_r,
	struct problem *problem)
{
	json_t *body;
	int result;

	if (json_field_parse_request(request, &body, problem) < 0)
		return -1;
	result = key_json_parse(body, wanted_r, problem);
	json_decref(body);
	return result;
}

void api_key_create(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct key_change *job = job_new(request);

	if (parse_new(request, &job->wanted, &problem) < 0 ||
		decide(job->by, &job->wanted, &problem) < 0) {
		reply_problem(request, &problem);
		job_free(job);
		return;
	}
	secret_token(job->token);
	change_submit(request, &job->change, create_run, on_key_created);
}

/* What is wrong with a key that is not there, or could not be written. */
static void explain(
	const struct change *change, const char *event, struct problem *problem)
{
	if (change->result < 0)
		change_failed(change, event, problem);
	else if (change->result == 0)
		problem_set(problem, PROBLEM_NOT_FOUND, "API key not found");
}

/* Of the key that the path names; NULL with the problem. */
static struct key_change *job_new_named(
	struct request *request, struct problem *problem)
{
	struct key_change *job;
	char id[ID_SIZE];

	if (!id_parse(request->admission.param, id)) {
		problem_set(problem, PROBLEM_PARAMETER,
			"The `id` must be a valid UUID.");
		return NULL;
	}
	job = job_new(request);
	memcpy(job->id, id, ID_SIZE);
	return job;
}

/* PATCH /api-keys/{id} */

static int rename_run(struct db *db, void *arg, struct err *err)
{
	struct key_change *job = arg;
	const struct key_range range = {job->by->company_id, job->by->domain};

	return store_key_rename_own(db, &range, job->id, job->wanted.name, err);
}

static void on_key_renamed(struct change *change)
{
	struct key_change *job = (struct key_change *)change;
	struct problem problem = PROBLEM_INIT;

	explain(change, "key_rename_failed", &problem);
	reply_either(change->request, &problem, 200, render_id(job->id));
	job_free(job);
}

static int parse_name(
	struct request *request, char **name_r, struct problem *problem)
{
	json_t *body;
	int result;

	if (json_field_parse_request(request, &body, problem) < 0)
		return -1;
	result = key_json_parse_name(body, name_r, problem);
	json_decref(body);
	return result;
}

void api_key_update(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct key_change *job = job_new_named(request, &problem);

	if (job == NULL) {
		reply_problem(request, &problem);
		return;
	}
	if (parse_name(request, &job->wanted.name, &problem) < 0) {
		reply_problem(request, &problem);
		job_free(job);
		return;
	}
	change_submit(request, &job->change, rename_run, on_key_renamed);
}

/* DELETE /api-keys/{id} */

static int remove_run(struct db *db, void *arg, struct err *err)
{
	struct key_change *job = arg;
	const struct key_range range = {job->by->company_id, job->by->domain};

	return store_key_revoke_own(db, &range, job->id, job->now_us, err);
}

static void on_key_removed(struct change *change)
{
	struct key_change *job = (struct key_change *)change;
	struct problem problem = PROBLEM_INIT;
	json_t *object = render_id(job->id);

	json_object_set_new(object, "deleted", json_true());
	explain(change, "key_revoke_failed", &problem);
	reply_either(change->request, &problem, 200, object);
	job_free(job);
}

void api_key_remove(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct key_change *job = job_new_named(request, &problem);

	if (job == NULL) {
		reply_problem(request, &problem);
		return;
	}
	change_submit(request, &job->change, remove_run, on_key_removed);
}
