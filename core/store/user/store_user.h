/*
 * store_user: the users of the admin HTTP interface.
 *
 * An operator belongs to no company and sees all of them; other users are members of one company
 * and see only that one. An owner may change what they see, a viewer may not. Credentials besides
 * passwords are in store_session.
 */
#ifndef POSTERN_STORE_STORE_USER_H
#define POSTERN_STORE_STORE_USER_H

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/base/totp.h"
#include "core/db/db.h"
#include "core/store/row.h"

enum user_role { USER_VIEWER, USER_OWNER, USER_ROLES };

struct user {
	char id[ID_SIZE];
	char company_id[ID_SIZE]; /* "": an operator */
	char *login;
	enum user_role role;
	int64_t created_us;
	int64_t password_us;    /* when it was last set; 0: no password */
	int64_t last_login_us;  /* 0: never */
	int64_t totp_us;        /* since when a login needs a code; 0: it needs none */
	int64_t recovery_codes; /* number of unused ones */
};

extern const struct row_type store_user_type;

struct user_list {
	struct user *items;
	size_t n;
};

struct user_spec {
	const char *company_id; /* NULL: an operator */
	const char *login;
	enum user_role role;
	const char *stored; /* result of secret_password_hash(); NULL: no password */
};

/* Checks a new password. Returns 0, or -1 with ERR_INVALID if it has less than 12 characters or
 * more than 1024 bytes, or equals the login. */
enum { USER_PASSWORD_MIN = 12, USER_PASSWORD_MAX = 1024 };
int store_user_check_password(const char *login, const char *password, struct err *err);

/* Adds a user. ERR_INVALID for a login that is empty, over 200 bytes, not UTF-8, or has blanks or
 * control characters; ERR_EXISTS if it is taken; ERR_NOT_FOUND if there is no such company. Returns
 * 0 or -1. */
int store_user_add(struct db *db, const struct user_spec *spec, int64_t now_us, struct user *user_r,
	struct err *err);
/* Finds a user of one company, or of any (NULL), by id or login. Returns 1, 0 if there is none, -1
 * on error. */
int store_user_find(struct db *db, const char *company_id, const char *word, struct user *user_r,
	struct err *err);
/* Finds a user by login, with the stored password hash (NULL for none), which the caller frees.
 * Returns 1, 0 if there is no such user, -1 on error. */
int store_user_password(
	struct db *db, const char *login, struct user *user_r, char **stored_r, struct err *err);
/* Reads a page, by login, of one company, or of all (NULL). Returns 1, 0 if the cursor is not in
 * the list, -1 on error. */
int store_user_list(struct db *db, const char *company_id, const struct page *page,
	struct user_list *list_r, struct page_end *end_r, struct err *err);

/* Changes return 1, 0 if the company (NULL: any) has no such user, -1 on error. */

/* Does not end the sessions of the user, see store_login.h. */
int store_user_set_password(
	struct db *db, const char *id, const char *stored, int64_t now_us, struct err *err);
/* Removes the password and the codes. */
int store_user_reset(struct db *db, const char *company_id, const char *id, struct err *err);
int store_user_set_role(struct db *db, const char *company_id, const char *id, enum user_role role,
	struct err *err);
/* Removes the user with all credentials. */
int store_user_remove(struct db *db, const char *company_id, const char *id, struct err *err);

/* Codes of an authenticator app, which a login by password then needs. */

/* Stores a new secret, which takes effect when a code of it is confirmed. Returns 1; 0 if there is
 * no such user; -1 on error, with ERR_EXISTS if codes are on. */
int store_user_totp_start(
	struct db *db, const char *id, uint8_t secret_r[static TOTP_SECRET_LEN], struct err *err);
/* Turns codes on, after checking a code of that secret, and returns new recovery codes. Returns 1,
 * or -1 with ERR_INVALID for a wrong code, ERR_NOT_FOUND if no secret waits to be confirmed. */
enum { USER_RECOVERY_CODES = 8 };
int store_user_totp_confirm(struct db *db, const char *id, const char *code, int64_t now_us,
	char codes_r[static USER_RECOVERY_CODES][TOTP_RECOVERY_SIZE], struct err *err);
/* Turns codes off. Returns 1; 0 if there are none, or no such user of the company; -1 on error. */
int store_user_totp_off(struct db *db, const char *company_id, const char *id, struct err *err);

enum user_code { USER_CODE_GOOD, USER_CODE_MISSING, USER_CODE_WRONG };
/* Checks a code of the app or a recovery code (NULL for none); each works once. If codes are off,
 * anything is good. Returns 0 or -1. */
int store_user_use_code(struct db *db, const struct user *user, const char *code, int64_t now_us,
	enum user_code *result_r, struct err *err);

/* For store_company: removes up to *left users of the company, and subtracts their number from
 * *left. Returns 0 or -1. */
int store_user_remove_some(struct db *db, const char *company_id, int *left, struct err *err);

/* Such as `owner`. Parsing returns false for an unknown word. */
const char *store_user_role_name(enum user_role role);
bool store_user_role_parse(const char *word, enum user_role *role_r);
extern const struct row_words store_user_roles;

void store_user_clear(struct user *user);

#endif
