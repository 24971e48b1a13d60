/*
 * admin_tenant: companies and what belongs to them: domains, keys, exemptions.
 *
 * Threads: of handlers the worker's or, where their row of the table says so,
 * the pool's; of changes the committer's; ask() is the pool's.
 */
#include "httpd/admin/admin.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/conf/conf.h"
#include "core/policy/suggest.h"
#include "core/postfix/postconf.h"
#include "core/store/store_company.h"
#include "core/store/store_domain.h"
#include "core/store/store_exemption.h"
#include "core/store/store_key.h"
#include "core/store/store_limit.h"
#include "httpd/json/json_field.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/work_pool.h"
#include "httpd/worker/worker.h"

static const char *const of_company[] = {"company_id", NULL};

/* Companies. */

static json_t *render_company(const struct company *company)
{
	return json_pack("{s:s, s:s, s:s, s:o}", "object", "company", "id", company->id, "name",
		company->name, "created_at", json_field_time(company->created_us));
}

/* With how many domains and valid keys it has, as far as they were counted. */
static int render_counted(
	struct db *db, const struct company *company, json_t **object_r, struct err *err)
{
	int64_t domains, keys;

	if (store_company_count(db, company->id, &domains, &keys, err) < 0)
		return -1;
	*object_r = render_company(company);
	json_object_set_new(*object_r, "domains", json_integer(domains));
	json_object_set_new(*object_r, "keys", json_integer(keys));
	return 0;
}

/* Of a member the own one alone. */
void admin_company_list(struct request *request)
{
	static const char *const none[] = {NULL};
	const char *own = admission_company(&request->admission);
	struct company_list companies = {0};
	struct err err = ERR_INIT;
	json_t *data, *item = NULL;
	struct admin_list list;
	int found;

	if (admin_list_read(request, none, &list) < 0)
		return;
	data = json_array();
	if (own) {
		companies.items = mem_new(struct company);
		found = store_company_get(request->db, own, companies.items, &err);
		companies.n = found > 0;
		found = found < 0 ? -1 : 1;
	} else {
		found = store_company_list(request->db, &list.page, &companies, &list.end, &err);
	}
	for (size_t i = 0; i < companies.n && found > 0; i++)
		if (render_counted(request->db, &companies.items[i], &item, &err) == 0)
			json_array_append_new(data, item);
		else
			found = -1;
	store_company_list_free(&companies);
	admin_list_reply(request, found, &list, data, "company_list_failed", &err);
}

int admin_company_add(struct db *db, struct admin_job *job, struct err *err)
{
	const char *name = NULL;
	const struct admin_field fields[] = {{"name", true, .text = &name}};
	struct company company;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0 ||
		store_company_add(db, name, job->now_us, &company, err) < 0)
		return -1;
	job->answer = render_company(&company);
	store_company_clear(&company);
	return 1;
}

int admin_company_remove(struct db *db, struct admin_job *job, struct err *err)
{
	return store_company_remove(db, job->param, err);
}

/* Domains. */

static json_t *render_domain(const struct domain *domain)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:b, s:b, s:s, s:s, s:o}", "object", "domain", "id",
		domain->id, "company_id", domain->company_id, "name", domain->name, "active",
		domain->active, "pending", domain->pending, "policy",
		store_domain_policy_name(domain->policy), "subdomains",
		store_domain_subdomains_name(domain->covers_subdomains), "created_at",
		json_field_time(domain->created_us));
}

void admin_domain_list(struct request *request)
{
	struct domain_list domains = {0};
	struct err err = ERR_INIT;
	struct admin_list list;
	json_t *data;
	int found;

	if (admin_list_read(request, of_company, &list) < 0)
		return;
	data = json_array();
	found = store_domain_list(request->db, admin_query_company(request, &list.query),
		&list.page, &domains, &list.end, &err);
	for (size_t i = 0; i < domains.n; i++)
		json_array_append_new(
			data, admin_name_company(request, render_domain(&domains.items[i])));
	store_domain_list_free(&domains);
	admin_list_reply(request, found, &list, data, "domain_list_failed", &err);
}

