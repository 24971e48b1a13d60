/*
 * store_domain: the rows of the tables domain and domain_check.
 */
#include "core/store/company/store_domain.h"

#include <assert.h>
#include <string.h>

#include "core/store/store_audit.h"
#include "core/store/company/store_exemption.h"
#include "core/store/company/store_key.h"

static const char *const policies[POLICIES] = {
	[POLICY_EXCLUSIVE] = "exclusive",
	[POLICY_LEARN] = "learn",
	[POLICY_SHARED] = "shared",
};
static const char *const subdomains[] = {[false] = "own", [true] = "covered"};
static const char *const unsubscribe[] = {[false] = "off", [true] = "on"};

const struct row_words store_domain_policies = {policies, POLICIES, false};
const struct row_words store_domain_subdomains = {subdomains, ARRAY_SIZE(subdomains), false};
const struct row_words store_domain_unsubscribe = {unsubscribe, ARRAY_SIZE(unsubscribe), false};

static const struct row_field domain_fields[] = {
	ROW_FIELD(domain, id, ROW_ID),
	ROW_FIELD(domain, company_id, ROW_ID),
	ROW_FIELD(domain, name, ROW_TEXT),
	ROW_FIELD(domain, active, ROW_BOOL),
	ROW_FIELD(domain, pending, ROW_BOOL),
	ROW_FIELD(domain, created_us, ROW_TIME),
	ROW_WORD(domain, policy, ROW_ENUM, "policy", &store_domain_policies),
	ROW_WORD(domain, covers_subdomains, ROW_FLAG, "subdomains", &store_domain_subdomains),
	ROW_FIELD(domain, return_path, ROW_TEXT),
	ROW_WORD(domain, unsubscribe, ROW_FLAG, "unsubscribe", &store_domain_unsubscribe),
};
const struct row_type store_domain_type = ROW_TYPE(domain, domain_fields);

#define DOMAIN_SELECT                                                                              \
	"SELECT id, company_id, name, active, pending, created_us, policy,"                        \
	" subdomains, return_path, unsubscribe"                                                    \
	" FROM domain"

const char *store_domain_policy_name(enum domain_policy policy)
{
	assert(policy < POLICIES);
	return policies[policy];
}

bool store_domain_policy_parse(const char *word, enum domain_policy *policy_r)
{
	size_t policy = row_word(&store_domain_policies, word);

	if (policy == POLICIES)
		return false;
	*policy_r = (enum domain_policy)policy;
	return true;
}

bool store_domain_subdomains_parse(const char *word, bool *covered_r)
{
	size_t covered = row_word(&store_domain_subdomains, word);

	if (covered == ARRAY_SIZE(subdomains))
		return false;
	*covered_r = covered == true;
	return true;
}

bool store_domain_unsubscribe_parse(const char *word, bool *unsubscribe_r)
{
	size_t found = row_word(&store_domain_unsubscribe, word);

	if (found == ARRAY_SIZE(unsubscribe))
		return false;
	*unsubscribe_r = found == true;
	return true;
}

