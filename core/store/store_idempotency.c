/*
 * store_idempotency: what was answered to requests with an Idempotency-Key.
 *
 * Threads: a handle is used by one thread at a time; holds no state.
 */
#include "core/store/store_idempotency.h"

#include <string.h>

#include "core/store/store_row.h"

/* Two go for each that comes, so that the old ones become fewer. */
enum { CLEANED_AT_ONCE = 2 };

/* Rows that began then or before do not count any more. */
static int64_t expired_us(int64_t now_us)
{
	return now_us - (int64_t)STORE_IDEMPOTENCY_KEEP_S * 1000000;
}

static void bind_key(struct db_stmt *stmt, const struct idempotency_key *key)
{
	db_bind_text(stmt, "$company", key->company_id);
	db_bind_blob(stmt, "$key", key->hash, SECRET_HASH_LEN);
}

int store_idempotency_find(struct db *db, const struct idempotency_key *key,
	int64_t now_us, struct idempotency *idempotency_r, struct err *err)
{
	static const char sql_find[] =
		"SELECT payload, created_us, settled, results"
		" FROM idempotency"
		" WHERE company_id = $company AND key_hash = $key"
		" AND created_us > $expired";
	struct idempotency found = {0};
	struct db_stmt *stmt;
	size_t len;
	int result;

	if (db_prepare(db, sql_find, &stmt, err) != 0)
		return -1;
	bind_key(stmt, key);
	db_bind_int(stmt, "$expired", expired_us(now_us));
	result = db_step(stmt, err);
	if (result != 1)
		return result;
	memcpy(found.payload, db_blob(stmt, 0, &len), SECRET_HASH_LEN);
	found.created_us = db_int(stmt, 1);
	found.settled = db_int(stmt, 2) != 0;
	strv_split(&found.results, db_text(stmt, 3), '\n');
	db_reset(stmt);
	*idempotency_r = found;
	return 1;
}

void store_idempotency_clear(struct idempotency *idempotency)
{
	strv_free(&idempotency->results);
	*idempotency = (struct idempotency){0};
}

static int remove_own_old(struct db *db, const struct idempotency_key *key,
	int64_t now_us, struct err *err)
{
	static const char sql_remove[] =
		"DELETE FROM idempotency WHERE company_id = $company"
		" AND key_hash = $key AND created_us <= $expired";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_remove, &stmt, err) != 0)
		return -1;
	bind_key(stmt, key);
	db_bind_int(stmt, "$expired", expired_us(now_us));
	return store_row_change(db, stmt, err) < 0 ? -1 : 0;
}

int store_idempotency_clean(
	struct db *db, int64_t now_us, int max, struct err *err)
{
	static const char sql_clean[] =
		"DELETE FROM idempotency WHERE (company_id, key_hash) IN"
		" (SELECT company_id, key_hash FROM idempotency"
		" WHERE created_us <= $expired"
		" ORDER BY created_us LIMIT $max)";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_clean, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$expired", expired_us(now_us));
	db_bind_int(stmt, "$max", max);
	return db_run(stmt, err) != 0 ? -1 : (int)db_changes(db);
}

static int insert(struct db *db, const struct idempotency_key *key,
	const struct idempotency *idempotency, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO idempotency (company_id, key_hash, payload,"
		" created_us, settled, results)"
		" VALUES ($company, $key, $payload, $created, $settled,"
		" $results)";
	_cleanup_free_ char *results = strv_join(&idempotency->results, "\n");
	struct db_stmt *stmt;

	if (db_prepare(db, sql_insert, &stmt, err) != 0)
		return -1;
	bind_key(stmt, key);
	db_bind_blob(stmt, "$payload", idempotency->payload, SECRET_HASH_LEN);
	db_bind_int(stmt, "$created", idempotency->created_us);
	db_bind_int(stmt, "$settled", idempotency->settled);
	db_bind_text(stmt, "$results", results);
	return db_run(stmt, err);
}

int store_idempotency_add(struct db *db, const struct idempotency_key *key,
	const struct idempotency *idempotency, struct err *err)
{
	int64_t now_us = idempotency->created_us;

	if (store_row_check_lines("results", &idempotency->results, err) != 0 ||
		remove_own_old(db, key, now_us, err) != 0 ||
		store_idempotency_clean(db, now_us, CLEANED_AT_ONCE, err) < 0)
		return -1;
	return insert(db, key, idempotency, err);
}

int store_idempotency_settle(struct db *db, const struct idempotency_key *key,
	const struct idempotency *idempotency, struct err *err)
{
	static const char sql_settle[] =
		"UPDATE idempotency SET settled = $settled, results = $results"
		" WHERE company_id = $company AND key_hash = $key";
	_cleanup_free_ char *results = NULL;
	struct db_stmt *stmt;

	if (store_row_check_lines("results", &idempotency->results, err) != 0 ||
		db_prepare(db, sql_settle, &stmt, err) != 0)
		return -1;
	results = strv_join(&idempotency->results, "\n");
	bind_key(stmt, key);
	db_bind_int(stmt, "$settled", idempotency->settled);
	db_bind_text(stmt, "$results", results);
	return store_row_change(db, stmt, err);
}

int store_idempotency_remove(
	struct db *db, const struct idempotency_key *key, struct err *err)
{
	static const char sql_remove[] =
		"DELETE FROM idempotency WHERE company_id = $company"
		" AND key_hash = $key";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_remove, &stmt, err) != 0)
		return -1;
	bind_key(stmt, key);
	return store_row_change(db, stmt, err);
}
