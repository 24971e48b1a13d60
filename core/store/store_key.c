/*
 * store_key: the rows of the table api_key.
 *
 * Threads: a handle is used by one thread at a time; holds no state.
 */
#include <string.h>

#include "core/base/str.h"
#include "core/store/store_company.h"
#include "core/store/store_key_private.h"
#include "core/store/store_row.h"

void store_key_read_row(struct db_stmt *stmt, struct key *key)
{
	store_row_id(stmt, 0, key->id);
	store_row_id(stmt, 1, key->company_id);
	key->domain = db_copy(stmt, 2);
	key->name = db_copy(stmt, 3);
	key->scopes = (unsigned)db_int(stmt, 4);
	key->created_us = db_int(stmt, 5);
	key->last_used_us = db_int(stmt, 6);
	key->revoked_us = db_int(stmt, 7);
}

/* 1, or 0 when the company or its domain does not exist. The statement looks
 * for both itself, so that nothing can change in between. */
static int insert(struct db *db, const struct key_spec *spec,
	const uint8_t hash[static SECRET_HASH_LEN], const struct key *key,
	struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO api_key"
		" (id, company_id, domain_id, name, hash, scopes, created_us)"
		" SELECT $id, c.id, d.id, $name, $hash, $scopes, $created"
		" FROM company c LEFT JOIN domain d"
		"  ON d.company_id = c.id AND d.name = $domain"
		" WHERE c.id = $company"
		"  AND ($restricted = 0 OR d.id IS NOT NULL)";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_insert, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", key->id);
	db_bind_text(stmt, "$name", key->name);
	db_bind_blob(stmt, "$hash", hash, SECRET_HASH_LEN);
	db_bind_int(stmt, "$scopes", key->scopes);
	db_bind_int(stmt, "$created", key->created_us);
	db_bind_text(stmt, "$domain", spec->domain);
	db_bind_int(stmt, "$restricted", spec->domain != NULL);
	db_bind_text(stmt, "$company", spec->company_id);
	return store_row_change(db, stmt, err);
}

/* Which of the two there is not. */
static int explain_missing(
	struct db *db, const struct key_spec *spec, struct err *err)
{
	struct company company;
	int found = store_company_get(db, spec->company_id, &company, err);

	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no company %s",
			spec->company_id);
	err_set(err, ERR_NOT_FOUND, "the company \"%s\" has no domain %s",
		company.name, spec->domain);
	store_company_clear(&company);
	return -1;
}

static int check_spec(const struct key_spec *spec, struct err *err)
{
	if (spec->scopes == 0 || (spec->scopes & ~(unsigned)KEY_ALL) != 0)
		return err_set(err, ERR_INVALID,
			"the key needs a scope: sending, reading or managing");
	return store_row_check_name("the key's name", spec->name, err);
}

int store_key_create(struct db *db, const struct key_spec *spec,
	const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us,
	struct key *key_r, struct err *err)
{
	struct key key = {.scopes = spec->scopes, .created_us = now_us};
	int result;

	if (check_spec(spec, err) != 0)
		return -1;
	id_new(key.id);
	key.name = mem_strdup(spec->name);
	key.domain = mem_strdup(spec->domain);
	result = insert(db, spec, hash, &key, err);
	if (result == 0)
		result = explain_missing(db, spec, err);
	if (result < 0) {
		store_key_clear(&key);
		return -1;
	}
	*stpncpy(key.company_id, spec->company_id, ID_SIZE - 1) = '\0';
	*key_r = key;
	return 0;
}

int store_key_find(struct db *db, const uint8_t hash[static SECRET_HASH_LEN],
	struct key *key_r, struct err *err)
{
	static const char sql_find[] = KEY_SELECT
		" WHERE k.hash = $hash AND k.revoked_us = 0";
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_find, &stmt, err) != 0)
		return -1;
	db_bind_blob(stmt, "$hash", hash, SECRET_HASH_LEN);
	result = db_step(stmt, err);
	if (result == 1) {
		store_key_read_row(stmt, key_r);
		db_reset(stmt);
	}
	return result;
}

int store_key_revoke(
	struct db *db, const char *id, int64_t now_us, struct err *err)
{
	/* A key that is revoked again keeps its first time. */
	static const char sql_revoke[] =
		"UPDATE api_key SET revoked_us ="
		" CASE revoked_us WHEN 0 THEN $now ELSE revoked_us END"
		" WHERE id = $id";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_revoke, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$now", now_us);
	db_bind_text(stmt, "$id", id);
	return store_row_change(db, stmt, err);
}

/* One valid key of a range. */
#define OWN                                                                    \
	" WHERE id = $id AND company_id = $company AND revoked_us = 0"         \
	" AND ($domain IS NULL OR domain_id = (SELECT d.id"                    \
	" FROM domain d WHERE d.company_id = $company"                         \
	" AND d.name = $domain))"

static void bind_own(
	struct db_stmt *stmt, const struct key_range *range, const char *id)
{
	db_bind_text(stmt, "$id", id);
	db_bind_text(stmt, "$company", range->company_id);
	db_bind_text(stmt, "$domain", range->domain);
}

int store_key_revoke_own(struct db *db, const struct key_range *range,
	const char *id, int64_t now_us, struct err *err)
{
	static const char sql_revoke[] =
		"UPDATE api_key SET revoked_us = $now" OWN;
	struct db_stmt *stmt;

	if (db_prepare(db, sql_revoke, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$now", now_us);
	bind_own(stmt, range, id);
	return store_row_change(db, stmt, err);
}

int store_key_rename_own(struct db *db, const struct key_range *range,
	const char *id, const char *name, struct err *err)
{
	static const char sql_rename[] = "UPDATE api_key SET name = $name" OWN;
	struct db_stmt *stmt;

	if (store_row_check_name("the key's name", name, err) != 0 ||
		db_prepare(db, sql_rename, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$name", name);
	bind_own(stmt, range, id);
	return store_row_change(db, stmt, err);
}

int store_key_touch(struct db *db, const char *id, int64_t now_us, struct err *err)
{
	static const char sql_touch[] =
		"UPDATE api_key SET last_used_us = $now"
		" WHERE id = $id AND last_used_us < $now";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_touch, &stmt, err) != 0)
		return -1;
	db_bind_int(stmt, "$now", now_us);
	db_bind_text(stmt, "$id", id);
	return db_run(stmt, err);
}

void store_key_clear(struct key *key)
{
	free(key->domain);
	free(key->name);
	*key = (struct key){0};
}

void store_key_list_free(struct key_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		store_key_clear(&list->items[i]);
	free(list->items);
	*list = (struct key_list){0};
}
