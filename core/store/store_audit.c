/*
 * store_audit: the rows of the table audit.
 *
 * Invariant: an entry is written in the transaction of its change, or neither
 * is.
 */
#include "core/store/store_audit.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"

enum { LOOK_MAX = 20000 }; /* the most entries looked at for a page */

static const struct row_field audit_fields[] = {
	ROW_FIELD(audit, id, ROW_ID),
	ROW_FIELD(audit, at_us, ROW_TIME),
	ROW_FIELD(audit, actor, ROW_TEXT),
	ROW_FIELD(audit, actor_id, ROW_TEXT),
	ROW_FIELD(audit, actor_name, ROW_TEXT),
	ROW_FIELD(audit, origin, ROW_TEXT),
	ROW_FIELD(audit, company_id, ROW_TEXT),
	ROW_FIELD(audit, action, ROW_TEXT),
	ROW_FIELD(audit, object_id, ROW_TEXT),
	ROW_FIELD(audit, object_name, ROW_TEXT),
	ROW_FIELD(audit, before, ROW_JSON),
	ROW_FIELD(audit, after, ROW_JSON),
};
const struct row_type store_audit_type = ROW_TYPE(audit, audit_fields);

/* Prints the object and gives up its reference. The caller frees the string. */
static char *print_object(json_t *object)
{
	char *text = json_dumps(object, JSON_COMPACT);

	json_decref(object);
	return text;
}

/* Returns the columns of an item as stored in the log. The caller frees the string. */
static char *print_columns(const struct row_type *type, const void *item)
{
	return print_object(row_json(type, item, ROW_STORED));
}

/* Returns the text of a column; NULL if the object does not have it. */
static const char *column_of(const struct row_type *type, const void *item, const char *column)
{
	for (size_t i = 0; i < type->n; i++) {
		const struct row_field *field = &type->fields[i];
		const void *member = (const char *)item + field->offset;

		if (!str_eq(field->param + 1, column))
			continue;
		return field->kind == ROW_ID ? member : *(char *const *)member;
	}
	return NULL;
}