void admin_domain_get(struct request *request)
{
	struct err err = ERR_INIT;
	json_t *object = NULL;
	struct domain domain;
	int found = store_domain_get(request->worker->db, admission_company(&request->admission),
		request->admission.param, &domain, &err);

	if (found > 0) {
		object = admin_name_company(request, render_domain(&domain));
		store_domain_clear(&domain);
	}
	admin_reply_found(request, found, object, "domain_lookup_failed", &err);
}

/* What a body says of the rules of a domain. */
struct rules {
	const char *policy;
	const char *subdomains;
};

/* Sets what is given in the domain, not in the store. 0 or -1. */
static int read_rules(const struct rules *rules, struct domain *domain, struct err *err)
{
	if (rules->policy && !store_domain_policy_parse(rules->policy, &domain->policy))
		return err_set(err, ERR_INVALID,
			"the `policy` is one of exclusive, learn and shared, not \"%s\"",
			rules->policy);
	if (rules->subdomains &&
		!store_domain_subdomains_parse(rules->subdomains, &domain->covers_subdomains))
		return err_set(err, ERR_INVALID, "the `subdomains` are own or covered, not \"%s\"",
			rules->subdomains);
	return 0;
}

/* Whether the company may have the domain besides its others. */
static int check_limit(
	struct db *db, const struct admin_job *job, const struct domain *domain, struct err *err)
{
	return domain->pending ? store_limit_check(db, LIMIT_PENDING_DOMAINS, domain->company_id,
					 job->limits.pending_domains, err)
			       : store_limit_check(db, LIMIT_DOMAINS, domain->company_id,
					 job->limits.domains, err);
}

/* An operator registers a domain; a member asks for one. */
int admin_domain_make(struct db *db, struct admin_job *job, struct err *err)
{
	const char *company_id = job->company_id, *name = NULL;
	struct rules rules = {0};
	struct domain wanted = {.active = true};
	const struct admin_field fields[] = {
		{"name", true, .text = &name},
		/* For operators: */
		{"company_id", true, .text = &company_id},
		{"active", false, .flag = &wanted.active},
		{"policy", false, .text = &rules.policy},
		{"subdomains", false, .text = &rules.subdomains},
	};
	_cleanup_free_ char *normal = NULL;
	struct domain domain;
	int result;

	if (admin_fields(job, fields, job->company_id ? 1 : ARRAY_SIZE(fields), err) < 0 ||
		addr_domain_normalize(name, &normal, err) < 0 ||
		read_rules(&rules, &wanted, err) < 0)
		return -1;
	result = job->company_id
			 ? store_domain_ask(db, company_id, normal, job->now_us, &domain, err)
			 : store_domain_add_with(
				   db, company_id, normal, &wanted, job->now_us, &domain, err);
	if (result < 0)
		return -1;
	result = check_limit(db, job, &domain, err);
	job->answer = render_domain(&domain);
	store_domain_clear(&domain);
	return result < 0 ? -1 : 1;
}

int admin_domain_change(struct db *db, struct admin_job *job, struct err *err)
{
	struct rules rules = {0};
	bool active = false;
	const struct admin_field fields[] = {
		{"active", false, .flag = &active},
		{"policy", false, .text = &rules.policy},
		{"subdomains", false, .text = &rules.subdomains},
	};
	const json_t *wanted = json_object_get(job->body, "active");
	struct domain domain;
	bool asked_for;
	int result;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0)
		return -1;
	result = store_domain_get(db, job->company_id, job->param, &domain, err);
	if (result <= 0)
		return result;
	if (domain.pending && !(json_is_boolean(wanted) && active))
		result = err_set(err, ERR_INVALID,
			"the company only asked for the domain %s: it can be activated or removed",
			domain.name);
	if (json_is_boolean(wanted))
		domain.active = active;
	asked_for = domain.pending;
	domain.pending = false;
	if (result > 0 && read_rules(&rules, &domain, err) < 0)
		result = -1;
	if (result > 0)
		result = store_domain_change(db, &domain, err);
	if (result > 0 && asked_for && check_limit(db, job, &domain, err) < 0)
		result = -1;
	job->answer = render_domain(&domain);
	store_domain_clear(&domain);
	return result;
}

