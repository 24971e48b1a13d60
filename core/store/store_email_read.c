/*
 * store_email_read: emails as they are read back, one by one and in lists.
 *
 * Every list is a walk along an index in the order of seq, newest first and
 * without content, which ends with its limit: with a million emails it costs no
 * more than with a hundred.
 */
#include "core/store/store_email.h"

/* The columns of `email e`, without its content. */
#define COLUMNS                                                                \
	"e.seq, e.id, e.company_id, e.key_id, e.ticket, e.domain, e.sender,"   \
	" e.header_from, e.reply_to, e.subject, e.message_id, e.created_us,"   \
	" e.state, e.decided_us, e.queue_id, e.last_event, e.refusal"

/* Whether the row is in the folder: $all is 1 for every row, 0 for the sent. */
#define IN_FOLDER " (e.state = 'sent' OR $all = 1)"

int store_email_get(struct db *db, const char *id,
	const struct email_scope *scope, struct email *email_r, struct err *err)
{
	static const char sql_get[] =
		"SELECT " COLUMNS ", c.html, c.text, c.tags, c.variables"
		" FROM email e JOIN email_content c ON c.seq = e.seq"
		" WHERE e.id = $id AND" IN_FOLDER
		" AND ($company IS NULL OR e.company_id = $company)"
		" AND ($domain IS NULL OR e.domain = $domain)";
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql_get,
		    DB_PARAMS(DB_TEXT("$id", id),
			    DB_INT("$all", !scope->sent_only),
			    DB_TEXT("$company", scope->company_id),
			    DB_TEXT("$domain", scope->domain)),
		    &stmt, err) != 0)
		return -1;
	found = db_step(stmt, err);
	if (found != 1)
		return found;
	if (row_read(stmt, &store_email_type, email_r, err) < 0)
		return -1;
	/* Before the reset: so both are of one moment, and the engine takes its
	 * locks once. */
	found = store_recipients_read(
		db, email_r->seq, &email_r->recipients, err);
	db_reset(stmt);
	if (found != 1)
		store_email_clear(email_r);
	return found;
}

static const struct row_field recall_fields[] = {
	ROW_WORD(email_recall, state, ROW_ENUM, "state", &store_email_states),
	ROW_FIELD(email_recall, ticket, ROW_ID),
	ROW_FIELD(email_recall, refusal, ROW_TEXT),
	ROW_FIELD(email_recall, run, ROW_TEXT),
};
static const struct row_type recall_type = ROW_TYPE(email_recall, recall_fields);

int store_email_recall(struct db *db, const char *id,
	struct email_recall *recall_r, struct err *err)
{
	static const char sql_recall[] =
		"SELECT state, ticket, refusal, run FROM email WHERE id = $id";

	return row_get(db, sql_recall, DB_PARAMS(DB_TEXT("$id", id)),
		&recall_type, recall_r, err);
}

void store_email_recall_clear(struct email_recall *recall)
{
	row_clear(&recall_type, recall);
}

int store_email_outcome(struct db *db, const char *id,
	enum email_state *state_r, char **refusal_r, struct err *err)
{
	static const char sql_outcome[] =
		"SELECT state, refusal FROM email WHERE id = $id";
	struct email_recall recall;
	int found = row_get(db, sql_outcome, DB_PARAMS(DB_TEXT("$id", id)),
		&recall_type, &recall, err);

	if (found == 1) {
		*state_r = recall.state;
		*refusal_r = recall.refusal;
	}
	return found;
}

/* The list of these rows, with their recipients. A row that has none by now was
 * removed in the meantime: it is left out. */
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

static int read_list(struct db *db, const char *sql,
	const struct db_param *params, struct email_list *list_r, struct err *err)
{
	struct rows rows;

	if (row_list(db, sql, params, &store_email_type, ROWS_ALL, &rows, err) < 0)
		return -1;
	return fill_list(db, &rows, list_r, err);
}

/* One statement for each kind of scope, so that each walks the index that fits
 * it. A domain has hardly ever emails of more than one company; the `|| ''`
 * keeps the engine on the domain's index when both are given. */
#define OF_COMPANY " AND e.company_id = $company"
#define OF_DOMAIN  " AND e.domain = $domain"
#define OF_BOTH    OF_DOMAIN " AND e.company_id || '' = $company"

