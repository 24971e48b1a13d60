/*
 * store_key: the rows of the table api_key.
 */
#include "core/store/company/store_key.h"

#include <assert.h>
#include <string.h>

#include "core/base/str.h"
#include "core/base/strv.h"
#include "core/store/store_audit.h"

enum { FORGET_MAX = 10 };

/* The words of enum key_scope, from bit 0 on. */
static const char *const scopes_known[] = {"sending", "reading", "managing"};
static const struct row_words scope_words = {scopes_known, ARRAY_SIZE(scopes_known), false};

static const struct row_field key_fields[] = {
	ROW_FIELD(key, id, ROW_ID),
	ROW_FIELD(key, company_id, ROW_ID),
	ROW_FIELD(key, domain, ROW_TEXT),
	ROW_FIELD(key, name, ROW_TEXT),
	ROW_WORD(key, scopes, ROW_SET, "scopes", &scope_words),
	ROW_FIELD(key, created_us, ROW_TIME),
	ROW_FIELD(key, last_used_us, ROW_TIME),
	ROW_FIELD(key, revoked_us, ROW_TIME),
};
const struct row_type store_key_type = ROW_TYPE(key, key_fields);

/* Keys as `k`, the domain that a key is restricted to as `d`. */
#define KEY_SELECT                                                                                 \
	"SELECT k.id, k.company_id, d.name AS domain, k.name, k.scopes,"                           \
	" k.created_us, k.last_used_us, k.revoked_us"                                              \
	" FROM api_key k"                                                                          \
	" LEFT JOIN domain d ON d.id = k.domain_id"

/* Changes the key with the id. If it belongs to another company, only its company is read, so the
 * time taken does not reveal that it exists. */