/* At least one of before and after is not NULL, if the action changes an object. */
static int insert_entry(struct db *db, const struct audit_action *action, const char *before,
	const char *after, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO audit (id, at_us, actor, actor_id, actor_name, origin, operator,"
		"   company_id, action, object_id, object_name, before, after)"
		" VALUES ($id, $at_us, $actor, $actor_id, $actor_name, $origin, $operator,"
		"   $company_id, $action, $object_id, $object_name, $before, $after)";
	static const struct db_actor nobody = {"system", "", "", "", false};
	const struct db_actor *actor = db_actor(db) ? db_actor(db) : &nobody;
	char entry_id[ID_SIZE];
	int written;

	id_new(entry_id);
	written = db_change(db, sql_insert,
		DB_PARAMS(DB_TEXT("$id", entry_id), DB_INT("$at_us", clock_now_us(&clock_system)),
			DB_TEXT("$actor", actor->kind), DB_TEXT("$actor_id", actor->id),
			DB_TEXT("$actor_name", actor->name), DB_TEXT("$origin", actor->origin),
			DB_INT("$operator", actor->is_operator),
			DB_TEXT("$company_id", action->company_id),
			DB_TEXT("$action", action->action),
			DB_TEXT("$object_id", action->object_id),
			DB_TEXT("$object_name", action->object_name), DB_TEXT("$before", before),
			DB_TEXT("$after", after)),
		err);
	return written < 0 ? -1 : 0;
}

int store_audit_add(struct db *db, const struct audit_action *action, struct err *err)
{
	_cleanup_free_ char *after = action->after ? print_object(action->after) : mem_strdup("{}");

	return insert_entry(db, action, NULL, after, err);
}

/* The oldest entries have the lowest numbers, unless the clock was put back meanwhile. */
int store_audit_clean(struct db *db, int64_t old_us, int max, struct err *err)
{
	static const char sql_clean[] =
		"DELETE FROM audit"
		" WHERE seq IN (SELECT seq"
		"   FROM (SELECT seq, at_us"
		"     FROM audit"
		"     ORDER BY seq"
		"     LIMIT $max) oldest"
		"   WHERE at_us < $old)";

	return db_change(
		db, sql_clean, DB_PARAMS(DB_INT("$old", old_us), DB_INT("$max", max)), err);
}

static int write_entry(struct db *db, const struct audit_change *change, const char *before,
	const char *after, const void *item, struct err *err)
{
	const char *id = column_of(change->type, item, "id");
	const char *company = column_of(change->type, item, "company_id");
	const char *name = column_of(change->type, item, change->name);
	struct audit_action action = {
		.company_id = str_empty(company) ? NULL : company,
		.action = change->action,
		.object_id = id,
		.object_name = name ? name : "",
	};

	if (str_starts(change->action, "company."))
		action.company_id = id;
	return insert_entry(db, &action, before, after, err);
}

/* Reads the existing object, which the caller clears, and its columns. Returns 1, 0 if there is
 * none, -1 on error. */
static int read_columns(struct db *db, const struct audit_change *change, void *item,
	char **columns_r, struct err *err)
{
	int found = row_get(db, change->sql_get, change->key, change->type, item, err);

	if (found > 0)
		*columns_r = print_columns(change->type, item);
	return found;
}

static int add_object(struct db *db, void *arg, struct err *err)
{
	const struct audit_change *change = arg;
	_cleanup_free_ char *after = NULL;
	int n = row_write(db, change->sql, change->params, change->type, change->item, err);

	if (n <= 0)
		return n;
	after = print_columns(change->type, change->item);
	return write_entry(db, change, NULL, after, change->item, err) < 0 ? -1 : n;
}

static int change_object(struct db *db, void *arg, struct err *err)
{
	const struct audit_change *change = arg;
	_cleanup_free_ void *old = mem_alloc(1, change->type->size);
	_cleanup_free_ void *now = mem_alloc(1, change->type->size);
	_cleanup_free_ char *before = NULL;
	_cleanup_free_ char *after = NULL;
	int found = read_columns(db, change, old, &before, err);
	int n, result = -1;

	if (found <= 0)
		return found;
	n = db_change(db, change->sql, change->params, err);
	found = n < 0 ? -1 : read_columns(db, change, now, &after, err);
	if (found >= 0)
		result = found > 0 && str_eq(before, after)
				 ? 0
				 : write_entry(db, change, before, after, old, err);
	if (n == 0)
		result = 0;
	if (found > 0)
		row_clear(change->type, now);
	row_clear(change->type, old);
	return result < 0 ? -1 : n;
}

int audit_change(struct db *db, const struct audit_change *change, struct err *err)
{
	return db_atomic(db, change->item ? add_object : change_object, (void *)change, err);
}

int audit_remove(struct db *db, const struct audit_change *change, int *left, struct err *err)
{
	const struct page page = {.limit = *left};
	char *items;
	size_t n;
	int result = 0;

	if (*left <= 0)
		return 0;
	if (row_list(db,
		    ROW_LIST(.sql = change->sql_get, .params = change->key, .type = change->type,
			    .page = &page, .items_r = &items, .n_r = &n),
		    err) < 0)
		return -1;
	for (size_t i = 0; i < n && result >= 0; i++) {
		const char *item = items + i * change->type->size;
		const char *id = column_of(change->type, item, "id");
		_cleanup_free_ char *before = print_columns(change->type, item);

		result = write_entry(db, change, before, NULL, item, err);
		if (result == 0)
			result = db_change(db, change->sql, DB_PARAMS(DB_TEXT("$id", id)), err);
	}
	row_list_free(change->type, items, n);
	*left -= (int)n;
	return result < 0 ? -1 : 0;
}

/* The order along which a page is read: all entries, those of a company, or those of an object of
 * any company. A company's list always walks its own entries, so that entries of others neither
 * cost time nor are revealed by it. */
enum walk { WALK_ALL, WALK_COMPANY, WALK_OBJECT, WALKS };

/* The range of entries from which a page is selected; both ends are exclusive. */
struct seq_range {
	int64_t low;
	int64_t high;
	bool cut; /* there are more entries beyond it */
};

/* clang-format off */
#define BETWEEN " seq > $low AND seq < $high ORDER BY seq"
#define BOUND(condition, order)                                                \
	"SELECT seq"                                                           \
	" FROM audit"                                                          \
	" WHERE " condition BETWEEN order                                      \
	" LIMIT 1 OFFSET $look"
#define OF_OBJECT(column, order)                                               \
	"SELECT seq"                                                           \
	" FROM (SELECT seq"                                                    \
	"   FROM audit"                                                        \
	"   WHERE " column " = $object AND" BETWEEN order                      \
	"   LIMIT $look + 1) few"
#define OBJECT_BOUND(order)                                                    \
	"SELECT seq"                                                           \
	" FROM (" OF_OBJECT("object_id", order)                                \
	"   UNION " OF_OBJECT("object_name", order) ") found"                  \
	" ORDER BY seq" order                                                  \
	" LIMIT 1 OFFSET $look"
/* clang-format on */

/* Limits the range to the first LOOK_MAX entries of the page. Returns 0 or -1. */
static int cut_range(struct db *db, const struct audit_scope *scope, enum walk walk, bool backwards,
	struct seq_range *range, struct err *err)
{
	static const char *const sql[WALKS][2] = {
		[WALK_ALL] = {BOUND("", " DESC"), BOUND("", "")},
		[WALK_COMPANY] = {BOUND("company_id = $company AND", " DESC"),
			BOUND("company_id = $company AND", "")},
		[WALK_OBJECT] = {OBJECT_BOUND(" DESC"), OBJECT_BOUND("")},
	};
	int64_t seq = 0;
	int found = row_number(db, sql[walk][backwards],
		DB_PARAMS(DB_INT("$low", range->low), DB_INT("$high", range->high),
			DB_INT("$look", LOOK_MAX - 1),
			DB_GIVEN_TEXT("$company", walk == WALK_COMPANY ? scope->company_id : NULL),
			DB_GIVEN_TEXT("$object", walk == WALK_OBJECT ? scope->object : NULL)),
		&seq, err);

	if (found < 0)
		return -1;
	range->cut = found > 0;
	if (found > 0 && backwards)
		range->high = seq + 1;
	else if (found > 0)
		range->low = seq - 1;
	return 0;
}

#undef OBJECT_BOUND
#undef OF_OBJECT
#undef BOUND
#undef BETWEEN

/* clang-format off */
/* Members see neither the identity of an operator nor the origin of a token. */
#define VEILED "($veil <> 0 AND operator <> 0)"
#define PAGE(condition, order)                                                 \
	"SELECT id, at_us,"                                                    \
	" iif(" VEILED ", 'operator', actor) AS actor,"                        \
	" iif(" VEILED ", '', actor_id) AS actor_id,"                          \
	" iif(" VEILED ", '', actor_name) AS actor_name,"                      \
	" iif(" VEILED ", '', origin) AS origin,"                              \
	" company_id, action, object_id, object_name,"                         \
	" iif($veil <> 0, json_remove(before, '$.origin'), before) AS before," \
	" iif($veil <> 0, json_remove(after, '$.origin'), after) AS after"     \
	" FROM audit"                                                          \
	" WHERE " condition " seq > $low AND seq < $high"                      \
	" AND at_us >= $since"                                                 \
	" AND ($object IS NULL OR object_id = $object OR object_name = $object)" \
	" AND ($actor IS NULL"                                                 \
	"   OR NOT " VEILED                                                    \
	" AND (actor_id = $actor OR actor_name = $actor))"                     \
	" AND ($action IS NULL"                                                \
	"   OR action = $action"                                               \
	"   OR substr(action, 1, length($action) + 1) = $action || '.')"       \
	" ORDER BY seq " order                                                 \
	" LIMIT $limit"
#define OF_OBJECT "(object_id = $object OR object_name = $object) AND"
/* clang-format on */

int store_audit_page(struct db *db, const struct audit_scope *scope, const struct page *page,
	struct audit_list *list_r, struct page_end *end_r, struct err *err)
{
	static const char *const sql[WALKS][2] = {
		[WALK_ALL] = {PAGE("", "DESC"), PAGE("", "ASC")},
		[WALK_COMPANY] = {PAGE("company_id = $company AND", "DESC"),
			PAGE("company_id = $company AND", "ASC")},
		[WALK_OBJECT] = {PAGE(OF_OBJECT, "DESC"), PAGE(OF_OBJECT, "ASC")},
	};
	static const char sql_cursor[] =
		"SELECT seq"
		" FROM audit"
		" WHERE id = $id AND ($company IS NULL OR company_id = $company)";
	static const char sql_last[] = "SELECT id FROM audit WHERE seq = $seq";
	bool backwards = page_backwards(page);
	bool narrowed = scope->object || scope->actor || scope->action || scope->since_us;
	struct seq_range range = {.high = INT64_MAX};
	struct audit_list list;
	struct page_end end;
	enum walk walk = scope->object ? WALK_OBJECT : WALK_ALL;
	const char *cursor = page_cursor(page);
	_cleanup_free_ char *last = NULL;
	int found = 1;

	if (scope->company_id)
		walk = WALK_COMPANY;
	if (cursor)
		found = row_number(db, sql_cursor,
			DB_PARAMS(DB_TEXT("$id", cursor), DB_TEXT("$company", scope->company_id)),
			backwards ? &range.low : &range.high, err);
	if (found != 1)
		return found;
	if (narrowed && cut_range(db, scope, walk, backwards, &range, err) < 0)
		return -1;
	if (row_list(db,
		    ROW_LIST(.sql = sql[walk][backwards],
			    .params = DB_PARAMS(DB_INT("$low", range.low),
				    DB_INT("$high", range.high), DB_INT("$since", scope->since_us),
				    DB_TEXT("$object", scope->object),
				    DB_TEXT("$actor", scope->actor),
				    DB_TEXT("$action", scope->action),
				    DB_INT("$veil", scope->of_member),
				    DB_GIVEN_TEXT("$company", scope->company_id)),
			    .type = &store_audit_type, .page = page, ROW_INTO(&list),
			    .end_r = &end),
		    err) < 0)
		return -1;
	/* The next page continues behind the last entry that was looked at. */
	if (range.cut && !end.more &&
		row_text(db, sql_last,
			DB_PARAMS(DB_INT("$seq", backwards ? range.high - 1 : range.low + 1)),
			&last, err) < 0) {
		row_list_free(&store_audit_type, list.items, list.n);
		return -1;
	}
	if (last)
		snprintf(end.next, ID_SIZE, "%s", last);
	*list_r = list;
	*end_r = end;
	return 1;
}
