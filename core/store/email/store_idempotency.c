/*
 * store_idempotency: the rows of the table idempotency.
 */
#include "core/store/email/store_idempotency.h"

#include <string.h>

#include "core/store/row.h"

/* Two expired rows are removed for each new one, so that their number falls. */
enum { CLEANED_AT_ONCE = 2 };

/* Rows created at or before this time have expired. */
static int64_t expired_us(int64_t now_us)
{
	return now_us - (int64_t)STORE_IDEMPOTENCY_KEEP_S * 1000000;
}

static const struct row_field idempotency_fields[] = {
	ROW_FIELD(idempotency, payload, ROW_HASH),
	ROW_FIELD(idempotency, created_us, ROW_INT64),
	ROW_FIELD(idempotency, settled, ROW_BOOL),
	ROW_FIELD(idempotency, results, ROW_LINES),
};
static const struct row_type idempotency_type = ROW_TYPE(idempotency, idempotency_fields);

/* The parameters of a row, followed by others. */
#define KEY_PARAMS(key, ...)                                                                       \
	DB_PARAMS(DB_TEXT("$company", (key)->company_id),                                          \
		DB_BLOB("$key", (key)->hash, SECRET_HASH_LEN), ##__VA_ARGS__)

int store_idempotency_find(struct db *db, const struct idempotency_key *key, int64_t now_us,
	struct idempotency *idempotency_r, struct err *err)
{
	static const char sql_find[] =
		"SELECT payload, created_us, settled, results"
		" FROM idempotency"
		" WHERE company_id = $company AND key_hash = $key AND created_us > $expired";

	return row_get(db, sql_find, KEY_PARAMS(key, DB_INT("$expired", expired_us(now_us))),
		&idempotency_type, idempotency_r, err);
}

void store_idempotency_clear(struct idempotency *idempotency)
{
	row_clear(&idempotency_type, idempotency);
}

char *store_idempotency_refusal(const char *why)
{
	char *line = mem_printf("!%s", why);

	for (char *p = line; *p; p++)
		if (*p == '\n')
			*p = ' ';
	return line;
}

int store_idempotency_clean(struct db *db, int64_t now_us, int max, struct err *err)
{
	static const char sql_clean[] =
		"DELETE FROM idempotency"
		" WHERE (company_id, key_hash) IN (SELECT company_id, key_hash"
		"   FROM idempotency"
		"   WHERE created_us <= $expired"
		"   ORDER BY created_us"
		"   LIMIT $max)";

	return db_change(db, sql_clean,
		DB_PARAMS(DB_INT("$expired", expired_us(now_us)), DB_INT("$max", max)), err);
}

int store_idempotency_add(struct db *db, const struct idempotency_key *key,
	const struct idempotency *idempotency, struct err *err)
{
	static const char sql_expired[] =
		"DELETE FROM idempotency"
		" WHERE company_id = $company AND key_hash = $key AND created_us <= $expired";
	static const char sql_insert[] =
		"INSERT INTO idempotency (company_id, key_hash, payload, created_us, settled,"
		"   results)"
		" VALUES ($company, $key, $payload, $created_us, $settled, $results)";
	int64_t now_us = idempotency->created_us;

	if (db_change(db, sql_expired, KEY_PARAMS(key, DB_INT("$expired", expired_us(now_us))),
		    err) < 0 ||
		store_idempotency_clean(db, now_us, CLEANED_AT_ONCE, err) < 0 ||
		row_write(db, sql_insert, KEY_PARAMS(key), &idempotency_type, idempotency, err) < 0)
		return -1;
	return 0;
}

int store_idempotency_settle(struct db *db, const struct idempotency_key *key,
	const struct idempotency *idempotency, struct err *err)
{
	static const char sql_settle[] =
		"UPDATE idempotency"
		" SET settled = $settled, results = $results"
		" WHERE company_id = $company AND key_hash = $key";

	return row_write(db, sql_settle, KEY_PARAMS(key), &idempotency_type, idempotency, err);
}

int store_idempotency_remove(struct db *db, const struct idempotency_key *key, struct err *err)
{
	static const char sql_remove[] =
		"DELETE FROM idempotency"
		" WHERE company_id = $company AND key_hash = $key";

	return db_change(db, sql_remove, KEY_PARAMS(key), err);
}