/* A domain that begins to count, and whose policy nobody has said: has Postfix
 * it as its own? That takes a program or two. */
struct asking {
	struct work work; /* first */
	struct request *request;
	char *config;
	char *name;
	char *where; /* in which list Postfix has it; NULL: in none */
	int found;
	struct err err;
};

static bool ask(struct work *work)
{
	struct asking *asking = (struct asking *)work;
	const char *where = NULL;

	asking->found = postconf_has_domain(asking->config, asking->name, &where, &asking->err);
	if (asking->found > 0)
		asking->where = mem_strdup(where);
	return true;
}

static void on_asked(struct task *task)
{
	struct asking *asking = (struct asking *)task;
	struct request *request = asking->request;
	struct problem problem = PROBLEM_INIT;

	if (asking->found > 0)
		problem_set(&problem, PROBLEM_VALIDATION,
			"This Postfix has %s in %s, so people and programs there may be sending as "
			"it without a key: say the `policy`, learn (stop nobody, record what would "
			"be stopped), exclusive (stop all who are not exempt) or shared (stop "
			"nobody).",
			asking->name, asking->where);
	else if (asking->found < 0)
		problem_set(&problem, PROBLEM_VALIDATION,
			"Cannot tell whether Postfix has %s: %s. Say the `policy` to go on "
			"without.",
			asking->name, asking->err.text);
	if (problem.kind == PROBLEM_NONE)
		admin_make_change(request);
	else
		reply_problem(request, &problem);
	free(asking->config);
	free(asking->name);
	free(asking->where);
	free(asking);
}

static void ask_postfix(struct request *request, const char *name)
{
	const struct worker *worker = request->worker;
	struct asking *asking = mem_new(struct asking);

	asking->request = request;
	asking->config = mem_strdup(worker->conf->submission.postfix_config);
	asking->name = mem_strdup(name);
	asking->work.done.run = on_asked;
	asking->work.tasks = worker->tasks;
	asking->work.company_id = admission_whose(&request->admission);
	asking->work.run = ask;
	work_pool_submit(worker->shared->pool, &asking->work);
}

/* Of the body, which the change reads again. NULL: the policy is said, or the
 * body is wrong, as the change will find. */
static char *domain_without_policy(struct request *request)
{
	size_t len;
	const char *text = request_body(request, &len);
	struct problem problem = PROBLEM_INIT;
	json_t *body = NULL;
	char *name = NULL;
	const char *given;

	if (json_field_parse(text, len, &body, &problem) < 0)
		return NULL;
	given = json_string_value(json_object_get(body, "name"));
	if (!json_is_string(json_object_get(body, "policy")) && given)
		addr_domain_normalize(given, &name, NULL);
	json_decref(body);
	return name;
}

void admin_domain_add(struct request *request)
{
	_cleanup_free_ char *name = NULL;

	if (admission_company(&request->admission) == NULL)
		name = domain_without_policy(request);
	if (name)
		ask_postfix(request, name);
	else
		admin_make_change(request);
}

void admin_domain_update(struct request *request)
{
	size_t len;
	const char *text = request_body(request, &len);
	struct problem problem = PROBLEM_INIT;
	struct domain domain = {0};
	json_t *body = NULL;
	int found = 0;

	if (json_field_parse(text, len, &body, &problem) == 0 &&
		json_is_true(json_object_get(body, "active")) &&
		!json_is_string(json_object_get(body, "policy")))
		found = store_domain_get(
			request->worker->db, NULL, request->admission.param, &domain, NULL);
	json_decref(body);
	if (found > 0 && domain.pending)
		ask_postfix(request, domain.name);
	else
		admin_make_change(request);
	store_domain_clear(&domain);
}

