/*
 * api_key_change: the routes /api-keys that write.
 *
 * Invariant: a token is kept until its one answer is made, then wiped.
 *
 * Threads: the worker's, but for what is called *_run(), which are the
 * committer's.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/store/store_domain.h"
#include "httpd/base/worker.h"
#include "httpd/http/change.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/json/api_key.h"
#include "httpd/json/json_body.h"
#include "httpd/json/key_json.h"

/* POST /api-keys */

struct key_change {
	struct change change; /* first */
	const struct key *by; /* the request's */
	int64_t now_us;
	char id[ID_SIZE];     /* of the key that the path names */
	struct key_wish wish; /* of its name only, to be renamed */
	char token[SECRET_TOKEN_SIZE];
	struct key key; /* the new one */
};

static struct key_change *begin(struct request *request)
{
	struct key_change *it = mem_new(struct key_change);

	it->change.request = request;
	it->by = &request->admission.key;
	it->now_us = clock_now_us(request->worker->shared->clock);
	return it;
}

static void end(struct key_change *it)
{
	secret_wipe(it->token, sizeof(it->token));
	store_key_clear(&it->key);
	free(it->wish.name);
	free(it);
}

/* The name of the wished domain, NULL for none; the caller frees it. 1, 0 when
 * there is no such domain that the key may see, -1. */
static int find_domain(struct db *db, const struct key_change *it,
	char **name_r, struct err *err)
{
	struct domain domain;
	int found;

	*name_r = NULL;
	if (it->wish.domain_id[0] == '\0')
		return 1;
	found = store_domain_get(
		db, it->by->company_id, it->wish.domain_id, &domain, err);
	if (found <= 0)
		return found;
	if (it->by->domain == NULL || str_eq(it->by->domain, domain.name))
		*name_r = mem_strdup(domain.name);
	store_domain_clear(&domain);
	return *name_r != NULL;
}

/* 1, or 0 for a domain that is not there. */
static int create_run(struct db *db, void *arg, struct err *err)
{
	struct key_change *it = arg;
	_cleanup_free_ char *domain = NULL;
	uint8_t hash[SECRET_HASH_LEN];
	int found = find_domain(db, it, &domain, err);
	const struct key_spec spec = {
		.company_id = it->by->company_id,
		.domain = domain,
		.name = it->wish.name,
		.scopes = it->wish.scopes,
	};

	if (found <= 0)
		return found;
	secret_hash(it->token, strlen(it->token), hash);
	return store_key_create(db, &spec, hash, it->now_us, &it->key, err) < 0
		       ? -1
		       : 1;
}

static void on_key_created(struct change *change)
{
	struct key_change *it = (struct key_change *)change;
	struct problem problem = PROBLEM_INIT;
	json_t *object = NULL;

	if (change->result > 0)
		object = json_pack(
			"{s:s, s:s}", "id", it->key.id, "token", it->token);
	else if (change->result == 0)
		problem_set(&problem, PROBLEM_VALIDATION,
			"The `domain_id` field is not the id of a domain that "
			"this API key may manage.");
	else
		change_failed(change, "key_create_failed", &problem);
	reply_either(change->request, &problem, 201, object);
	end(it);
}

/* A key that is restricted makes only keys that are as restricted. */
static int decide(const struct key *by, const struct key_wish *wish,
	struct problem *problem)
{
	if (by->domain == NULL || wish->domain_id[0])
		return 0;
	return problem_set(problem, PROBLEM_RESTRICTED_KEY,
		"This API key is restricted to the domain %s: it can only "
		"create keys with its `domain_id`.",
		by->domain);
}

/* 0, or -1 with the problem. */
static int parse_new(struct request *request, struct key_wish *wish_r,
	struct problem *problem)
{
	json_t *body;
	int result;

	if (json_body_parse(request, &body, problem) < 0)
		return -1;
	result = key_json_parse(body, wish_r, problem);
	json_decref(body);
	return result;
}

void api_key_create(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct key_change *it = begin(request);

	if (parse_new(request, &it->wish, &problem) < 0 ||
		decide(it->by, &it->wish, &problem) < 0) {
		reply_problem(request, &problem);
		end(it);
		return;
	}
	secret_token(it->token);
	change_submit(request, &it->change, create_run, on_key_created);
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
static struct key_change *begin_named(
	struct request *request, struct problem *problem)
{
	struct key_change *it;
	char id[ID_SIZE];

	if (!id_parse(request->admission.param, id)) {
		problem_set(problem, PROBLEM_PARAMETER,
			"The `id` must be a valid UUID.");
		return NULL;
	}
	it = begin(request);
	memcpy(it->id, id, ID_SIZE);
	return it;
}

/* PATCH /api-keys/{id} */

static int rename_run(struct db *db, void *arg, struct err *err)
{
	struct key_change *it = arg;
	const struct key_range range = {it->by->company_id, it->by->domain};

	return store_key_rename_own(db, &range, it->id, it->wish.name, err);
}

static void on_key_renamed(struct change *change)
{
	struct key_change *it = (struct key_change *)change;
	struct problem problem = PROBLEM_INIT;

	explain(change, "key_rename_failed", &problem);
	reply_either(change->request, &problem, 200, key_json_render_id(it->id));
	end(it);
}

static int parse_name(
	struct request *request, char **name_r, struct problem *problem)
{
	json_t *body;
	int result;

	if (json_body_parse(request, &body, problem) < 0)
		return -1;
	result = key_json_parse_name(body, name_r, problem);
	json_decref(body);
	return result;
}

void api_key_update(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct key_change *it = begin_named(request, &problem);

	if (it == NULL) {
		reply_problem(request, &problem);
		return;
	}
	if (parse_name(request, &it->wish.name, &problem) < 0) {
		reply_problem(request, &problem);
		end(it);
		return;
	}
	change_submit(request, &it->change, rename_run, on_key_renamed);
}

/* DELETE /api-keys/{id} */

static int remove_run(struct db *db, void *arg, struct err *err)
{
	struct key_change *it = arg;
	const struct key_range range = {it->by->company_id, it->by->domain};

	return store_key_revoke_own(db, &range, it->id, it->now_us, err);
}

static void on_key_removed(struct change *change)
{
	struct key_change *it = (struct key_change *)change;
	struct problem problem = PROBLEM_INIT;
	json_t *object = key_json_render_id(it->id);

	json_object_set_new(object, "deleted", json_true());
	explain(change, "key_revoke_failed", &problem);
	reply_either(change->request, &problem, 200, object);
	end(it);
}

void api_key_remove(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct key_change *it = begin_named(request, &problem);

	if (it == NULL) {
		reply_problem(request, &problem);
		return;
	}
	change_submit(request, &it->change, remove_run, on_key_removed);
}
