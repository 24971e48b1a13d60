/*
 * store_session: the rows of the table admin_session.
 *
 * Tokens and links have entries in the audit log; browser sessions do not, since postern-httpd logs
 * each login.
 */
#include "core/store/user/store_session.h"

#include <limits.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/row.h"
#include "core/store/store_audit.h"

enum {
	CLEAN_MAX = 100,
	SESSION_KEPT = 100, /* per user, for browser sessions and for links */
};

static const char *const kinds[SESSION_KINDS] = {
	[SESSION_BROWSER] = "browser",
	[SESSION_TOKEN] = "token",
	[SESSION_LINK] = "link",
};
static const struct row_words kind_words = {kinds, SESSION_KINDS, false};

static const struct row_field session_fields[] = {
	ROW_FIELD(session, id, ROW_ID),
	ROW_WORD(session, kind, ROW_ENUM, "kind", &kind_words),
	ROW_FIELD(session, name, ROW_TEXT),
	ROW_FIELD(session, origin, ROW_TEXT),
	ROW_FIELD(session, created_us, ROW_TIME),
	ROW_FIELD(session, expires_us, ROW_TIME),
	ROW_FIELD(session, last_used_us, ROW_TIME),
	ROW_FIELD(session, user_id, ROW_ID),
	ROW_FIELD(session, company_id, ROW_ID),
	ROW_FIELD(session, login, ROW_TEXT),
	ROW_WORD(session, role, ROW_ENUM, "role", &store_user_roles),
};
static const struct row_type session_type = ROW_TYPE(session, session_fields);

static const struct row_field token_fields[] = {
	ROW_FIELD(session, id, ROW_ID),
	ROW_FIELD(session, name, ROW_TEXT),
	ROW_FIELD(session, user_id, ROW_ID),
	ROW_FIELD(session, login, ROW_TEXT),
	ROW_FIELD(session, created_us, ROW_TIME),
	ROW_FIELD(session, expires_us, ROW_TIME),
	ROW_FIELD(session, last_used_us, ROW_TIME),
};
const struct row_type store_token_type = {.name = "token",
	.size = sizeof(struct session),
	.fields = token_fields,
	.n = ARRAY_SIZE(token_fields),
	.whole = &session_type};

static const struct row_field browser_fields[] = {
	ROW_FIELD(session, id, ROW_ID),
	ROW_FIELD(session, current, ROW_BOOL),
	ROW_FIELD(session, origin, ROW_TEXT),
	ROW_FIELD(session, created_us, ROW_TIME),
	ROW_FIELD(session, last_used_us, ROW_TIME),
	ROW_FIELD(session, expires_us, ROW_TIME),
};
const struct row_type store_browser_type = {.name = "browser_session",
	.size = sizeof(struct session),
	.fields = browser_fields,
	.n = ARRAY_SIZE(browser_fields),
	.whole = &session_type};

/* Older versions stored the creation time as last_used_us of a new token: it means never used. */
#define SESSION_SELECT                                                                             \
	"SELECT s.id, s.kind, s.name, s.origin, s.created_us, s.expires_us,"                       \
	" iif(s.kind = 'token' AND s.last_used_us = s.created_us, 0, s.last_used_us)"              \
	" AS last_used_us,"                                                                        \
	" s.user_id, coalesce(u.company_id, '') AS company_id, u.login, u.role"                    \
	" FROM admin_session s"                                                                    \
	" JOIN admin_user u ON u.id = s.user_id"
/* A browser session or a link that was last used an hour from now is of a clock that was put back,
 * and would be valid until the old time comes. */
#define IS_GOOD                                                                                    \
	" AND (s.expires_us = 0 OR s.expires_us > $now)"                                           \
	" AND (s.kind = 'token' OR s.last_used_us <= $now + 3600000000)"

static int insert_session(struct db *db, const struct session *session,
	const struct session_spec *spec, const uint8_t hash[static SECRET_HASH_LEN],
	struct err *err)
{
	static const char *const actions[SESSION_KINDS] = {
		[SESSION_TOKEN] = "token.create", [SESSION_LINK] = "link.create"};
	static const char sql_insert[] =
		"INSERT INTO admin_session (id, user_id, company_id, kind, hash, name, origin,"
		"   made_by, created_us, expires_us, last_used_us)"
		" VALUES ($id, $user_id, nullif($company_id, ''), $kind, $hash, $name, $origin,"
		"   $made_by, $created_us, $expires_us, $last_used_us)";
	static const char sql_login[] = "UPDATE admin_user SET last_login_us = $now WHERE id = $id";

