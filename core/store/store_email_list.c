/*
 * store_email_list: lists of emails, newest first, without their content.
 *
 * Every list is a walk along an index in the order of seq, which ends with its
 * limit: with a million emails it costs no more than with a hundred.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include <stdint.h>

#include "core/store/store_page.h"
#include "core/store/store_email_private.h"

static int read_item(struct db_stmt *stmt, void *item, struct err *err)
{
	return store_email_read_row(stmt, item, err);
}

static void clear_item(void *item)
{
	store_email_clear(item);
}

static const struct rows_kind emails = {
	sizeof(struct email), read_item, clear_item};

/* One statement for each kind of scope, so that each walks the index that fits
 * it. A domain has hardly ever more than one company's emails; the `|| ''`
 * keeps the engine on its index when both are given. */
static int prepare_list(struct db *db, const struct email_scope *scope,
	struct db_stmt **stmt_r, struct err *err)
{
#define LIST(condition)                                                         \
	"SELECT " EMAIL_COLUMNS " FROM email e WHERE" EMAIL_IN_FOLDER condition \
	" ORDER BY e.seq DESC LIMIT $limit"
	static const char sql_all[] = LIST("");
	static const char sql_company[] = LIST(" AND e.company_id = $company");
	static const char sql_domain[] = LIST(" AND e.domain = $domain");
	static const char sql_both[] = LIST(
		" AND e.domain = $domain AND e.company_id || '' = $company");
#undef LIST
	const char *of_company = scope->domain ? sql_both : sql_company;
	const char *of_any = scope->domain ? sql_domain : sql_all;

	if (db_prepare(db, scope->company_id ? of_company : of_any, stmt_r,
		    err) != 0)
		return -1;
	if (scope->company_id)
		db_bind_text(*stmt_r, "$company", scope->company_id);
	if (scope->domain)
		db_bind_text(*stmt_r, "$domain", scope->domain);
	return 0;
}

/* The list of these rows, with their recipients. One that has none by now was
 * removed since: it is left out. */
static int fill_list(struct db *db, const struct rows *rows,
	struct email_list *list_r, struct err *err)
{
	struct email_list list = {rows->items, rows->n};
	size_t kept = 0;

	for (size_t i = 0; i < rows->n; i++) {
		struct email *email = &list.items[i];
		int found = store_recipients_read(
			db, email->seq, &email->recipients, err);

		if (found < 0) {
			store_email_list_free(&list);
			return -1;
		}
		if (found == 0) {
			store_email_clear(email);
			continue;
		}
		if (kept != i) {
			list.items[kept] = *email;
			*email = (struct email){0};
		}
		kept++;
	}
	list.n = kept;
	*list_r = list;
	return 0;
}

/* The rows of a statement that is bound. */
static int read_list(struct db *db, struct db_stmt *stmt,
	struct email_list *list_r, struct err *err)
{
	struct rows rows;

	if (store_rows_read(stmt, &emails, STORE_ROWS_ALL, &rows, err) < 0)
		return -1;
	return fill_list(db, &rows, list_r, err);
}

int store_email_list(struct db *db, const struct email_scope *scope, int limit,
	struct email_list *list_r, struct err *err)
{
	struct db_stmt *stmt;

