/*
 * store_pause: what an admin has paused.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/company/store_pause.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/store_audit.h"

static const struct row_field pause_fields[] = {
	ROW_FIELD(pause, id, ROW_ID),
	ROW_FIELD(pause, company_id, ROW_ID),
	ROW_FIELD(pause, kind, ROW_TEXT),
	ROW_FIELD(pause, name, ROW_TEXT),
	ROW_FIELD(pause, domain, ROW_TEXT),
	ROW_FIELD(pause, key_id, ROW_ID),
	ROW_FIELD(pause, company_name, ROW_TEXT),
	ROW_FIELD(pause, reason, ROW_TEXT),
	ROW_FIELD(pause, created_us, ROW_TIME),
	ROW_FIELD(pause, emails, ROW_INT64),
};
enum { COUNTS = 1 };
const struct row_type store_pause_type = {.name = "pause",
	.size = sizeof(struct pause),
	.fields = pause_fields,
	.n = ARRAY_SIZE(pause_fields) - COUNTS};
const struct row_type store_pause_counted_type = ROW_TYPE(pause, pause_fields);

#define PAUSE_SELECT(more)                                                                                       \
	"SELECT s.id, s.company_id, coalesce(s.key_id, '') AS key_id, s.reason, s.created_us, d.name AS domain," \
	" CASE WHEN s.key_id IS NOT NULL THEN 'key'"                                                             \
	"   WHEN s.domain_id IS NOT NULL THEN 'domain' ELSE 'company' END AS kind,"                              \
	" c.name AS company_name, coalesce(k.name, d.name, c.name) AS name" more                                 \
	" FROM outbox_pause s"                                                                                   \
	" JOIN company c ON c.id = s.company_id"                                                                 \
	" LEFT JOIN domain d ON d.id = s.domain_id"                                                              \
	" LEFT JOIN api_key k ON k.id = s.key_id"

void store_pause_clear(struct pause *pause)
{
	row_clear(&store_pause_type, pause);
}

int store_pause_owner(struct db *db, const char *company_id, const struct outbox_whose *whose,
	char owner_r[static ID_SIZE], char **name_r, struct err *err)
{
	static const char sql_company[] =
		"SELECT id AS company_id, name FROM company WHERE id = $what";
	static const char sql_domain[] =
		"SELECT company_id, name FROM domain WHERE name = $what AND pending = 0";
	static const char sql_key[] = "SELECT company_id, name FROM api_key WHERE id = $what";
	const char *sql = whose->domain ? sql_domain : whose->key_id ? sql_key : sql_company;
	const char *what = whose->domain   ? whose->domain
			   : whose->key_id ? whose->key_id
					   : whose->company_id;
	struct pause owner;
	int found = row_get(
		db, sql, DB_PARAMS(DB_TEXT("$what", what)), &store_pause_type, &owner, err);

	if (found <= 0)
		return found;
	found = company_id == NULL || str_eq(company_id, owner.company_id);
	if (found) {
		memcpy(owner_r, owner.company_id, ID_SIZE);
		*name_r = TAKE_PTR(owner.name);
	}
	store_pause_clear(&owner);
	return found;
}

static const char sql_get[] = PAUSE_SELECT("") " WHERE s.id = $id";

int store_pause_add(struct db *db, const struct pause *pause, struct err *err)
{
	static const char sql_add[] =
		"INSERT INTO outbox_pause (id, company_id, domain_id, key_id, reason, created_us)"
		" SELECT $id, $company_id, (SELECT id"
		"   FROM domain"
		"   WHERE name = $domain AND pending = 0), nullif($key_id, ''), $reason,"
		"   $created_us";
	struct err why = ERR_INIT;

	if (row_check_name("the reason", pause->reason, err) < 0)
		return -1;
	if (audit_change(db,
		    &(struct audit_change){.action = "outbox.pause",
			    .type = &store_pause_type,
			    .name = "name",
			    .sql = sql_add,
			    .item = pause},
		    &why) >= 0)
		return 0;
	if (why.code == ERR_EXISTS)
		return err_set(
			err, ERR_EXISTS, "the %s %s is paused already", pause->kind, pause->name);
	return err_copy(err, &why);
}

int store_pause_find(
	struct db *db, const struct outbox_whose *whose, struct pause *pause_r, struct err *err)
{
	static const char sql_find[] = PAUSE_SELECT("")
		" WHERE iif($domain IS NULL AND $key IS NULL, s.company_id = $company"
		"   AND s.domain_id IS NULL AND s.key_id IS NULL,"
		"   d.name IS NOT DISTINCT FROM $domain AND s.key_id IS NOT DISTINCT FROM $key)";

	return row_get(db, sql_find,
		DB_PARAMS(DB_TEXT("$company", whose->company_id), DB_TEXT("$domain", whose->domain),
			DB_TEXT("$key", whose->key_id)),
		&store_pause_type, pause_r, err);
}

int store_pause_remove(struct db *db, const char *id, struct err *err)
{
	static const char sql_remove[] = "DELETE FROM outbox_pause WHERE id = $id";

	return audit_change(db,
		&(struct audit_change){.action = "outbox.resume",
			.type = &store_pause_type,
			.name = "name",
			.sql = sql_remove,
			.params = DB_PARAMS(DB_TEXT("$id", id)),
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$id", id))},
		err);
}

int store_pause_list(
	struct db *db, const char *company_id, struct pause_list *list_r, struct err *err)
{
#define LIST(where)                                                                                \
	PAUSE_SELECT(                                                                              \
		", (SELECT count(*)"                                                               \
		"   FROM (SELECT 1"                                                                \
		"     FROM outbox o"                                                               \
		"     WHERE o.due_us > 0 AND o.due_us = " SQL_PAUSED                               \
		" + s.seq"                                                                         \
		"     LIMIT $max) few) AS emails")                                                 \
	where " ORDER BY s.created_us DESC, s.id"                                                  \
	      " LIMIT $limit"
	/* The pauses of one company, by its index, so the work does not depend on other companies.
	 */
	static const char sql_list[] = LIST("");
	static const char sql_of_company[] = LIST(" WHERE s.company_id = $company");
#undef LIST

	const struct db_param *all = DB_PARAMS(
		DB_INT("$max", PAUSE_COUNT_MAX), DB_INT("$limit", PAUSES_MAX));
	const struct db_param *one = DB_PARAMS(DB_TEXT("$company", company_id),
		DB_INT("$max", PAUSE_COUNT_MAX), DB_INT("$limit", PAUSES_MAX));

	return row_list(db,
		ROW_LIST(.sql = company_id ? sql_of_company : sql_list,
			.params = company_id ? one : all, .type = &store_pause_counted_type,
			ROW_INTO(list_r)),
		err);
}

void store_pause_list_free(struct pause_list *list)
{
	row_list_free(&store_pause_type, list->items, list->n);
	*list = (struct pause_list){0};
}