/* Changes the domain with the id. */
static int change_domain(struct db *db, const char *action, const char *id, const char *sql,
	const struct db_param *params, struct err *err)
{
	static const char sql_get[] = DOMAIN_SELECT " WHERE id = $id";

	return audit_change(db,
		&(struct audit_change){.action = action,
			.type = &store_domain_type,
			.name = "name",
			.sql = sql,
			.params = params,
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$id", id))},
		err);
}

int store_domain_add(struct db *db, const char *company_id, const char *name,
	const struct domain *wanted, int64_t now_us, struct domain *domain_r, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO domain (id, company_id, name, active, pending, created_us, policy,"
		"   subdomains)"
		" VALUES ($id, $company_id, $name, $active, $pending, $created_us, $policy,"
		"   $subdomains)";
	struct domain domain = {
		.active = wanted->active,
		.pending = wanted->pending,
		.policy = wanted->policy,
		.covers_subdomains = wanted->covers_subdomains,
		.created_us = now_us,
	};
	struct err why = ERR_INIT;

	if (strlen(company_id) >= ID_SIZE)
		return err_set(err, ERR_NOT_FOUND, "there is no company %s", company_id);
	id_new(domain.id);
	strcpy(domain.company_id, company_id);
	domain.name = mem_strdup(name);
	if (audit_change(db,
		    &(struct audit_change){.action = domain.pending ? "domain.ask" : "domain.add",
			    .type = &store_domain_type,
			    .name = "name",
			    .sql = sql_insert,
			    .item = &domain},
		    &why) > 0) {
		*domain_r = domain;
		return 0;
	}
	store_domain_clear(&domain);
	if (why.code == ERR_EXISTS)
		return err_set(err, ERR_EXISTS, "the %s domain has been registered already", name);
	if (why.code == ERR_NOT_FOUND)
		return err_set(err, ERR_NOT_FOUND, "there is no company %s", company_id);
	return err_copy(err, &why);
}

int store_domain_find_of(struct db *db, const char *company_id, const char *name,
	struct domain *domain_r, struct err *err)
{
	static const char sql_find[] = DOMAIN_SELECT
		" WHERE name = $name"
		" AND pending = 0"
		" AND ($company IS NULL OR company_id = $company)";

	return row_get(db, sql_find,
		DB_PARAMS(DB_TEXT("$name", name), DB_TEXT("$company", company_id)),
		&store_domain_type, domain_r, err);
}

int store_domain_find(struct db *db, const char *name, struct domain *domain_r, struct err *err)
{
	return store_domain_find_of(db, NULL, name, domain_r, err);
}

int store_domain_find_own(struct db *db, const char *company_id, const char *name,
	struct domain *domain_r, struct err *err)
{
	static const char sql_find[] = DOMAIN_SELECT
		" WHERE company_id = $company AND name = $name";

	return row_get(db, sql_find,
		DB_PARAMS(DB_TEXT("$company", company_id), DB_TEXT("$name", name)),
		&store_domain_type, domain_r, err);
}

int store_domain_find_named(struct db *db, const char *company_id, const char *name,
	struct domain *domain_r, struct err *err)
{
	return company_id ? store_domain_find_own(db, company_id, name, domain_r, err)
			  : store_domain_find(db, name, domain_r, err);
}

int store_domain_get(struct db *db, const char *company_id, const char *id, struct domain *domain_r,
	struct err *err)
{
	static const char sql_get[] = DOMAIN_SELECT
		" WHERE id = $id AND ($company IS NULL OR company_id = $company)";

	return row_get(db, sql_get, DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$company", company_id)),
		&store_domain_type, domain_r, err);
}

int store_domain_list(struct db *db, const char *company_id, bool active_only,
	const struct page *page, struct domain_list *list_r, struct page_end *end_r,
	struct err *err)
{
#define PAGER(condition) ROW_NAMED_PAGER(DOMAIN_SELECT, "domain", "name", condition)
	static const struct row_pager pagers[][2] = {
		{PAGER(""), PAGER("active = 1 AND ")},
		{PAGER("company_id = $company AND "),
			PAGER("company_id = $company AND active = 1 AND ")},
	};
#undef PAGER

	return row_page(db,
		ROW_LIST(.pager = &pagers[company_id != NULL][active_only],
			.params = DB_PARAMS(DB_GIVEN_TEXT("$company", company_id)),
			.type = &store_domain_type, .page = page, ROW_INTO(list_r), .end_r = end_r),
		err);
}

int store_domain_names(struct db *db, struct strv *names, struct strv *covering, struct err *err)
{
	static const char sql_names[] =
		"SELECT name, subdomains = 'covered' AS covers FROM domain WHERE pending = 0";
	struct db_stmt *stmt;
	int result;

	if (db_start(db, sql_names, NULL, &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1) {
		strv_add(names, db_text(stmt, 0));
		if (db_int(stmt, 1))
			strv_add(covering, db_text(stmt, 0));
	}
	return result;
}

int store_domain_list_marked(struct db *db, const char *company_id, enum domain_mark mark,
	int limit, struct domain_list *list_r, struct err *err)
{
#define MARKED(condition)                                                                          \
	DOMAIN_SELECT                                                                              \
	" WHERE " condition                                                                        \
	" ORDER BY company_id, name"                                                               \
	" LIMIT $limit"
	static const char sql_pending[] = MARKED("pending = 1");
	static const char sql_pending_of[] = MARKED("company_id = $company AND pending = 1");
	static const char sql_learning[] = MARKED("policy = 'learn' AND pending = 0");
	static const char sql_learning_of[] = MARKED(
		"company_id = $company AND policy = 'learn' AND pending = 0");
#undef MARKED
	static const char *const sql[][2] = {
		[DOMAIN_PENDING] = {sql_pending, sql_pending_of},
		[DOMAIN_LEARNING] = {sql_learning, sql_learning_of},
	};

	return row_list(db,
		ROW_LIST(.sql = sql[mark][company_id != NULL],
			.params = DB_PARAMS(
				DB_GIVEN_TEXT("$company", company_id), DB_INT("$limit", limit)),
			.type = &store_domain_type, ROW_INTO(list_r)),
		err);
}

int store_domain_page(struct db *db, const struct domain_scope *scope, const struct page *page,
	struct domain_list *list_r, bool *more_r, struct err *err)
{
#define IN_SCOPE " WHERE company_id = $company AND ($domain IS NULL OR name = $domain)"
/* clang-format off */
#define PAGE(side, order)                                                       \
	DOMAIN_SELECT IN_SCOPE                                                  \
	" AND (created_us, id) " side " ($created, $id)"                        \
	" ORDER BY created_us " order ", id " order                             \
	" LIMIT $limit"
	/* clang-format on */
	static const char sql_place[] = "SELECT created_us FROM domain" IN_SCOPE " AND id = $id";
	static const char sql_older[] = PAGE("<", "DESC");
	static const char sql_newer[] = PAGE(">", "ASC");
#undef PAGE
#undef IN_SCOPE
	static const struct row_pager pager = {sql_place, sql_older, sql_newer, ROW_BY_CREATED};
	struct page_end end;
	int found = row_page(db,
		ROW_LIST(.pager = &pager,
			.params = DB_PARAMS(DB_TEXT("$company", scope->company_id),
				DB_TEXT("$domain", scope->domain)),
			.type = &store_domain_type, .page = page, ROW_INTO(list_r), .end_r = &end),
		err);

	if (found == 1)
		*more_r = end.more;
	return found;
}

int store_domain_change(struct db *db, const struct domain *domain, struct err *err)
{
	static const char sql_change[] =
		"UPDATE domain"
		" SET active = $active, pending = 0, policy = $policy, subdomains = $subdomains,"
		"   return_path = $return_path, unsubscribe = $unsubscribe"
		" WHERE id = $id";
	const char *action = "domain.set";
	struct err why = ERR_INIT;
	struct domain before;
	int changed = store_domain_get(db, NULL, domain->id, &before, err);

	if (changed <= 0)
		return changed;
	if (before.pending)
		action = "domain.register";
	else if (before.active != domain->active)
		action = domain->active ? "domain.activate" : "domain.deactivate";
	store_domain_clear(&before);
	changed = change_domain(db, action, domain->id, sql_change,
		DB_PARAMS(DB_INT("$active", domain->active),
			DB_TEXT("$policy", policies[domain->policy]),
			DB_TEXT("$subdomains", subdomains[domain->covers_subdomains]),
			DB_TEXT("$return_path", domain->return_path),
			DB_TEXT("$unsubscribe", unsubscribe[domain->unsubscribe]),
			DB_TEXT("$id", domain->id)),
		&why);
	if (changed < 0 && why.code == ERR_EXISTS)
		return err_set(err, ERR_EXISTS, "the domain is registered to another company");
	return changed < 0 ? err_copy(err, &why) : changed;
}

int store_domain_is_covered(struct db *db, const struct domain *domain, struct err *err)
{
	static const char sql_covering[] =
		"WITH RECURSIVE up (name) AS ( SELECT $name"
		"   UNION ALL SELECT substr(name, instr(name, '.') + 1)"
		"   FROM up"
		"   WHERE instr(name, '.') > 0)"
		" SELECT d.company_id <> $company"
		" FROM up"
		" CROSS JOIN domain d  ON d.name = up.name AND d.pending = 0"
		" WHERE d.name <> $name AND d.subdomains = 'covered'"
		" ORDER BY length(d.name) DESC"
		" LIMIT 1";
	int64_t by_another = 0;
	int found = row_number(db, sql_covering,
		DB_PARAMS(DB_TEXT("$name", domain->name), DB_TEXT("$company", domain->company_id)),
		&by_another, err);

	return found < 0 ? -1 : by_another != 0;
}

static const char sql_remove[] = "DELETE FROM domain WHERE id = $id";

static int remove_domain_step(struct db *db, void *arg, struct err *err)
{
	const char *id = arg;
	int left = STORE_REMOVE_STEP;

	if (store_key_remove_some(db, NULL, id, &left, err) < 0 ||
		store_exemption_remove_some(db, NULL, id, &left, err) < 0)
		return -1;
	if (left == 0)
		return STORE_MORE;
	return change_domain(
		db, "domain.remove", id, sql_remove, DB_PARAMS(DB_TEXT("$id", id)), err);
}

int store_domain_remove(struct db *db, const char *id, struct err *err)
{
	return db_atomic(db, remove_domain_step, (void *)id, err);
}

int store_domain_remove_some(struct db *db, const char *company_id, int *left, struct err *err)
{
	static const char sql_list[] = DOMAIN_SELECT " WHERE company_id = $company LIMIT $limit";

	if (store_exemption_remove_some(db, company_id, NULL, left, err) < 0)
		return -1;
	return audit_remove(db,
		&(struct audit_change){.action = "domain.remove",
			.type = &store_domain_type,
			.name = "name",
			.sql = sql_remove,
			.sql_get = sql_list,
			.key = DB_PARAMS(DB_TEXT("$company", company_id))},
		left, err);
}

int store_domain_count(struct db *db, const char *company_id, int64_t *count_r, struct err *err)
{
	static const char sql_count[] = "SELECT count(*) FROM domain WHERE company_id = $company";

	return row_value(db, sql_count, DB_PARAMS(DB_TEXT("$company", company_id)), count_r, err);
}

void store_domain_clear(struct domain *domain)
{
	row_clear(&store_domain_type, domain);
}

void store_domain_list_free(struct domain_list *list)
{
	row_list_free(&store_domain_type, list->items, list->n);
	*list = (struct domain_list){0};
}

static const struct row_field check_fields[] = {
	ROW_FIELD(domain_check, domain_id, ROW_ID),
	ROW_FIELD(domain_check, checked_us, ROW_TIME),
	ROW_FIELD(domain_check, records, ROW_TEXT),
};
static const struct row_type check_type = ROW_TYPE(domain_check, check_fields);

int store_domain_check_get(
	struct db *db, const char *domain_id, struct domain_check *check_r, struct err *err)
{
	static const char sql_get[] =
		"SELECT domain_id, checked_us, records FROM domain_check WHERE domain_id = $id";

	return row_get(
		db, sql_get, DB_PARAMS(DB_TEXT("$id", domain_id)), &check_type, check_r, err);
}

int store_domain_check_put(struct db *db, const struct domain_check *check, struct err *err)
{
	static const char sql_put[] =
		"INSERT INTO domain_check (domain_id, checked_us, records)"
		" VALUES ($domain_id, $checked_us, $records)"
		" ON CONFLICT (domain_id) DO UPDATE"
		" SET checked_us = excluded.checked_us, records = excluded.records";

	return row_write(db, sql_put, NULL, &check_type, check, err) < 0 ? -1 : 0;
}

void store_domain_check_clear(struct domain_check *check)
{
	row_clear(&check_type, check);
}