int admin_domain_remove(struct db *db, struct admin_job *job, struct err *err)
{
	return store_domain_remove(db, job->param, err);
}

/* Keys. */

static json_t *render_key(const struct key *key)
{
	_cleanup_free_ char *words = store_key_scopes_format(key->scopes);
	_cleanup_strv_ struct strv scopes = STRV_INIT;
	json_t *array = json_array();

	strv_split(&scopes, words, ',');
	for (size_t i = 0; i < scopes.n; i++)
		json_array_append_new(array, json_string(scopes.items[i]));
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "object", "key", "id",
		key->id, "company_id", key->company_id, "name", key->name, "domain",
		admin_text(key->domain), "scopes", array, "created_at",
		json_field_time(key->created_us), "last_used_at",
		json_field_time(key->last_used_us), "revoked_at", json_field_time(key->revoked_us));
}

void admin_key_list(struct request *request)
{
	static const char *const names[] = {"company_id", "valid", NULL};
	struct problem problem = PROBLEM_INIT;
	struct key_filter filter = {0};
	struct key_list keys = {0};
	struct err err = ERR_INIT;
	struct admin_list list;
	json_t *data;
	int found;

	if (admin_list_read(request, names, &list) < 0)
		return;
	if (json_query_flag(&list.query, "valid", &filter.valid_only, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	data = json_array();
	filter.company_id = admin_query_company(request, &list.query);
	found = store_key_list(request->db, &filter, &list.page, &keys, &list.end, &err);
	for (size_t i = 0; i < keys.n; i++)
		json_array_append_new(
			data, admin_name_company(request, render_key(&keys.items[i])));
	store_key_list_free(&keys);
	admin_list_reply(request, found, &list, data, "key_list_failed", &err);
}

void admin_key_get(struct request *request)
{
	struct err err = ERR_INIT;
	json_t *object = NULL;
	struct key key;
	int found = store_key_find_any(request->worker->db, admission_company(&request->admission),
		request->admission.param, &key, &err);

	if (found > 0) {
		object = render_key(&key);
		store_key_clear(&key);
	}
	admin_reply_found(request, found, object, "key_lookup_failed", &err);
}

int admin_key_create(struct db *db, struct admin_job *job, struct err *err)
{
	struct key_spec spec = {.scopes = KEY_SENDING | KEY_READING};
	const char *scopes = NULL, *domain = NULL;
	const struct admin_field fields[] = {
		{"name", true, .text = &spec.name},
		{"scopes", false, .text = &scopes},
		{"domain", false, .text = &domain},
		{"company_id", job->company_id == NULL, .text = &spec.company_id},
	};
	char token[SECRET_TOKEN_SIZE];
	_cleanup_free_ char *normal = NULL;
	uint8_t hash[SECRET_HASH_LEN];
	struct key key;
	int result;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0 ||
		(scopes && store_key_scopes_parse(scopes, &spec.scopes, err) < 0) ||
		(domain && addr_domain_normalize(domain, &normal, err) < 0))
		return -1;
	spec.domain = normal;
	if (job->company_id)
		spec.company_id = job->company_id;
	secret_token(token);
	secret_hash(token, strlen(token), hash);
	result = store_key_create(db, &spec, hash, job->now_us, &key, err);
	if (result == 0) {
		job->answer = render_key(&key);
		json_object_set_new(job->answer, "token", json_string(token));
		store_key_clear(&key);
	}
	secret_wipe(token, sizeof(token));
	if (result < 0 ||
		store_limit_check(db, LIMIT_KEYS, spec.company_id, job->limits.keys, err) < 0 ||
		store_key_forget_revoked(db, spec.company_id, job->limits.keys, err) < 0)
		return -1;
	return 1;
}

int admin_key_update(struct db *db, struct admin_job *job, struct err *err)
{
	const struct key_range range = {job->company_id, NULL};
	const char *name = NULL;
	const struct admin_field fields[] = {{"name", true, .text = &name}};

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0)
		return -1;
	return store_key_rename_own(db, &range, job->param, name, err);
}

