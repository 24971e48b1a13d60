/*
 * api_domain_change: the routes /domains that write.
 *
 * What is decided about a domain is decided on the committer's thread, inside
 * the transaction that acts on it: an operator may be at it at the same time.
 *
 * Threads: the worker's, but for what is called *_run(), which are the
 * committer's.
 */
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "httpd/base/postfix_domains.h"
#include "httpd/base/worker.h"
#include "httpd/http/change.h"
#include "httpd/http/reply.h"
#include "httpd/http/request.h"
#include "httpd/json/api_domain.h"
#include "httpd/json/api_domain_private.h"
#include "httpd/json/domain_json.h"
#include "httpd/json/json_body.h"

struct domain_change {
	struct change change;  /* first */
	const struct key *key; /* the request's */
	char id[ID_SIZE];
	char *name; /* of a new one */
	int64_t now_us;
	char *kept; /* the names that no company may activate; NULL: all */
	struct domain domain; /* what came of it */
};

/* What becomes of a domain that is there; 0 stands for none. */
enum { CHANGE_DONE = 1, CHANGE_HELD };

static struct domain_change *begin(struct request *request)
{
	struct domain_change *it = mem_new(struct domain_change);

	it->key = &request->admission.key;
	it->now_us = clock_now_us(request->worker->shared->clock);
	return it;
}

static void end(struct domain_change *it)
{
	store_domain_clear(&it->domain);
	free(it->kept);
	free(it->name);
	free(it);
}

/* POST /domains */

static int create_run(struct db *db, void *arg, struct err *err)
{
	struct domain_change *it = arg;

	return store_domain_ask(db, it->key->company_id, it->name, it->now_us,
		&it->domain, err);
}

static void on_domain_created(struct change *change)
{
	struct domain_change *it = (struct domain_change *)change;
	struct problem problem = PROBLEM_INIT;
	json_t *object = NULL;

	if (change->result == 0)
		object = domain_json_render(&it->domain);
	else if (change->err.code == ERR_EXISTS)
		problem_set(&problem, PROBLEM_VALIDATION,
			"The %s domain has been registered already.", it->name);
	else
		change_failed(change, "domain_add_failed", &problem);
	reply_either(change->request, &problem, 201, object);
	end(it);
}

/* 0, or -1 with the problem. */
static int parse_new(
	struct request *request, char **name_r, struct problem *problem)
{
	const char *bound = request->admission.key.domain;
	json_t *body;
	int result;

	if (bound)
		return problem_set(problem, PROBLEM_RESTRICTED_KEY,
			"This API key is restricted to the domain %s: it "
			"cannot add others.",
			bound);
	if (json_body_parse(request, &body, problem) < 0)
		return -1;
	result = domain_json_parse_new(body, name_r, problem);
	json_decref(body);
	return result;
}

void api_domain_create(struct request *request)
{
	struct problem problem = PROBLEM_INIT;
	struct domain_change *it;
	char *name;

	if (parse_new(request, &name, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	it = begin(request);
	it->name = name;
	change_submit(request, &it->change, create_run, on_domain_created);
}

/* POST /domains/{id}/verify */

/* The name may be registered to another company, or covered by a domain of
 * one: then it stays pending, and nobody is told why. */
static int activate(struct db *db, const struct domain *domain, struct err *err)
{
	int covered = store_domain_is_covered(db, domain, err);
	struct err why = ERR_INIT;

	if (covered != 0)
		return covered < 0 ? -1 : CHANGE_DONE;
	if (store_domain_register(db, domain->id, &why) >= 0 ||
		why.code == ERR_EXISTS)
		return CHANGE_DONE;
	return err_copy(err, &why);
}

static int verify_run(struct db *db, void *arg, struct err *err)
{
	struct domain_change *it = arg;
	int found = api_domain_find(db, it->key, it->id, &it->domain, err);

	if (found <= 0)
		return found;
	if (it->domain.pending && it->kept &&
		!postfix_domains_have(it->kept, it->domain.name))
		return activate(db, &it->domain, err);
	return CHANGE_DONE;
}

static void on_domain_verified(struct change *change)
{
	struct domain_change *it = (struct domain_change *)change;
	struct problem problem = PROBLEM_INIT;

	if (change->result < 0)
		change_failed(change, "domain_activate_failed", &problem);
	else if (change->result == 0)
		api_domain_missing(&problem);
	reply_either(
		change->request, &problem, 200, domain_json_render_id(it->id));
	end(it);
}

/* DELETE /domains/{id} */

/* What an operator has taken from the company, it cannot get back by removing
 * it and asking anew. */
static int remove_run(struct db *db, void *arg, struct err *err)
{
	struct domain_change *it = arg;
	int found = api_domain_find(db, it->key, it->id, &it->domain, err);

	if (found <= 0)
		return found;
	if (!it->domain.active && !it->domain.pending)
		return CHANGE_HELD;
	return store_domain_remove(db, it->id, err) < 0 ? -1 : CHANGE_DONE;
}

static void on_domain_removed(struct change *change)
{
	struct domain_change *it = (struct domain_change *)change;
	struct problem problem = PROBLEM_INIT;
	json_t *object = domain_json_render_id(it->id);

	json_object_set_new(object, "deleted", json_true());
	if (change->result < 0)
		change_failed(change, "domain_remove_failed", &problem);
	else if (change->result == 0)
		api_domain_missing(&problem);
	else if (change->result == CHANGE_HELD)
		problem_set(&problem, PROBLEM_DOMAIN,
			"The %s domain was deactivated by the operator and "
			"cannot be removed.",
			it->domain.name);
	reply_either(change->request, &problem, 200, object);
	end(it);
}

static void change_one(struct request *request,
	int (*run)(struct db *db, void *arg, struct err *err),
	void (*done)(struct change *change))
{
	const struct conf *conf = request->worker->conf;
	struct problem problem = PROBLEM_INIT;
	struct domain_change *it;
	char id[ID_SIZE];

	if (api_domain_id(request, id, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	it = begin(request);
	memcpy(it->id, id, ID_SIZE);
	if (conf->http.domain_activation == ACTIVATION_COMPANY)
		it->kept = mem_strdup(conf->milter.local_domains);
	change_submit(request, &it->change, run, done);
}

void api_domain_verify(struct request *request)
{
	change_one(request, verify_run, on_domain_verified);
}

void api_domain_remove(struct request *request)
{
	change_one(request, remove_run, on_domain_removed);
}