	if (actions[session->kind] && !spec->of_change)
		return audit_change(db,
			&(struct audit_change){.action = actions[session->kind],
				.type = &session_type,
				.name = session->kind == SESSION_TOKEN ? "name" : "login",
				.sql = sql_insert,
				.params = DB_PARAMS(DB_BLOB("$hash", hash, SECRET_HASH_LEN),
					DB_TEXT("$made_by", spec->made_by)),
				.item = session},
			err);
	if (row_write(db, sql_insert,
		    DB_PARAMS(DB_BLOB("$hash", hash, SECRET_HASH_LEN),
			    DB_TEXT("$made_by", spec->made_by)),
		    &session_type, session, err) < 0)
		return -1;
	if (session->kind != SESSION_BROWSER)
		return 0;
	return db_change(db, sql_login,
		DB_PARAMS(DB_INT("$now", session->created_us), DB_TEXT("$id", session->user_id)),
		err);
}

struct creation {
	const char *user_id;
	const uint8_t *link; /* the link to end; NULL: none */
	const struct session_spec *spec;
	const uint8_t *hash;
	int64_t now_us;
	struct session *session_r;
};

static int create_session(struct db *db, void *arg, struct err *err)
{
	static const char sql_clean[] =
		"DELETE FROM admin_session"
		" WHERE id IN (SELECT id"
		"   FROM admin_session"
		"   WHERE expires_us > 0 AND expires_us <= $now"
		"   LIMIT $max)";
	/* Keeps the newest sessions of a user who logs in, or creates links, again and again. */
	static const char sql_drop[] =
		"DELETE FROM admin_session"
		" WHERE id IN (SELECT id"
		"   FROM admin_session"
		"   WHERE user_id = $user AND kind = $kind"
		"   ORDER BY created_us DESC, id DESC"
		"   LIMIT 9223372036854775807 OFFSET $keep)";
	const struct creation *creation = arg;
	const struct session_spec *spec = creation->spec;
	struct session session = {
		.kind = spec->kind,
		.created_us = creation->now_us,
		.expires_us = spec->expires_us,
		.last_used_us = spec->kind == SESSION_TOKEN ? 0 : creation->now_us,
	};
	struct user user;
	int found;

	if (db_change(db, sql_clean,
		    DB_PARAMS(DB_INT("$now", creation->now_us), DB_INT("$max", CLEAN_MAX)),
		    err) < 0)
		return -1;
	found = store_user_find(db, NULL, creation->user_id, &user, err);
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no user %s", creation->user_id);
	if (found < 0)
		return -1;
	id_new(session.id);
	memcpy(session.user_id, user.id, ID_SIZE);
	memcpy(session.company_id, user.company_id, ID_SIZE);
	session.role = user.role;
	session.login = TAKE_PTR(user.login);
	session.name = mem_strdup(spec->name ? spec->name : "");
	session.origin = row_bounded(spec->origin);
	store_user_clear(&user);
	if (insert_session(db, &session, spec, creation->hash, err) < 0 ||
		(session.kind != SESSION_TOKEN &&
			db_change(db, sql_drop,
				DB_PARAMS(DB_TEXT("$user", session.user_id),
					DB_TEXT("$kind", kinds[session.kind]),
					DB_INT("$keep", SESSION_KEPT)),
				err) < 0)) {
		store_session_clear(&session);
		return -1;
	}
	*creation->session_r = session;
	return 1;
}

int store_session_create(struct db *db, const char *user_id, const struct session_spec *spec,
	const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us, struct session *session_r,
	struct err *err)
{
	struct creation creation = {user_id, NULL, spec, hash, now_us, session_r};

	if (spec->kind == SESSION_TOKEN) {
		if (str_empty(spec->name))
			return err_set(err, ERR_INVALID, "the token's name is empty");
		if (row_check_name("the token's name", spec->name, err) < 0)
			return -1;
	}
	return db_atomic(db, create_session, &creation, err) < 0 ? -1 : 0;
}

int store_session_find(struct db *db, const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us,
	int64_t idle_us, struct session *session_r, struct err *err)
{
	static const char sql_find[] = SESSION_SELECT
		" WHERE s.hash = $hash"
		" AND s.kind <> 'link'" IS_GOOD
		" AND (s.kind = 'token' OR s.last_used_us >= $idle)";

	return row_get(db, sql_find,
		DB_PARAMS(DB_BLOB("$hash", hash, SECRET_HASH_LEN), DB_INT("$now", now_us),
			DB_INT("$idle", idle_us)),
		&session_type, session_r, err);
}

