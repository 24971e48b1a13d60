/*
 * store_key_list: lists of keys.
 *
 * Threads: a handle is used by one thread at a time; holds no state.
 */
#include <stdint.h>

#include "core/store/store_key_private.h"

static int read_item(struct db_stmt *stmt, void *item, struct err *err)
{
	(void)err;
	store_key_read_row(stmt, item);
	return 0;
}

static void clear_item(void *item)
{
	store_key_clear(item);
}

static const struct rows_kind keys = {sizeof(struct key), read_item, clear_item};

static int prepare_list(struct db *db, const char *company_id,
	struct db_stmt **stmt_r, struct err *err)
{
	static const char sql_all[] = KEY_SELECT
		" ORDER BY k.created_us DESC, k.id";
	static const char sql_of_company[] = KEY_SELECT
		" WHERE k.company_id = $company"
		" ORDER BY k.created_us DESC, k.id";

	if (company_id == NULL)
		return db_prepare(db, sql_all, stmt_r, err);
	if (db_prepare(db, sql_of_company, stmt_r, err) != 0)
		return -1;
	db_bind_text(*stmt_r, "$company", company_id);
	return 0;
}

int store_key_list(struct db *db, const char *company_id,
	struct key_list *list_r, struct err *err)
{
	struct db_stmt *stmt;
	struct rows rows;

	if (prepare_list(db, company_id, &stmt, err) != 0)
		return -1;
	if (store_rows_read(stmt, &keys, STORE_ROWS_ALL, &rows, err) < 0)
		return -1;
	*list_r = (struct key_list){rows.items, rows.n};
	return 0;
}

#define IN_RANGE                                                               \
	" k.company_id = $company AND k.revoked_us = 0"                        \
	" AND ($domain IS NULL OR d.name = $domain)"

/* The place of the cursor in the list: 1, 0 when it is not there, -1. */
static int find_place(struct db *db, const struct key_range *range,
	const char *id, int64_t *created_us_r, struct err *err)
{
	static const char sql_place[] = KEY_SELECT
		" WHERE k.id = $id AND" IN_RANGE;
	struct db_stmt *stmt;
	struct key key;
	int result;

	if (db_prepare(db, sql_place, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	db_bind_text(stmt, "$company", range->company_id);
	db_bind_text(stmt, "$domain", range->domain);
	result = db_step(stmt, err);
	if (result != 1)
		return result;
	store_key_read_row(stmt, &key);
	db_reset(stmt);
	*created_us_r = key.created_us;
	store_key_clear(&key);
	return 1;
}

static int prepare_page(struct db *db, const struct key_range *range,
	bool backwards, struct db_stmt **stmt_r, struct err *err)
{
#define PAGE(side, order)                                                      \
	KEY_SELECT " WHERE" IN_RANGE " AND (k.created_us, k.id) " side         \
		   " ($created, $id)"                                          \
		   " ORDER BY k.created_us " order ", k.id " order             \
		   " LIMIT $limit"
	static const char sql_older[] = PAGE("<", "DESC");
	static const char sql_newer[] = PAGE(">", "ASC");
#undef PAGE

	if (db_prepare(db, backwards ? sql_newer : sql_older, stmt_r, err) != 0)
		return -1;
	db_bind_text(*stmt_r, "$company", range->company_id);
	db_bind_text(*stmt_r, "$domain", range->domain);
	return 0;
}

int store_key_page(struct db *db, const struct key_range *range,
	const struct page *page, struct key_list *list_r, bool *more_r,
	struct err *err)
{
	const char *cursor = store_page_cursor(page);
	int64_t created_us = INT64_MAX;
	struct db_stmt *stmt;
	struct rows rows;
	int found;

	found = cursor ? find_place(db, range, cursor, &created_us, err) : 1;
	if (found != 1)
		return found;
	if (prepare_page(db, range, store_page_backwards(page), &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$created", created_us);
	db_bind_text(stmt, "$id", cursor ? cursor : "");
	db_bind_int(stmt, "$limit", page->limit + 1);
	if (store_page_read(stmt, page, &keys, &rows, err) < 0)
		return -1;
	*list_r = (struct key_list){rows.items, rows.n};
	*more_r = rows.more;
	return 1;
}
