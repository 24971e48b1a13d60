/*
 * store_company: the rows of the table company.
 */
#include "core/store/company/store_company.h"

#include <string.h>

#include "core/store/row.h"
#include "core/store/store_audit.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_key.h"
#include "core/store/company/store_suppression.h"
#include "core/store/user/store_user.h"

static const struct row_field company_fields[] = {
	ROW_FIELD(company, id, ROW_ID),
	ROW_FIELD(company, name, ROW_TEXT),
	ROW_FIELD(company, created_us, ROW_TIME),
	ROW_FIELD(company, domains, ROW_INT64),
	ROW_FIELD(company, keys, ROW_INT64),
};
enum { COUNTS = 2 };
const struct row_type store_company_type = {.name = "company",
	.size = sizeof(struct company),
	.fields = company_fields,
	.n = ARRAY_SIZE(company_fields) - COUNTS};
const struct row_type store_company_counted_type = ROW_TYPE(company, company_fields);

int store_company_add(
	struct db *db, const char *name, int64_t now_us, struct company *company_r, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO company (id, name, created_us) VALUES ($id, $name, $created_us)";
	struct company company = {.created_us = now_us};
	struct err why = ERR_INIT;

	if (name[strspn(name, " ")] == '\0')
		return err_set(err, ERR_INVALID, "the company's name is empty");
	if (row_check_name("the company's name", name, err) != 0)
		return -1;
	id_new(company.id);
	company.name = mem_strdup(name);
	if (audit_change(db,
		    &(struct audit_change){.action = "company.add",
			    .type = &store_company_type,
			    .name = "name",
			    .sql = sql_add,
			    .item = &company},
		    &why) < 0) {
		store_company_clear(&company);
		if (why.code == ERR_EXISTS)
			return err_set(err, ERR_EXISTS, "there is a company \"%s\" already", name);
		return err_copy(err, &why);
	}
	*company_r = company;
	return 0;
}

#define COMPANY_SELECT "SELECT id, name, created_us FROM company"

static const char sql_get[] = COMPANY_SELECT " WHERE id = $id";

int store_company_get(struct db *db, const char *id, struct company *company_r, struct err *err)
{
	return row_get(
		db, sql_get, DB_PARAMS(DB_TEXT("$id", id)), &store_company_type, company_r, err);
}

int store_company_list(struct db *db, const struct page *page, struct company_list *list_r,
	struct page_end *end_r, struct err *err)
{
	static const struct row_pager pager = ROW_NAMED_PAGER(
		COMPANY_SELECT, "company", "name", "");

	return row_page(db,
		ROW_LIST(.pager = &pager, .type = &store_company_type, .page = page,
			ROW_INTO(list_r), .end_r = end_r),
		err);
}

int store_company_count(
	struct db *db, const char *id, int64_t *domains_r, int64_t *keys_r, struct err *err)
{
	static const char sql_domains[] =
		"SELECT count(*)"
		" FROM (SELECT 1 FROM domain WHERE company_id = $id LIMIT $max) few";
	static const char sql_keys[] =
		"SELECT count(*)"
		" FROM (SELECT 1"
		"   FROM api_key"
		"   WHERE company_id = $id AND revoked_us = 0"
		"   LIMIT $max) few";
	const struct db_param *params = DB_PARAMS(
		DB_TEXT("$id", id), DB_INT("$max", COMPANY_COUNT_MAX));

	return row_number(db, sql_domains, params, domains_r, err) < 0 ||
			       row_number(db, sql_keys, params, keys_r, err) < 0
		       ? -1
		       : 0;
}

/* Suppressions are not audited one by one, and there may be many. */
enum { SUPPRESSIONS_STEP = 1000 };

static int remove_company_step(struct db *db, void *arg, struct err *err)
{
	static const char sql_remove[] = "DELETE FROM company WHERE id = $id";
	const char *id = arg;
	int left = STORE_REMOVE_STEP;

	if (store_key_remove_some(db, id, NULL, &left, err) < 0 ||
		store_user_remove_some(db, id, &left, err) < 0 ||
		store_domain_remove_some(db, id, &left, err) < 0)
		return -1;
	if (left > 0) {
		int removed = store_suppression_clear_some(
			db, id, NULL, SUPPRESSION_REASONS, SUPPRESSIONS_STEP, err);

		if (removed < 0)
			return -1;
		left = removed == 0;
	}
	if (left == 0)
		return STORE_MORE;
	return audit_change(db,
		&(struct audit_change){.action = "company.remove",
			.type = &store_company_type,
			.name = "name",
			.sql = sql_remove,
			.params = DB_PARAMS(DB_TEXT("$id", id)),
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$id", id))},
		err);
}

int store_company_remove(struct db *db, const char *id, struct err *err)
{
	return db_atomic(db, remove_company_step, (void *)id, err);
}

void store_company_clear(struct company *company)
{
	row_clear(&store_company_type, company);
}
