/*
 * store_domain_list: lists of domains.
 *
 * Threads: a handle is used by one thread at a time; holds no state.
 */
#include <stdint.h>

#include "core/base/str.h"
#include "core/store/store_domain_private.h"

static int read_item(struct db_stmt *stmt, void *item, struct err *err)
{
	return store_domain_read_row(stmt, item, err);
}

static void clear_item(void *item)
{
	store_domain_clear(item);
}

static const struct rows_kind domains = {
	sizeof(struct domain), read_item, clear_item};

static int prepare_list(struct db *db, const char *company_id,
	struct db_stmt **stmt_r, struct err *err)
{
	static const char sql_all[] = "SELECT " DOMAIN_COLUMNS
				      " FROM domain ORDER BY name, company_id";
	static const char sql_of_company[] =
		"SELECT " DOMAIN_COLUMNS
		" FROM domain WHERE company_id = $company"
		" ORDER BY name";

	if (company_id == NULL)
		return db_prepare(db, sql_all, stmt_r, err);
	if (db_prepare(db, sql_of_company, stmt_r, err) != 0)
		return -1;
	db_bind_text(*stmt_r, "$company", company_id);
	return 0;
}

int store_domain_list(struct db *db, const char *company_id,
	struct domain_list *list_r, struct err *err)
{
	struct db_stmt *stmt;
	struct rows rows;

	if (prepare_list(db, company_id, &stmt, err) != 0)
		return -1;
	if (store_rows_read(stmt, &domains, STORE_ROWS_ALL, &rows, err) < 0)
		return -1;
	*list_r = (struct domain_list){rows.items, rows.n};
	return 0;
}

/* The place of the cursor in the list: 1, 0 when it is not there, -1. */
static int find_place(struct db *db, const struct domain_scope *scope,
	const char *id, int64_t *created_us_r, struct err *err)
{
	struct domain domain;
	int found = store_domain_get(db, scope->company_id, id, &domain, err);

	if (found <= 0)
		return found;
	*created_us_r = domain.created_us;
	found = scope->domain == NULL || str_eq(scope->domain, domain.name);
	store_domain_clear(&domain);
	return found;
}

static int prepare_page(struct db *db, const struct domain_scope *scope,
	bool backwards, struct db_stmt **stmt_r, struct err *err)
{
#define PAGE(side, order)                                                      \
	"SELECT " DOMAIN_COLUMNS " FROM domain WHERE company_id = $company"    \
	" AND ($domain IS NULL OR name = $domain)"                             \
	" AND (created_us, id) " side " ($created, $id)"                       \
	" ORDER BY created_us " order ", id " order " LIMIT $limit"
	static const char sql_older[] = PAGE("<", "DESC");
	static const char sql_newer[] = PAGE(">", "ASC");
#undef PAGE

	if (db_prepare(db, backwards ? sql_newer : sql_older, stmt_r, err) != 0)
		return -1;
	db_bind_text(*stmt_r, "$company", scope->company_id);
	db_bind_text(*stmt_r, "$domain", scope->domain);
	return 0;
}

int store_domain_page(struct db *db, const struct domain_scope *scope,
	const struct page *page, struct domain_list *list_r, bool *more_r,
	struct err *err)
{
	const char *cursor = store_page_cursor(page);
	int64_t created_us = INT64_MAX;
	struct db_stmt *stmt;
	struct rows rows;
	int found;

	found = cursor ? find_place(db, scope, cursor, &created_us, err) : 1;
	if (found != 1)
		return found;
	if (prepare_page(db, scope, store_page_backwards(page), &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$created", created_us);
	db_bind_text(stmt, "$id", cursor ? cursor : "");
	db_bind_int(stmt, "$limit", page->limit + 1);
	if (store_page_read(stmt, page, &domains, &rows, err) < 0)
		return -1;
	*list_r = (struct domain_list){rows.items, rows.n};
	*more_r = rows.more;
	return 1;
}
