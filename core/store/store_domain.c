/*
 * store_domain: the rows of the table domain.
 *
 * Threads: a handle is used by one thread at a time; holds no state.
 */
#include <assert.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/store_domain_private.h"
#include "core/store/store_row.h"

static const char *const policies[POLICIES] = {
	[POLICY_EXCLUSIVE] = "exclusive",
	[POLICY_LEARN] = "learn",
	[POLICY_SHARED] = "shared",
};

const char *store_domain_policy_name(enum domain_policy policy)
{
	assert(policy < POLICIES);
	return policies[policy];
}

bool store_domain_policy_parse(const char *word, enum domain_policy *policy_r)
{
	size_t policy = store_row_word(policies, POLICIES, word);

	if (policy == POLICIES)
		return false;
	*policy_r = (enum domain_policy)policy;
	return true;
}

static const char *const subdomains[] = {[false] = "own", [true] = "covered"};

const char *store_domain_subdomains_name(bool covered)
{
	return subdomains[covered];
}

bool store_domain_subdomains_parse(const char *word, bool *covered_r)
{
	size_t covered = store_row_word(subdomains, ARRAY_SIZE(subdomains), word);

	if (covered == ARRAY_SIZE(subdomains))
		return false;
	*covered_r = covered == true;
	return true;
}

int store_domain_read_rules(struct db_stmt *stmt, int column,
	struct domain_rules *rules_r, struct err *err)
{
	if (!store_domain_policy_parse(db_text(stmt, column), &rules_r->policy))
		return store_row_bad_word(stmt, column, err);
	if (!store_domain_subdomains_parse(
		    db_text(stmt, column + 1), &rules_r->covers_subdomains))
		return store_row_bad_word(stmt, column + 1, err);
	return 0;
}

int store_domain_read_row(
	struct db_stmt *stmt, struct domain *domain, struct err *err)
{
	struct domain_rules rules;

	if (store_domain_read_rules(stmt, 6, &rules, err) < 0)
		return -1;
	store_row_id(stmt, 0, domain->id);
	store_row_id(stmt, 1, domain->company_id);
	domain->name = db_copy(stmt, 2);
	domain->active = db_int(stmt, 3) != 0;
	domain->pending = db_int(stmt, 4) != 0;
	domain->created_us = db_int(stmt, 5);
	domain->policy = rules.policy;
	domain->covers_subdomains = rules.covers_subdomains;
	return 0;
}

static int insert(struct db *db, const char *company_id,
	const struct domain *domain, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO domain"
		" (id, company_id, name, active, pending, created_us)"
		" VALUES ($id, $company, $name, $active, $pending, $created)";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_insert, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", domain->id);
	db_bind_text(stmt, "$company", company_id);
	db_bind_text(stmt, "$name", domain->name);
	db_bind_int(stmt, "$active", domain->active);
	db_bind_int(stmt, "$pending", domain->pending);
	db_bind_int(stmt, "$created", domain->created_us);
	return db_run(stmt, err);
}

/* Says what the broken rule means here. */
static int explain(const struct err *why, const char *company_id,
	const char *name, struct err *err)
{
	if (why->code == ERR_EXISTS)
		return err_set(err, ERR_EXISTS,
			"the domain %s is registered already", name);
	if (why->code == ERR_NOT_FOUND)
		return err_set(err, ERR_NOT_FOUND, "there is no company %s",
			company_id);
	return err_copy(err, why);
}

static int add(struct db *db, const char *company_id, const char *name,
	struct domain *domain, struct err *err)
{
	struct err why = ERR_INIT;

	id_new(domain->id);
	domain->name = mem_strdup(name);
	if (insert(db, company_id, domain, &why) != 0) {
		store_domain_clear(domain);
		return explain(&why, company_id, name, err);
	}
	/* It fits: the reference holds. */
	*stpncpy(domain->company_id, company_id, ID_SIZE - 1) = '\0';
	return 0;
}

int store_domain_add(struct db *db, const char *company_id, const char *name,
	bool active, int64_t now_us, struct domain *domain_r, struct err *err)
{
	struct domain domain = {.active = active, .created_us = now_us};

	if (add(db, company_id, name, &domain, err) != 0)
		return -1;
	*domain_r = domain;
	return 0;
}

int store_domain_ask(struct db *db, const char *company_id, const char *name,
	int64_t now_us, struct domain *domain_r, struct err *err)
{
	struct domain domain = {.pending = true, .created_us = now_us};

	if (add(db, company_id, name, &domain, err) != 0)
		return -1;
	*domain_r = domain;
	return 0;
}

