/*
 * store_user: the rows of the tables admin_user and admin_recovery.
 */
#include "core/store/user/store_user.h"

#include <assert.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/store_audit.h"

static const char *const roles[USER_ROLES] = {
	[USER_VIEWER] = "viewer",
	[USER_OWNER] = "owner",
};
const struct row_words store_user_roles = {roles, USER_ROLES, false};

static const struct row_field user_fields[] = {
	ROW_FIELD(user, id, ROW_ID),
	ROW_FIELD(user, company_id, ROW_ID),
	ROW_FIELD(user, login, ROW_TEXT),
	ROW_WORD(user, role, ROW_ENUM, "role", &store_user_roles),
	ROW_FIELD(user, created_us, ROW_TIME),
	ROW_FIELD(user, password_us, ROW_TIME),
	ROW_FIELD(user, last_login_us, ROW_TIME),
	ROW_FIELD(user, totp_us, ROW_TIME),
	ROW_FIELD(user, recovery_codes, ROW_INT64),
};
const struct row_type store_user_type = ROW_TYPE(user, user_fields);

#define USER_SELECT                                                                                \
	"SELECT id, coalesce(company_id, '') AS company_id, login, role,"                          \
	" created_us, password_us, last_login_us, totp_us, (SELECT count(*)"                       \
	"   FROM admin_recovery"                                                                   \
	"   WHERE user_id = admin_user.id) AS recovery_codes"                                      \
	" FROM admin_user"
/* Logins are compared without letter case. If two older ones differ only in case, the younger has
 * no login_folded: it is found only by its exact spelling, and takes precedence then. */
#define BEST_FIRST " ORDER BY id = $word DESC, login = $word DESC LIMIT 1"
#define IN_COMPANY " AND ($company IS NULL OR company_id = $company)"

const char *store_user_role_name(enum user_role role)
{
	return roles[role];
}

bool store_user_role_parse(const char *word, enum user_role *role_r)
{
	size_t role = row_word(&store_user_roles, word);

	if (role == USER_ROLES)
		return false;
	*role_r = (enum user_role)role;
	return true;
}

int store_user_check_password(const char *login, const char *password, struct err *err)
{
	size_t len = strlen(password);

	if (str_utf8_count(password, len) < USER_PASSWORD_MIN)
		return err_set(err, ERR_INVALID, "the password is shorter than %d characters",
			USER_PASSWORD_MIN);
	if (len > USER_PASSWORD_MAX)
		return err_set(err, ERR_INVALID, "the password is longer than %d bytes",
			USER_PASSWORD_MAX);
	if (str_eq_folded(login, password))
		return err_set(err, ERR_INVALID, "the password is the login");
	return 0;
}

/* Users from before logins were compared without letter case: of two equal ones the younger has no
 * folded login. Returns 1 if one of those has this login, 0 if not, -1 on error. */
static int is_old_login(struct db *db, const char *folded, struct err *err)
{
	static const char sql_old[] = "SELECT login FROM admin_user WHERE login_folded IS NULL";
	struct db_stmt *stmt;
	int found;

	if (db_start(db, sql_old, NULL, &stmt, err) < 0)
		return -1;
	while ((found = db_step(stmt, err)) == 1) {
		_cleanup_free_ char *old = str_folded(db_text(stmt, 0));

		if (str_eq(old, folded)) {
			db_reset(stmt);
			break;
		}
	}
	return found;
}