int store_email_list(struct db *db, const struct email_scope *scope, int limit,
	struct email_list *list_r, struct err *err)
{
#define LIST(condition)                                                        \
	"SELECT " COLUMNS " FROM email e WHERE" IN_FOLDER condition            \
	" ORDER BY e.seq DESC LIMIT $limit"
	static const char sql_all[] = LIST("");
	static const char sql_company[] = LIST(OF_COMPANY);
	static const char sql_domain[] = LIST(OF_DOMAIN);
	static const char sql_both[] = LIST(OF_BOTH);
#undef LIST
	const char *of_company = scope->domain ? sql_both : sql_company;
	const char *of_any = scope->domain ? sql_domain : sql_all;

	return read_list(db, scope->company_id ? of_company : of_any,
		DB_PARAMS(DB_INT("$all", !scope->sent_only),
			DB_GIVEN_TEXT("$company", scope->company_id),
			DB_GIVEN_TEXT("$domain", scope->domain),
			DB_INT("$limit", limit > 0 ? limit : 0)),
		list_r, err);
}

/* Walks the refused ones alone, however many others there are. */
int store_email_list_refused(struct db *db, const struct email_scope *scope,
	int limit, struct email_list *list_r, struct err *err)
{
	static const char sql_refused[] =
		"SELECT " COLUMNS " FROM email e"
		" WHERE e.state = 'refused'"
		" AND ($company IS NULL OR e.company_id = $company)"
		" AND ($domain IS NULL OR e.domain = $domain)"
		" ORDER BY e.decided_us DESC LIMIT $limit";

	return read_list(db, sql_refused,
		DB_PARAMS(DB_TEXT("$company", scope->company_id),
			DB_TEXT("$domain", scope->domain),
			DB_INT("$limit", limit > 0 ? limit : 0)),
		list_r, err);
}

/* An index has these alone: the condition is the index's own. */
int store_email_list_chosen(struct db *db, const char *message_id, int limit,
	struct email_list *list_r, struct err *err)
{
	static const char sql_chosen[] =
		"SELECT " COLUMNS " FROM email e"
		" WHERE e.message_id = $message_id"
		" AND substr(e.message_id, 2, 36) <> e.id"
		" ORDER BY e.seq DESC LIMIT $limit";

	return read_list(db, sql_chosen,
		DB_PARAMS(DB_TEXT("$message_id", message_id),
			DB_INT("$limit", limit)),
		list_r, err);
}

/* The seq of the cursor: 1, 0 when the scope has no such email, -1. */
static int find_seq(struct db *db, const struct email_scope *scope,
	const char *id, int64_t *seq_r, struct err *err)
{
	static const char sql_seq[] =
		"SELECT e.seq FROM email e WHERE e.id = $id AND" IN_FOLDER
		" AND e.company_id = $company"
		" AND ($domain IS NULL OR e.domain = $domain)";

	return row_number(db, sql_seq,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$all", !scope->sent_only),
			DB_TEXT("$company", scope->company_id),
			DB_TEXT("$domain", scope->domain)),
		seq_r, err);
}

int store_email_page(struct db *db, const struct email_scope *scope,
	const struct page *page, struct email_list *list_r, bool *more_r,
	struct err *err)
{
#define PAGE(condition, side)                                                  \
	"SELECT " COLUMNS " FROM email e WHERE" IN_FOLDER condition            \
	" AND e.seq " side " LIMIT $limit"
#define OLDER "< $seq ORDER BY e.seq DESC"
#define NEWER "> $seq ORDER BY e.seq"
	static const char sql_company_older[] = PAGE(OF_COMPANY, OLDER);
	static const char sql_company_newer[] = PAGE(OF_COMPANY, NEWER);
	static const char sql_both_older[] = PAGE(OF_BOTH, OLDER);
	static const char sql_both_newer[] = PAGE(OF_BOTH, NEWER);
#undef PAGE
	const char *older = scope->domain ? sql_both_older : sql_company_older;
	const char *newer = scope->domain ? sql_both_newer : sql_company_newer;
	const char *cursor = page_cursor(page);
	int64_t seq = INT64_MAX;
	struct rows rows;
	int found = cursor ? find_seq(db, scope, cursor, &seq, err) : 1;

	if (found != 1)
		return found;
	if (row_page(db, page_backwards(page) ? newer : older,
		    DB_PARAMS(DB_INT("$all", !scope->sent_only),
			    DB_INT("$seq", seq),
			    DB_TEXT("$company", scope->company_id),
			    DB_GIVEN_TEXT("$domain", scope->domain)),
		    &store_email_type, page, &rows, err) < 0)
		return -1;
	*more_r = rows.more;
	return fill_list(db, &rows, list_r, err) < 0 ? -1 : 1;
}

void store_email_list_free(struct email_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		store_email_clear(&list->items[i]);
	free(list->items);
	*list = (struct email_list){0};
}