int store_session_is_good(struct db *db, const char *id, int64_t now_us, int64_t idle_us,
	enum user_role *role_r, struct err *err)
{
	static const char sql_good[] = SESSION_SELECT
		" WHERE s.id = $id" IS_GOOD " AND (s.kind = 'token' OR s.last_used_us >= $idle)";
	struct session session;
	int found = row_get(db, sql_good,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$now", now_us), DB_INT("$idle", idle_us)),
		&session_type, &session, err);

	if (found > 0) {
		*role_r = session.role;
		store_session_clear(&session);
	}
	return found;
}

static int find_link(struct db *db, const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us,
	struct session *link_r, struct err *err)
{
	static const char sql_find[] = SESSION_SELECT
		" WHERE s.hash = $hash AND s.kind = 'link'" IS_GOOD;

	return row_get(db, sql_find,
		DB_PARAMS(DB_BLOB("$hash", hash, SECRET_HASH_LEN), DB_INT("$now", now_us)),
		&session_type, link_r, err);
}

int store_session_find_link(
	struct db *db, const uint8_t link[static SECRET_HASH_LEN], int64_t now_us, struct err *err)
{
	struct session session;
	int found = find_link(db, link, now_us, &session, err);

	if (found > 0)
		store_session_clear(&session);
	return found;
}

static int redeem_link(struct db *db, void *arg, struct err *err)
{
	const struct creation *creation = arg;
	struct creation login = *creation;
	struct session link;
	int found = find_link(db, creation->link, creation->now_us, &link, err);

	if (found <= 0)
		return found;
	login.user_id = link.user_id;
	found = store_session_end(db, link.id, err);
	if (found > 0)
		found = create_session(db, &login, err);
	store_session_clear(&link);
	return found;
}

int store_session_redeem(struct db *db, const uint8_t link[static SECRET_HASH_LEN],
	const struct session_spec *spec, const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us,
	struct session *session_r, struct err *err)
{
	struct creation creation = {NULL, link, spec, hash, now_us, session_r};

	return db_atomic(db, redeem_link, &creation, err);
}

int store_session_touch(struct db *db, const char *id, int64_t now_us, struct err *err)
{
	static const char sql_touch[] =
		"UPDATE admin_session"
		" SET last_used_us = $now"
		" WHERE id = $id AND last_used_us < $now";

	return db_execute(
		db, sql_touch, DB_PARAMS(DB_INT("$now", now_us), DB_TEXT("$id", id)), err);
}

/* A page of sessions, newest first. */
static int list_sessions(struct db *db, const struct row_pager *pager,
	const struct db_param *params, const struct page *page, struct session_list *list_r,
	struct page_end *end_r, struct err *err)
{
	return row_page(db,
		ROW_LIST(.pager = pager, .params = params, .type = &session_type, .page = page,
			ROW_INTO(list_r), .end_r = end_r),
		err);
}

int store_session_list_tokens(struct db *db, const char *company_id, const struct page *page,
	struct session_list *list_r, struct page_end *end_r, struct err *err)
{
#define TOKENS     " WHERE s.kind = 'token'"
#define OF_COMPANY " AND s.company_id = $company"
#define PLACE(condition)                                                                           \
	"SELECT s.created_us"                                                                      \
	" FROM admin_session s" TOKENS condition " AND s.id = $id"
/* clang-format off */
#define PAGE(condition)                                                         \
	SESSION_SELECT TOKENS condition                                         \
	" AND (s.created_us, s.id) < ($created, $id)"                           \
	" ORDER BY s.created_us DESC, s.id DESC"                                \
	" LIMIT $limit"
	/* clang-format on */
	static const char sql_place[] = PLACE("");
	static const char sql_older[] = PAGE("");
	static const char sql_place_of[] = PLACE(OF_COMPANY);
	static const char sql_older_of[] = PAGE(OF_COMPANY);
#undef PAGE
#undef PLACE
#undef OF_COMPANY
#undef TOKENS
	static const struct row_pager all = {sql_place, sql_older, NULL, ROW_BY_CREATED};
	static const struct row_pager own = {sql_place_of, sql_older_of, NULL, ROW_BY_CREATED};

	return list_sessions(db, company_id ? &own : &all,
		DB_PARAMS(DB_GIVEN_TEXT("$company", company_id)), page, list_r, end_r, err);
}

int store_session_count_tokens(
	struct db *db, const char *user_id, int64_t now_us, int64_t *n_r, struct err *err)
{
	static const char sql_count[] =
		"SELECT count(*)"
		" FROM admin_session s"
		" WHERE s.user_id = $user AND s.kind = 'token'" IS_GOOD;

	return row_value(db, sql_count,
		DB_PARAMS(DB_TEXT("$user", user_id), DB_INT("$now", now_us)), n_r, err);
}