static int change_key(struct db *db, const char *action, const char *company_id, const char *id,
	const char *sql, const struct db_param *params, struct err *err)
{
	static const char sql_get[] = KEY_SELECT
		" WHERE k.id = $id AND ($company IS NULL OR k.company_id = $company)";

	return audit_change(db,
		&(struct audit_change){.action = action,
			.type = &store_key_type,
			.name = "name",
			.sql = sql,
			.params = params,
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$company", company_id))},
		err);
}

int store_key_create(struct db *db, const struct key_spec *spec,
	const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us, struct key *key_r,
	struct err *err)
{
	/* The statement itself checks company and domain, so nothing can change in between. */
	static const char sql_insert[] =
		"INSERT INTO api_key (id, company_id, domain_id, name, hash, scopes, created_us)"
		" SELECT $id, c.id, d.id, $name, $hash, $scopes, $created_us"
		" FROM company c"
		" LEFT JOIN domain d  ON d.company_id = c.id AND d.name = $domain"
		" WHERE c.id = $company_id  AND ($domain IS NULL OR d.id IS NOT NULL)";
	static const char sql_company[] = "SELECT name FROM company WHERE id = $company";
	struct key key = {.scopes = spec->scopes, .created_us = now_us};
	_cleanup_free_ char *company = NULL;
	int added;

	if (spec->scopes == 0 || (spec->scopes & ~(unsigned)KEY_ALL) != 0)
		return err_set(
			err, ERR_INVALID, "the key needs a scope: sending, reading or managing");
	if (row_check_name("the key's name", spec->name, err) != 0)
		return -1;
	id_new(key.id);
	*stpncpy(key.company_id, spec->company_id, ID_SIZE - 1) = '\0';
	key.name = mem_strdup(spec->name);
	key.domain = mem_strdup(spec->domain);
	added = audit_change(db,
		&(struct audit_change){.action = "key.create",
			.type = &store_key_type,
			.name = "name",
			.sql = sql_insert,
			.params = DB_PARAMS(DB_BLOB("$hash", hash, SECRET_HASH_LEN)),
			.item = &key},
		err);
	if (added == 0 &&
		row_text(db, sql_company, DB_PARAMS(DB_TEXT("$company", spec->company_id)),
			&company, err) >= 0)
		added = company ? err_set(err, ERR_NOT_FOUND, "the company \"%s\" has no domain %s",
					  company, spec->domain)
				: err_set(err, ERR_NOT_FOUND, "there is no company %s",
					  spec->company_id);
	if (added <= 0) {
		store_key_clear(&key);
		return -1;
	}
	*key_r = key;
	return 0;
}

static const char sql_valid[] = KEY_SELECT " WHERE k.hash = $hash AND k.revoked_us = 0";

void store_key_find_ahead(struct db *db, const uint8_t hash[static SECRET_HASH_LEN])
{
	db_read_ahead(db, sql_valid, DB_PARAMS(DB_BLOB("$hash", hash, SECRET_HASH_LEN)));
}

int store_key_find(struct db *db, const uint8_t hash[static SECRET_HASH_LEN], struct key *key_r,
	struct err *err)
{
	return row_get(db, sql_valid, DB_PARAMS(DB_BLOB("$hash", hash, SECRET_HASH_LEN)),
		&store_key_type, key_r, err);
}

int store_key_get(
	struct db *db, const char *company_id, const char *id, struct key *key_r, struct err *err)
{
	static const char sql_get[] = KEY_SELECT
		" WHERE k.id = $id"
		" AND k.revoked_us = 0"
		" AND ($company IS NULL OR k.company_id = $company)";

	return row_get(db, sql_get, DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$company", company_id)),
		&store_key_type, key_r, err);
}

int store_key_find_any(
	struct db *db, const char *company_id, const char *id, struct key *key_r, struct err *err)
{
	static const char sql_find[] = KEY_SELECT
		" WHERE k.id = $id AND ($company IS NULL OR k.company_id = $company)";

	return row_get(db, sql_find, DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$company", company_id)),
		&store_key_type, key_r, err);
}

static const struct row_field login_fields[] = {
	ROW_FIELD(key_login, key_id, ROW_ID),
	ROW_FIELD(key_login, company_id, ROW_ID),
	ROW_FIELD(key_login, key_domain, ROW_TEXT),
	ROW_WORD(key_login, scopes, ROW_SET, "scopes", &scope_words),
	ROW_FIELD(key_login, last_used_us, ROW_TIME),
	ROW_FIELD(key_login, domain_owned, ROW_BOOL),
	ROW_FIELD(key_login, domain_active, ROW_BOOL),
	ROW_FIELD(key_login, return_path, ROW_TEXT),
	ROW_FIELD(key_login, unsubscribe, ROW_BOOL),
	ROW_FIELD(key_login, paused, ROW_BOOL),
	ROW_FIELD(key_login, suppresses, ROW_BOOL),
};
static const struct row_type login_type = ROW_TYPE(key_login, login_fields);

int store_key_login(struct db *db, const char *id, const char *domain, struct key_login *login_r,
	struct err *err)
{
	static const char sql_login[] =
		"SELECT k.id AS key_id, k.company_id, bound.name AS key_domain, k.scopes,"
		" k.last_used_us, d.id IS NOT NULL AS domain_owned,"
		" coalesce(d.active, 0) AS domain_active, d.return_path,"
		" coalesce(d.unsubscribe, 'off') = 'on' AS unsubscribe,"
		" EXISTS (SELECT 1"
		"   FROM outbox_pause p"
		"   WHERE p.company_id = k.company_id"
		"   AND (p.key_id IS NULL OR p.key_id = k.id)"
		"   AND (p.domain_id IS NULL OR p.domain_id = d.id)) AS paused,"
		" EXISTS (SELECT 1"
		"   FROM company_count n"
		"   WHERE n.company_id = k.company_id AND n.kind = 'suppressions' AND n.count > 0)"
		" AS suppresses"
		" FROM api_key k"
		" LEFT JOIN domain bound ON bound.id = k.domain_id"
		" LEFT JOIN domain d ON d.company_id = k.company_id AND d.name = $domain"
		" WHERE k.id = $id"
		" AND k.revoked_us = 0";

	return row_get(db, sql_login, DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$domain", domain)),
		&login_type, login_r, err);
}

void store_key_login_clear(struct key_login *login)
{
	row_clear(&login_type, login);
}

/* One valid key of a range. */
#define OWN                                                                                        \
	" WHERE id = $id"                                                                          \
	" AND revoked_us = 0"                                                                      \
	" AND ($company IS NULL OR company_id = $company)"                                         \
	" AND ($domain IS NULL OR domain_id = (SELECT d.id"                                        \
	"     FROM domain d"                                                                       \
	"     WHERE d.company_id = $company AND d.name = $domain))"

int store_key_revoke(struct db *db, const struct key_range *range, const char *id, int64_t now_us,
	struct err *err)
{
	static const char sql_revoke[] = "UPDATE api_key SET revoked_us = $now" OWN;

	return change_key(db, "key.revoke", range->company_id, id, sql_revoke,
		DB_PARAMS(DB_INT("$now", now_us), DB_TEXT("$id", id),
			DB_TEXT("$company", range->company_id), DB_TEXT("$domain", range->domain)),
		err);
}

int store_key_rename(struct db *db, const struct key_range *range, const char *id, const char *name,
	struct err *err)
{
	static const char sql_rename[] = "UPDATE api_key SET name = $name" OWN;

	if (row_check_name("the key's name", name, err) != 0)
		return -1;
	return change_key(db, "key.rename", range->company_id, id, sql_rename,
		DB_PARAMS(DB_TEXT("$name", name), DB_TEXT("$id", id),
			DB_TEXT("$company", range->company_id), DB_TEXT("$domain", range->domain)),
		err);
}

static const char sql_remove[] = "DELETE FROM api_key WHERE id = $id";

int store_key_remove_some(
	struct db *db, const char *company_id, const char *domain_id, int *left, struct err *err)
{
	static const char sql_of_company[] = KEY_SELECT
		" WHERE k.company_id = $company"
		" ORDER BY k.created_us, k.id"
		" LIMIT $limit";
	static const char sql_of_domain[] = KEY_SELECT
		" WHERE k.company_id = (SELECT company_id FROM domain WHERE id = $domain)"
		" AND k.domain_id = $domain"
		" LIMIT $limit";

	return audit_remove(db,
		&(struct audit_change){.action = "key.remove",
			.type = &store_key_type,
			.name = "name",
			.sql = sql_remove,
			.sql_get = domain_id ? sql_of_domain : sql_of_company,
			.key = DB_PARAMS(DB_GIVEN_TEXT("$company", company_id),
				DB_GIVEN_TEXT("$domain", domain_id))},
		left, err);
}

int store_key_forget_revoked(struct db *db, const char *company_id, int64_t keep, struct err *err)
{
	/* Skips those that are kept, which are the newest. */
	static const char sql_old[] = KEY_SELECT
		" WHERE k.id IN (SELECT o.id"
		"   FROM api_key o"
		"   WHERE o.company_id = $company AND o.revoked_us > 0"
		"   ORDER BY o.revoked_us DESC, o.id DESC"
		"   LIMIT $limit OFFSET $keep)";

	int left = FORGET_MAX;

	return audit_remove(db,
		&(struct audit_change){.action = "key.remove",
			.type = &store_key_type,
			.name = "name",
			.sql = sql_remove,
			.sql_get = sql_old,
			.key = DB_PARAMS(DB_TEXT("$company", company_id), DB_INT("$keep", keep))},
		&left, err);
}

int store_key_count(struct db *db, const char *company_id, const char *domain_id, int64_t *count_r,
	struct err *err)
{
	static const char sql_of_company[] =
		"SELECT count(*) FROM api_key WHERE company_id = $company";
	static const char sql_of_domain[] =
		"SELECT count(*)"
		" FROM api_key"
		" WHERE company_id = $company AND domain_id = $domain";

	return row_value(db, domain_id ? sql_of_domain : sql_of_company,
		DB_PARAMS(DB_TEXT("$company", company_id), DB_GIVEN_TEXT("$domain", domain_id)),
		count_r, err);
}

int store_key_touch(struct db *db, const char *id, int64_t now_us, struct err *err)
{
	static const char sql_touch[] =
		"UPDATE api_key"
		" SET last_used_us = $now"
		" WHERE id = $id AND last_used_us < $now";

	return db_execute(
		db, sql_touch, DB_PARAMS(DB_INT("$now", now_us), DB_TEXT("$id", id)), err);
}

static bool is_idle(const void *item, const void *arg)
{
	const struct key_filter *filter = arg;
	const struct key *key = item;

	return key->last_used_us == 0 ? key->created_us < filter->unused_us
				      : key->last_used_us < filter->forgotten_us;
}

int store_key_list(struct db *db, const struct key_filter *filter, const struct page *page,
	struct key_list *list_r, struct page_end *end_r, struct err *err)
{
#define OF_COMPANY "k.company_id = $company AND "
#define VALID      "k.revoked_us = 0 AND "
#define OF_DOMAIN                                                                                  \
	OF_COMPANY VALID                                                                           \
		"k.domain_id = (SELECT o.id"                                                       \
		"   FROM domain o"                                                                 \
		"   WHERE o.company_id = $company AND o.name = $domain) AND "
/* clang-format off */
#define PAGE(condition, side, created, order)                                  \
	KEY_SELECT                                                             \
	" WHERE " condition "(k.created_us, k.id) " side " (" created ", $id)" \
	" ORDER BY k.created_us " order ", k.id " order                        \
	" LIMIT $limit"
/* clang-format on */
#define CURSOR(condition) "SELECT k.created_us FROM api_key k WHERE " condition "k.id = $id"
#define PAGER(condition)                                                                           \
	{                                                                                          \
		CURSOR(condition), PAGE(condition, "<", "$created", "DESC"),                       \
			PAGE(condition, ">", "$created", "ASC"), ROW_BY_CREATED                    \
	}
/* The first page begins with what is old enough to be idle. */
#define FROM_OLD "CASE WHEN $created < $old THEN $created ELSE $old END"
#define OLD_PAGER(condition)                                                                       \
	{                                                                                          \
		.cursor = CURSOR(condition "k.created_us < $old AND "),                            \
		.older = PAGE(condition, "<", FROM_OLD, "DESC")                                    \
	}
	static const struct row_pager pagers[][2] = {
		{PAGER(""), PAGER(VALID)}, {PAGER(OF_COMPANY), PAGER(OF_COMPANY VALID)}};
	static const struct row_pager old[] = {OLD_PAGER(VALID), OLD_PAGER(OF_COMPANY VALID)};
	static const struct row_pager bound = PAGER(OF_DOMAIN);
#undef OLD_PAGER
#undef FROM_OLD
#undef PAGER
#undef CURSOR
#undef PAGE
#undef OF_DOMAIN
#undef VALID
#undef OF_COMPANY
	const bool is_one = filter->company_id != NULL;
	const bool is_for_idle = filter->unused_us || filter->forgotten_us;
	const int64_t old_us = filter->unused_us > filter->forgotten_us ? filter->unused_us
									: filter->forgotten_us;
	struct page kept = *page;

	if (is_for_idle) {
		assert(!page_backwards(page));
		kept.keeps = is_idle;
		kept.arg = filter;
	}
	return row_page(db,
		ROW_LIST(.pager = is_for_idle      ? &old[is_one]
				  : filter->domain ? &bound
						   : &pagers[is_one][filter->valid_only],
			.params = is_for_idle
					  ? DB_PARAMS(DB_GIVEN_TEXT("$company", filter->company_id),
						    DB_INT("$old", old_us))
					  : DB_PARAMS(DB_GIVEN_TEXT("$company", filter->company_id),
						    DB_GIVEN_TEXT("$domain", filter->domain)),
			.type = &store_key_type, .page = &kept, ROW_INTO(list_r), .end_r = end_r),
		err);
}

int store_key_idle(struct db *db, const char *company_id, int64_t unused_us, int64_t forgotten_us,
	struct key_idle *idle_r, struct err *err)
{
/* clang-format off */
#define COUNT(condition)                                                        \
	"SELECT count(*) FILTER (WHERE last_used_us = 0 AND created_us < $unused)" \
	"   AS unused,"                                                         \
	" count(*) FILTER (WHERE last_used_us > 0 AND last_used_us < $forgotten)" \
	"   AS forgotten"                                                       \
	" FROM (SELECT created_us, last_used_us"                                \
	"   FROM api_key"                                                       \
	"   WHERE " condition " revoked_us = 0"                                 \
	"   ORDER BY created_us"                                                \
	"   LIMIT $max) few"
	/* clang-format on */
	static const char sql_all[] = COUNT("");
	static const char sql_of[] = COUNT("company_id = $company AND");
#undef COUNT
	static const struct row_field fields[] = {
		ROW_FIELD(key_idle, unused, ROW_INT64),
		ROW_FIELD(key_idle, forgotten, ROW_INT64),
	};
	static const struct row_type type = ROW_TYPE(key_idle, fields);

	return row_get(db, company_id ? sql_of : sql_all,
		       DB_PARAMS(DB_GIVEN_TEXT("$company", company_id),
			       DB_INT("$unused", unused_us), DB_INT("$forgotten", forgotten_us),
			       DB_INT("$max", KEY_IDLE_LOOK)),
		       &type, idle_r, err) < 0
		       ? -1
		       : 0;
}

int store_key_scopes_parse(const char *text, unsigned *scopes_r, struct err *err)
{
	_cleanup_strv_ struct strv words = STRV_INIT;
	unsigned scopes = 0;

	strv_split(&words, text, ',');
	for (size_t i = 0; i < words.n; i++) {
		_cleanup_free_ char *word = str_trim(words.items[i], strlen(words.items[i]));

		size_t bit = row_word(&scope_words, word);

		if (bit == scope_words.n)
			return err_set(err, ERR_INVALID,
				"\"%s\" is no scope: these are sending, reading and managing",
				word);
		scopes |= 1u << bit;
	}
	if (scopes == 0)
		return err_set(err, ERR_INVALID,
			"no `scopes` are given: there are sending, reading and managing");
	*scopes_r = scopes;
	return 0;
}

void store_key_clear(struct key *key)
{
	row_clear(&store_key_type, key);
}