/* Reads the one row of a statement that is bound. */
static int read_one(struct db_stmt *stmt, struct domain *domain_r, struct err *err)
{
	int result = db_step(stmt, err);

	if (result != 1)
		return result;
	if (store_domain_read_row(stmt, domain_r, err) < 0)
		return -1;
	db_reset(stmt);
	return 1;
}

int store_domain_find(struct db *db, const char *name, struct domain *domain_r,
	struct err *err)
{
	static const char sql_find[] =
		"SELECT " DOMAIN_COLUMNS
		" FROM domain WHERE name = $name AND pending = 0";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_find, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$name", name);
	return read_one(stmt, domain_r, err);
}

int store_domain_find_own(struct db *db, const char *company_id,
	const char *name, struct domain *domain_r, struct err *err)
{
	static const char sql_find[] =
		"SELECT " DOMAIN_COLUMNS
		" FROM domain WHERE company_id = $company AND name = $name";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_find, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$company", company_id);
	db_bind_text(stmt, "$name", name);
	return read_one(stmt, domain_r, err);
}

int store_domain_get(struct db *db, const char *company_id, const char *id,
	struct domain *domain_r, struct err *err)
{
	static const char sql_get[] =
		"SELECT " DOMAIN_COLUMNS
		" FROM domain WHERE id = $id AND company_id = $company";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_get, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	db_bind_text(stmt, "$company", company_id);
	return read_one(stmt, domain_r, err);
}

int store_domain_set_active(
	struct db *db, const char *id, bool active, struct err *err)
{
	static const char sql_set[] = "UPDATE domain SET active = $active"
				      " WHERE id = $id AND pending = 0";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_set, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$active", active);
	db_bind_text(stmt, "$id", id);
	return store_row_change(db, stmt, err);
}

int store_domain_register(struct db *db, const char *id, struct err *err)
{
	static const char sql_register[] =
		"UPDATE domain SET active = 1, pending = 0"
		" WHERE id = $id AND pending = 1";
	struct err why = ERR_INIT;
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_register, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	result = store_row_change(db, stmt, &why);
	if (result < 0 && why.code == ERR_EXISTS)
		return err_set(err, ERR_EXISTS,
			"the domain is registered to another company");
	return result < 0 ? err_copy(err, &why) : result;
}

int store_domain_is_covered(
	struct db *db, const struct domain *domain, struct err *err)
{
	static const char sql_covering[] =
		"WITH RECURSIVE up (name) AS ("
		" SELECT $name"
		" UNION ALL"
		" SELECT substr(name, instr(name, '.') + 1) FROM up"
		" WHERE instr(name, '.') > 0)"
		" SELECT d.company_id <> $company"
		" FROM up CROSS JOIN domain d"
		"  ON d.name = up.name AND d.pending = 0"
		" WHERE d.name <> $name AND d.subdomains = 'covered'"
		" ORDER BY length(d.name) DESC LIMIT 1";
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_covering, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$name", domain->name);
	db_bind_text(stmt, "$company", domain->company_id);
	result = db_step(stmt, err);
	if (result == 1) {
		result = db_int(stmt, 0) != 0;
		db_reset(stmt);
	}
	return result;
}

/* Sets what stands in $value. */
static int set_word(struct db *db, const char *sql, const char *name,
	const char *value, struct err *err)
{
	struct db_stmt *stmt;

	if (db_prepare(db, sql, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$name", name);
	db_bind_text(stmt, "$value", value);
	return store_row_change(db, stmt, err);
}

int store_domain_set_policy(struct db *db, const char *name,
	enum domain_policy policy, struct err *err)
{
	static const char sql_policy[] = "UPDATE domain SET policy = $value"
					 " WHERE name = $name AND pending = 0";

	return set_word(db, sql_policy, name, policies[policy], err);
}

int store_domain_set_subdomains(
	struct db *db, const char *name, bool covered, struct err *err)
{
	static const char sql_subdomains[] =
		"UPDATE domain SET subdomains = $value"
		" WHERE name = $name AND pending = 0";

	return set_word(db, sql_subdomains, name, subdomains[covered], err);
}

int store_domain_remove(struct db *db, const char *id, struct err *err)
{
	static const char sql_remove[] = "DELETE FROM domain WHERE id = $id";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_remove, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	return store_row_change(db, stmt, err);
}

void store_domain_clear(struct domain *domain)
{
	free(domain->name);
	*domain = (struct domain){0};
}

void store_domain_list_free(struct domain_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		store_domain_clear(&list->items[i]);
	free(list->items);
	*list = (struct domain_list){0};
}