int admin_key_revoke(struct db *db, struct admin_job *job, struct err *err)
{
	const struct key_range range = {job->company_id, NULL};

	return store_key_revoke_own(db, &range, job->param, job->now_us, err);
}

/* Exemptions. */

static json_t *render_exemption(const struct exemption *exemption)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:b, s:o}", "object", "exemption", "id",
		exemption->id, "company_id", exemption->company_id, "domain", exemption->domain,
		"kind", store_exemption_kind_name(exemption->kind), "value", exemption->value,
		"local", exemption->local, "created_at", json_field_time(exemption->created_us));
}

void admin_exemption_list(struct request *request)
{
	static const char *const names[] = {"company_id", "domain", NULL};
	struct exemption_list exemptions = {0};
	struct err err = ERR_INIT;
	struct admin_list list;
	json_t *data;
	int found;

	if (admin_list_read(request, names, &list) < 0)
		return;
	data = json_array();
	found = store_exemption_list(request->db, admin_query_company(request, &list.query),
		json_query_get(&list.query, "domain"), &list.page, &exemptions, &list.end, &err);
	for (size_t i = 0; i < exemptions.n; i++)
		json_array_append_new(
			data, admin_name_company(request, render_exemption(&exemptions.items[i])));
	store_exemption_list_free(&exemptions);
	admin_list_reply(request, found, &list, data, "exemption_list_failed", &err);
}

/* Has what the spec says, but for its kind, which is a word still. The domain
 * is normal. */
static int add_exemption(struct db *db, const char *kind, struct exemption_spec *spec,
	int64_t now_us, struct exemption *exemption_r, struct err *err)
{
	_cleanup_free_ char *address = NULL;

	while (spec->kind < EXEMPTION_KINDS && !str_eq(kind, store_exemption_kind_name(spec->kind)))
		spec->kind++;
	if (spec->kind == EXEMPTION_KINDS)
		return err_set(err, ERR_INVALID,
			"the `kind` is one of login, client and sender, not \"%s\"", kind);
	if (spec->kind == EXEMPT_SENDER) {
		_cleanup_addr_ struct addr addr = {0};

		if (addr_parse(spec->value, &addr, err) < 0)
			return -1;
		spec->value = address = addr_spec(&addr);
	}
	return store_exemption_add(db, spec, now_us, exemption_r, err);
}

int admin_exemption_add(struct db *db, struct admin_job *job, struct err *err)
{
	struct exemption_spec spec = {0};
	const char *domain = NULL, *kind = NULL;
	const struct admin_field fields[] = {
		{"domain", true, .text = &domain},
		{"kind", true, .text = &kind},
		{"value", true, .text = &spec.value},
		{"local", false, .flag = &spec.local},
	};
	_cleanup_free_ char *normal = NULL;
	struct exemption exemption;
	int found;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0 ||
		addr_domain_normalize(domain, &normal, err) < 0)
		return -1;
	spec.domain = normal;
	if (add_exemption(db, kind, &spec, job->now_us, &exemption, err) < 0)
		return -1;
	job->answer = render_exemption(&exemption);
	found = store_limit_check(
		db, LIMIT_EXEMPTIONS, exemption.company_id, job->limits.exemptions, err);
	store_exemption_clear(&exemption);
	return found < 0 ? -1 : 1;
}