int store_user_add(struct db *db, const struct user_spec *spec, int64_t now_us, struct user *user_r,
	struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO admin_user (id, company_id, login, login_folded, role, password,"
		"   created_us, password_us)"
		" VALUES ($id, nullif($company_id, ''), $login, $folded, $role, $password,"
		"   $created_us, $password_us)";
	_cleanup_free_ char *folded = NULL;
	struct user user = {
		.role = spec->role,
		.created_us = now_us,
		.password_us = spec->stored ? now_us : 0,
	};
	struct err why = ERR_INIT;
	int added;

	if (spec->login[0] == '\0' || strpbrk(spec->login, " \t\r\n"))
		return err_set(err, ERR_INVALID, "the login is empty, or has blanks in it");
	if (id_parse(spec->login, user.id))
		return err_set(
			err, ERR_INVALID, "the login has the form of an id, as users have one");
	if (row_check_name("the login", spec->login, err) < 0)
		return -1;
	folded = str_folded(spec->login);
	/* An empty id, such as from an unset variable, must not create an operator. */
	if (spec->company_id && (*spec->company_id == '\0' || strlen(spec->company_id) >= ID_SIZE))
		return err_set(err, ERR_NOT_FOUND, "there is no company \"%s\"", spec->company_id);
	added = is_old_login(db, folded, err);
	if (added != 0)
		return added < 0 ? -1
				 : err_set(err, ERR_EXISTS, "there is a user %s already",
					   spec->login);
	id_new(user.id);
	if (spec->company_id)
		strcpy(user.company_id, spec->company_id);
	user.login = mem_strdup(spec->login);
	added = audit_change(db,
		&(struct audit_change){.action = "user.add",
			.type = &store_user_type,
			.name = "login",
			.sql = sql_insert,
			.params = DB_PARAMS(
				DB_TEXT("$password", spec->stored), DB_TEXT("$folded", folded)),
			.item = &user},
		&why);
	if (added > 0) {
		*user_r = user;
		return 0;
	}
	store_user_clear(&user);
	if (why.code == ERR_EXISTS)
		return err_set(err, ERR_EXISTS, "there is a user %s already", spec->login);
	if (why.code == ERR_NOT_FOUND)
		return err_set(err, ERR_NOT_FOUND, "there is no company %s", spec->company_id);
	return err_copy(err, &why);
}

int store_user_find(struct db *db, const char *company_id, const char *word, struct user *user_r,
	struct err *err)
{
	static const char sql_find[] = USER_SELECT
		" WHERE (id = $word"
		"   OR login = $word"
		"   OR login_folded = $folded)" IN_COMPANY BEST_FIRST;
	_cleanup_free_ char *folded = str_folded(word);

	return row_get(db, sql_find,
		DB_PARAMS(DB_TEXT("$word", word), DB_TEXT("$folded", folded),
			DB_TEXT("$company", company_id)),
		&store_user_type, user_r, err);
}

int store_user_password(
	struct db *db, const char *login, struct user *user_r, char **stored_r, struct err *err)
{
	/* A login may look like the id of another user. */
	static const char sql_login[] = USER_SELECT
		" WHERE (login = $word OR login_folded = $folded)"
		" ORDER BY login = $word DESC"
		" LIMIT 1";
	static const char sql_password[] = "SELECT password FROM admin_user WHERE id = $id";
	_cleanup_free_ char *folded = str_folded(login);
	struct user user;
	int found = row_get(db, sql_login,
		DB_PARAMS(DB_TEXT("$word", login), DB_TEXT("$folded", folded)), &store_user_type,
		&user, err);

	if (found <= 0)
		return found;
	found = row_text(db, sql_password, DB_PARAMS(DB_TEXT("$id", user.id)), stored_r, err);
	if (found <= 0) {
		store_user_clear(&user);
		return found;
	}
	*user_r = user;
	return 1;
}

int store_user_list(struct db *db, const char *company_id, const struct page *page,
	struct user_list *list_r, struct page_end *end_r, struct err *err)
{
	static const struct row_pager pagers[] = ROW_NAMED_PAGERS(
		USER_SELECT, "admin_user", "login");

	return row_page(db,
		ROW_LIST(.pager = &pagers[company_id != NULL],
			.params = DB_PARAMS(DB_GIVEN_TEXT("$company", company_id)),
			.type = &store_user_type, .page = page, ROW_INTO(list_r), .end_r = end_r),
		err);
}

/* Changes one user; params and key have `$id` and `$company`. */
static int change_user(struct db *db, const char *action, const char *sql,
	const struct db_param *params, const struct db_param *key, struct err *err)
{
	static const char sql_get[] = USER_SELECT " WHERE id = $id" IN_COMPANY;

	return audit_change(db,
		&(struct audit_change){.action = action,
			.type = &store_user_type,
			.name = "login",
			.sql = sql,
			.params = params,
			.sql_get = sql_get,
			.key = key},
		err);
}

int store_user_set_password(
	struct db *db, const char *id, const char *stored, int64_t now_us, struct err *err)
{
	static const char sql_set[] =
		"UPDATE admin_user"
		" SET password = $password, password_us = $now"
		" WHERE id = $id";

	return change_user(db, "user.passwd", sql_set,
		DB_PARAMS(DB_TEXT("$password", stored), DB_INT("$now", now_us), DB_TEXT("$id", id)),
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$company", NULL)), err);
}

int store_user_set_role(
	struct db *db, const char *company_id, const char *id, enum user_role role, struct err *err)
{
	static const char sql_role[] =
		"UPDATE admin_user SET role = $role WHERE id = $id" IN_COMPANY;

	return change_user(db, "user.set", sql_role,
		DB_PARAMS(DB_TEXT("$role", roles[role]), DB_TEXT("$id", id),
			DB_TEXT("$company", company_id)),
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$company", company_id)), err);
}

/* Removes the recovery codes of a user. */
static int drop_codes(struct db *db, const char *id, struct err *err)
{
	static const char sql_drop[] = "DELETE FROM admin_recovery WHERE user_id = $id";

	return db_execute(db, sql_drop, DB_PARAMS(DB_TEXT("$id", id)), err);
}

/* A change of a user that removes the recovery codes, too. */
struct code_change {
	const char *action;
	const char *sql; /* has `$id` and `$company` */
	const char *company_id;
	const char *id;
};

static int change_codes(struct db *db, void *arg, struct err *err)
{
	const struct code_change *change = arg;
	const struct db_param *key = DB_PARAMS(
		DB_TEXT("$id", change->id), DB_TEXT("$company", change->company_id));
	int changed = change_user(db, change->action, change->sql, key, key, err);

	return changed > 0 && drop_codes(db, change->id, err) < 0 ? -1 : changed;
}

int store_user_reset(struct db *db, const char *company_id, const char *id, struct err *err)
{
	static const char sql_reset[] =
		"UPDATE admin_user"
		" SET password = NULL, password_us = 0, totp_secret = NULL, totp_us = 0"
		" WHERE id = $id" IN_COMPANY;
	struct code_change change = {"user.reset", sql_reset, company_id, id};

	return db_atomic(db, change_codes, &change, err);
}

int store_user_remove(struct db *db, const char *company_id, const char *id, struct err *err)
{
	static const char sql_remove[] = "DELETE FROM admin_user WHERE id = $id" IN_COMPANY;

	return change_user(db, "user.remove", sql_remove,
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$company", company_id)),
		DB_PARAMS(DB_TEXT("$id", id), DB_TEXT("$company", company_id)), err);
}

/* TOTP and recovery codes. */

/* Reads the secret of a user, confirmed or not, and the last time step used. Returns 1, 0 if there
 * is none, -1 on error. */
static int read_secret(struct db *db, const char *id, bool confirmed,
	uint8_t secret_r[static TOTP_SECRET_LEN], int64_t *step_r, struct err *err)
{
	static const char sql_secret[] =
		"SELECT totp_secret, totp_step"
		" FROM admin_user"
		" WHERE id = $id AND totp_secret IS NOT NULL AND (totp_us > 0) = ($confirmed <> 0)";
	struct db_stmt *stmt;
	const void *secret;
	size_t len;
	int found = db_first(db, sql_secret,
		DB_PARAMS(DB_TEXT("$id", id), DB_INT("$confirmed", confirmed)), &stmt, err);

	if (found <= 0)
		return found;
	secret = db_blob(stmt, 0, &len);
	assert(len == TOTP_SECRET_LEN);
	memcpy(secret_r, secret, len);
	*step_r = db_int(stmt, 1);
	db_reset(stmt);
	return 1;
}

int store_user_totp_start(
	struct db *db, const char *id, uint8_t secret_r[static TOTP_SECRET_LEN], struct err *err)
{
	static const char sql_start[] =
		"UPDATE admin_user"
		" SET totp_secret = $secret, totp_step = 0"
		" WHERE id = $id AND totp_us = 0";
	struct user user;
	int found = store_user_find(db, NULL, id, &user, err);

	if (found <= 0)
		return found;
	store_user_clear(&user);
	totp_secret(secret_r);
	found = db_change(db, sql_start,
		DB_PARAMS(DB_BLOB("$secret", secret_r, TOTP_SECRET_LEN), DB_TEXT("$id", id)), err);
	if (found == 0)
		return err_set(err, ERR_EXISTS, "codes are on: turn them off first");
	return found;
}

struct confirmation {
	const char *id;
	const char *code;
	int64_t now_us;
	char (*codes_r)[TOTP_RECOVERY_SIZE];
};

static int confirm_totp(struct db *db, void *arg, struct err *err)
{
	static const char sql_get[] = USER_SELECT " WHERE id = $id";
	static const char sql_on[] =
		"UPDATE admin_user"
		" SET totp_us = $now, totp_step = $step"
		" WHERE id = $id AND totp_us = 0";
	static const char sql_code[] =
		"INSERT INTO admin_recovery (user_id, hash) VALUES ($id, $hash)";
	const struct confirmation *new = arg;
	uint8_t secret[TOTP_SECRET_LEN], hash[SECRET_HASH_LEN];
	int64_t step = 0;
	int found = read_secret(db, new->id, false, secret, &step, err);

	if (found > 0)
		step = totp_step_of(secret, new->code, new->now_us, step);
	secret_wipe(secret, sizeof(secret));
	if (found < 0)
		return -1;
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "no codes are being turned on: begin again");
	if (step == 0)
		return err_set(err, ERR_INVALID,
			"the `code` is not right: it changes every 30 seconds, and the phone's "
			"clock has to be right");
	if (drop_codes(db, new->id, err) < 0)
		return -1;
	for (size_t i = 0; i < USER_RECOVERY_CODES; i++) {
		totp_recovery(new->codes_r[i]);
		totp_recovery_hash(new->codes_r[i], hash);
		if (db_change(db, sql_code,
			    DB_PARAMS(
				    DB_TEXT("$id", new->id), DB_BLOB("$hash", hash, sizeof(hash))),
			    err) < 0)
			return -1;
	}
	return audit_change(db,
		&(struct audit_change){.action = "user.totp_on",
			.type = &store_user_type,
			.name = "login",
			.sql = sql_on,
			.params = DB_PARAMS(DB_INT("$now", new->now_us), DB_INT("$step", step),
				DB_TEXT("$id", new->id)),
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$id", new->id))},
		err);
}

int store_user_totp_confirm(struct db *db, const char *id, const char *code, int64_t now_us,
	char codes_r[static USER_RECOVERY_CODES][TOTP_RECOVERY_SIZE], struct err *err)
{
	struct confirmation new = {id, code, now_us, codes_r};
	int result = db_atomic(db, confirm_totp, &new, err);

	if (result <= 0)
		secret_wipe(codes_r, USER_RECOVERY_CODES * TOTP_RECOVERY_SIZE);
	return result;
}

int store_user_totp_off(struct db *db, const char *company_id, const char *id, struct err *err)
{
	static const char sql_off[] =
		"UPDATE admin_user"
		" SET totp_secret = NULL, totp_us = 0"
		" WHERE id = $id AND totp_secret IS NOT NULL" IN_COMPANY;
	struct code_change change = {"user.totp_off", sql_off, company_id, id};

	return db_atomic(db, change_codes, &change, err);
}

/* Returns 1, 0 if it is not an unused code, -1 on error. */
static int use_recovery(struct db *db, const struct user *user, const char *code, struct err *err)
{
	static const char sql_use[] =
		"DELETE FROM admin_recovery WHERE user_id = $id AND hash = $hash";
	static const char sql_get[] = USER_SELECT " WHERE id = $id";
	uint8_t hash[SECRET_HASH_LEN];

	if (!totp_recovery_hash(code, hash))
		return 0;
	return audit_change(db,
		&(struct audit_change){.action = "user.recovery",
			.type = &store_user_type,
			.name = "login",
			.sql = sql_use,
			.params = DB_PARAMS(
				DB_TEXT("$id", user->id), DB_BLOB("$hash", hash, sizeof(hash))),
			.sql_get = sql_get,
			.key = DB_PARAMS(DB_TEXT("$id", user->id))},
		err);
}

int store_user_use_code(struct db *db, const struct user *user, const char *code, int64_t now_us,
	enum user_code *result_r, struct err *err)
{
	static const char sql_use[] =
		"UPDATE admin_user"
		" SET totp_step = $step"
		" WHERE id = $id AND totp_step < $step";
	uint8_t secret[TOTP_SECRET_LEN];
	int64_t step = 0;
	int used;

	if (user->totp_us == 0 || code == NULL) {
		*result_r = user->totp_us ? USER_CODE_MISSING : USER_CODE_GOOD;
		return 0;
	}
	used = read_secret(db, user->id, true, secret, &step, err);
	if (used > 0)
		step = totp_step_of(secret, code, now_us, step);
	secret_wipe(secret, sizeof(secret));
	if (used > 0 && step > 0)
		used = db_change(db, sql_use,
			DB_PARAMS(DB_INT("$step", step), DB_TEXT("$id", user->id)), err);
	else if (used > 0)
		used = use_recovery(db, user, code, err);
	if (used < 0)
		return -1;
	*result_r = used ? USER_CODE_GOOD : USER_CODE_WRONG;
	return 0;
}

int store_user_remove_some(struct db *db, const char *company_id, int *left, struct err *err)
{
	static const char sql_list[] = USER_SELECT " WHERE company_id = $company LIMIT $limit";
	static const char sql_remove[] = "DELETE FROM admin_user WHERE id = $id";

	return audit_remove(db,
		&(struct audit_change){.action = "user.remove",
			.type = &store_user_type,
			.name = "login",
			.sql = sql_remove,
			.sql_get = sql_list,
			.key = DB_PARAMS(DB_TEXT("$company", company_id))},
		left, err);
}

void store_user_clear(struct user *user)
{
	row_clear(&store_user_type, user);
}