struct revocation {
	const char *company_id;
	const char *id;
};

static int revoke_token_tree(struct db *db, void *arg, struct err *err)
{
	static const char sql_get[] = SESSION_SELECT
		" WHERE s.id = $id"
		" AND s.kind = 'token'"
		" AND ($company IS NULL OR u.company_id = $company)";
	static const char sql_made[] = SESSION_SELECT
		" WHERE s.id IN (WITH RECURSIVE made (id) AS (SELECT m.id"
		"     FROM admin_session m"
		"     WHERE m.made_by = $maker"
		"     UNION SELECT m.id"
		"     FROM made"
		"     CROSS JOIN admin_session m ON m.made_by = made.id)"
		"   SELECT id"
		"   FROM made)"
		" LIMIT $limit";
	static const char sql_remove[] = "DELETE FROM admin_session WHERE id = $id";
	const struct revocation *token = arg;
	int left = INT_MAX;
	int revoked = audit_change(db,
		&(struct audit_change){.action = "token.revoke",
			.type = &session_type,
			.name = "name",
			.sql = sql_remove,
			.params = DB_PARAMS(DB_TEXT("$id", token->id)),
			.sql_get = sql_get,
			.key = DB_PARAMS(
				DB_TEXT("$id", token->id), DB_TEXT("$company", token->company_id))},
		err);

	if (revoked <= 0)
		return revoked;
	return audit_remove(db,
		       &(struct audit_change){.action = "token.revoke",
			       .type = &session_type,
			       .name = "name",
			       .sql = sql_remove,
			       .sql_get = sql_made,
			       .key = DB_PARAMS(DB_TEXT("$maker", token->id))},
		       &left, err) < 0
		       ? -1
		       : 1;
}

int store_session_revoke_token(
	struct db *db, const char *company_id, const char *id, struct err *err)
{
	struct revocation token = {company_id, id};

	return db_atomic(db, revoke_token_tree, &token, err);
}

int store_session_revoke_tokens(struct db *db, const char *user_id, struct err *err)
{
	static const char sql_get[] = SESSION_SELECT
		" WHERE s.user_id = $user AND s.kind = 'token' LIMIT $limit";
	static const char sql_remove[] = "DELETE FROM admin_session WHERE id = $id";
	int left = INT_MAX;

	return audit_remove(db,
		&(struct audit_change){.action = "token.revoke",
			.type = &session_type,
			.name = "name",
			.sql = sql_remove,
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$user", user_id))},
		&left, err);
}

int store_session_list_browsers(struct db *db, const char *user_id, int64_t now_us, int64_t idle_us,
	const struct page *page, struct session_list *list_r, struct page_end *end_r,
	struct err *err)
{
#define OWN_BROWSERS                                                                               \
	" WHERE s.user_id = $user AND s.kind = 'browser' AND s.last_used_us >= $idle" IS_GOOD
	static const char sql_place[] = "SELECT s.created_us FROM admin_session s" OWN_BROWSERS
					" AND s.id = $id";
	static const char sql_older[] = SESSION_SELECT OWN_BROWSERS
		" AND (s.created_us, s.id) < ($created, $id)"
		" ORDER BY s.created_us DESC, s.id DESC"
		" LIMIT $limit";
#undef OWN_BROWSERS
	static const struct row_pager pager = {sql_place, sql_older, NULL, ROW_BY_CREATED};

	return list_sessions(db, &pager,
		DB_PARAMS(DB_TEXT("$user", user_id), DB_INT("$now", now_us),
			DB_INT("$idle", idle_us)),
		page, list_r, end_r, err);
}

int store_session_end_browser(struct db *db, const char *user_id, const char *id, struct err *err)
{
	static const char sql_end[] =
		"DELETE FROM admin_session"
		" WHERE id = $id AND user_id = $user AND kind = 'browser'";

	return db_change(
		db, sql_end, DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$user", user_id)), err);
}

int store_session_end_all(struct db *db, const char *user_id, const char *keep, struct err *err)
{
	static const char sql_end[] =
		"DELETE FROM admin_session"
		" WHERE user_id = $id AND kind <> 'token' AND ($keep IS NULL OR id <> $keep)";

	return db_execute(
		db, sql_end, DB_PARAMS(DB_TEXT("$id", user_id), DB_TEXT("$keep", keep)), err);
}

int store_session_end(struct db *db, const char *id, struct err *err)
{
	static const char sql_end[] = "DELETE FROM admin_session WHERE id = $id";

	return db_change(db, sql_end, DB_PARAMS(DB_TEXT("$id", id)), err);
}

void store_session_clear(struct session *session)
{
	row_clear(&session_type, session);
}