/* One of several: 1, 0 when somebody has added it meanwhile, or -1. */
static int add_one_of(struct db *db, const struct admin_job *job, const char *domain, json_t *item,
	struct exemption *exemption_r, struct err *err)
{
	struct exemption_spec spec = {.domain = domain};
	const char *kind = NULL;
	const struct admin_field fields[] = {
		{"kind", true, .text = &kind},
		{"value", true, .text = &spec.value},
		{"local", false, .flag = &spec.local},
	};
	struct err why = ERR_INIT;

	if (!json_is_object(item))
		return err_set(err, ERR_INVALID, "it must be an object");
	if (admin_fields_of(item, fields, ARRAY_SIZE(fields), err) < 0)
		return -1;
	if (add_exemption(db, kind, &spec, job->now_us, exemption_r, &why) == 0)
		return 1;
	return why.code == ERR_EXISTS ? 0 : err_copy(err, &why);
}

int admin_exemption_add_all(struct db *db, struct admin_job *job, struct err *err)
{
	enum { AT_ONCE_MAX = 200 };
	const char *domain = NULL;
	json_t *items = NULL, *item, *data;
	const struct admin_field fields[] = {
		{"domain", true, .text = &domain},
		{"exemptions", true, .array = &items},
	};
	_cleanup_free_ char *normal = NULL;
	struct exemption exemption;
	char company[ID_SIZE] = "";
	int added;
	size_t i;

	if (admin_fields(job, fields, ARRAY_SIZE(fields), err) < 0 ||
		addr_domain_normalize(domain, &normal, err) < 0)
		return -1;
	if (json_array_size(items) == 0 || json_array_size(items) > AT_ONCE_MAX)
		return err_set(
			err, ERR_INVALID, "the `exemptions` are 1 to %d at once", AT_ONCE_MAX);
	data = json_array();
	job->answer = list_json_render(data, false);
	json_array_foreach(items, i, item) {
		added = add_one_of(db, job, normal, item, &exemption, err);
		if (added < 0)
			return err_prefix(err, "exemptions[%zu]", i);
		if (added == 0)
			continue;
		json_array_append_new(data, render_exemption(&exemption));
		memcpy(company, exemption.company_id, ID_SIZE);
		store_exemption_clear(&exemption);
	}
	return *company && store_limit_check(
				   db, LIMIT_EXEMPTIONS, company, job->limits.exemptions, err) < 0
		       ? -1
		       : 1;
}

int admin_exemption_remove(struct db *db, struct admin_job *job, struct err *err)
{
	return store_exemption_remove(db, job->param, err);
}

/* What recorded mail of a domain would need; each is a body of POST
 * /admin/exemptions. */
void admin_suggestion_list(struct request *request)
{
	static const char *const names[] = {"domain", NULL};
	struct problem problem = PROBLEM_INIT;
	struct suggest_list list = {0};
	struct domain domain = {0};
	struct json_query query;
	struct err err = ERR_INIT;
	json_t *data = NULL;
	int found;

	if (json_query_read(request, names, &query, &problem) == 0 &&
		json_query_get(&query, "domain") == NULL)
		problem_set(&problem, PROBLEM_PARAMETER, "The `domain` parameter is missing.");
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		return;
	}
	found = store_domain_find_of(request->db, admission_company(&request->admission),
		json_query_get(&query, "domain"), &domain, &err);
	if (found > 0 && suggest_read(request->db, &domain, &list, &err) < 0)
		found = -1;
	if (found > 0) {
		data = list_json_render(json_array(), false);
		json_object_set_new(data, "hopeless", json_integer(list.hopeless));
	}
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(json_object_get(data, "data"),
			json_pack("{s:s, s:s, s:s, s:s, s:b, s:I, s:o}", "object", "suggestion",
				"domain", domain.name, "kind",
				store_exemption_kind_name(list.items[i].kind), "value",
				list.items[i].value, "local", list.items[i].local, "count",
				(json_int_t)list.items[i].count, "last_at",
				json_field_time(list.items[i].last_us)));
	suggest_list_free(&list);
	store_domain_clear(&domain);
	admin_reply_found(request, found, data, "suggest_failed", &err);
}