	if (prepare_list(db, scope, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$all", !scope->sent_only);
	db_bind_int(stmt, "$limit", limit > 0 ? limit : 0);
	return read_list(db, stmt, list_r, err);
}

/* Walks the refused ones alone, however many others there are. */
int store_email_list_refused(struct db *db, const struct email_scope *scope,
	int limit, struct email_list *list_r, struct err *err)
{
	static const char sql_refused[] =
		"SELECT " EMAIL_COLUMNS " FROM email e"
		" WHERE e.state = 'refused'"
		" AND ($company IS NULL OR e.company_id = $company)"
		" AND ($domain IS NULL OR e.domain = $domain)"
		" ORDER BY e.decided_us DESC LIMIT $limit";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_refused, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$company", scope->company_id);
	db_bind_text(stmt, "$domain", scope->domain);
	db_bind_int(stmt, "$limit", limit > 0 ? limit : 0);
	return read_list(db, stmt, list_r, err);
}

/* An index has these alone: the condition is the index's own. */
int store_email_list_chosen(struct db *db, const char *message_id, int limit,
	struct email_list *list_r, struct err *err)
{
	static const char sql_chosen[] =
		"SELECT " EMAIL_COLUMNS " FROM email e"
		" WHERE e.message_id = $message_id"
		" AND substr(e.message_id, 2, 36) <> e.id"
		" ORDER BY e.seq DESC LIMIT $limit";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_chosen, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$message_id", message_id);
	db_bind_int(stmt, "$limit", limit);
	return read_list(db, stmt, list_r, err);
}

/* The place of the cursor: 1, 0 when the scope has no such email, -1. */
static int find_seq(struct db *db, const struct email_scope *scope,
	const char *id, int64_t *seq_r, struct err *err)
{
	static const char sql_seq[] =
		"SELECT e.seq FROM email e WHERE e.id = $id AND" EMAIL_IN_FOLDER
		" AND e.company_id = $company"
		" AND ($domain IS NULL OR e.domain = $domain)";
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_seq, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	db_bind_int(stmt, "$all", !scope->sent_only);
	db_bind_text(stmt, "$company", scope->company_id);
	db_bind_text(stmt, "$domain", scope->domain);
	result = db_step(stmt, err);
	if (result == 1) {
		*seq_r = db_int(stmt, 0);
		db_reset(stmt);
	}
	return result;
}

/* The rows of the page from the place seq on, away from it. */
static int prepare_page(struct db *db, const struct email_scope *scope,
	bool backwards, struct db_stmt **stmt_r, struct err *err)
{
#define PAGE(condition, side)                                                  \
	"SELECT " EMAIL_COLUMNS " FROM email e WHERE" EMAIL_IN_FOLDER          \
	" AND" condition " AND e.seq " side " LIMIT $limit"
#define OLDER   "< $seq ORDER BY e.seq DESC"
#define NEWER   "> $seq ORDER BY e.seq"
#define COMPANY " e.company_id = $company"
#define BOTH    " e.domain = $domain AND e.company_id || '' = $company"
	static const char sql_company_older[] = PAGE(COMPANY, OLDER);
	static const char sql_company_newer[] = PAGE(COMPANY, NEWER);
	static const char sql_both_older[] = PAGE(BOTH, OLDER);
	static const char sql_both_newer[] = PAGE(BOTH, NEWER);
#undef PAGE
	const char *older = scope->domain ? sql_both_older : sql_company_older;
	const char *newer = scope->domain ? sql_both_newer : sql_company_newer;

	if (db_prepare(db, backwards ? newer : older, stmt_r, err) != 0)
		return -1;
	db_bind_text(*stmt_r, "$company", scope->company_id);
	if (scope->domain)
		db_bind_text(*stmt_r, "$domain", scope->domain);
	return 0;
}

int store_email_page(struct db *db, const struct email_scope *scope,
	const struct page *page, struct email_list *list_r, bool *more_r,
	struct err *err)
{
	const char *cursor = store_page_cursor(page);
	int64_t seq = INT64_MAX;
	struct db_stmt *stmt;
	struct rows rows;
	int found;

	found = cursor ? find_seq(db, scope, cursor, &seq, err) : 1;
	if (found != 1)
		return found;
	if (prepare_page(db, scope, store_page_backwards(page), &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$all", !scope->sent_only);
	db_bind_int(stmt, "$seq", seq);
	db_bind_int(stmt, "$limit", page->limit + 1);
	if (store_page_read(stmt, page, &emails, &rows, err) < 0)
		return -1;
	*more_r = rows.more;
	return fill_list(db, &rows, list_r, err) < 0 ? -1 : 1;
}
