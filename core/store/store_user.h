/*
 * store_user: who may use the admin HTTP interface.
 *
 * An operator has no company and sees all of them; the others are members of
 * one company and see that alone. An owner may change what they see, a viewer
 * may not. What a user gets in by, besides a password, is in store_session.
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
	int64_t password_us;    /* when it was set last; 0: there is none */
	int64_t last_login_us;  /* 0: never */
	int64_t totp_us;        /* since when a login needs a code; 0: it does not */
	int64_t recovery_codes; /* how many are left */
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
	const char *stored; /* of secret_password_hash(); NULL: no password */
};

/* 0, or -1 with ERR_INVALID: it has less than 12 characters or more than 1024
 * bytes, or is the login. */
enum { USER_PASSWORD_MIN = 12, USER_PASSWORD_MAX = 1024 };
int store_user_check_password(const char *login, const char *password, struct err *err);

/* ERR_INVALID for a login that is empty, over 200 bytes, not UTF-8, or has
 * blanks or control characters; ERR_EXISTS for one that is taken, ERR_NOT_FOUND
 * without such a company. */
int store_user_add(struct db *db, const struct user_spec *spec, int64_t now_us, struct user *user_r,
	struct err *err);
/* By its id, or its login: 1, 0 or -1. Of one company, or any for NULL. */
int store_user_find(struct db *db, const char *company_id, const char *word, struct user *user_r,
	struct err *err);
/* The stored password of a login, NULL for none, which the caller frees: 1, 0
 * when there is no such user, -1. */
int store_user_password(
	struct db *db, const char *login, struct user *user_r, char **stored_r, struct err *err);
/* A page by login; of one company, or of all for NULL. 1, 0 when the cursor is
 * none of them, -1. */
int store_user_list(struct db *db, const char *company_id, const struct page *page,
	struct user_list *list_r, struct page_end *end_r, struct err *err);

/* Changes: 1 done, 0 no such user of the company (NULL: of any), -1. */

/* The sessions of the user are for whoever changes it, see store_login.h. */
int store_user_set_password(
	struct db *db, const char *id, const char *stored, int64_t now_us, struct err *err);
/* Takes the password and the codes away. */
int store_user_reset(struct db *db, const char *company_id, const char *id, struct err *err);
int store_user_set_role(struct db *db, const char *company_id, const char *id, enum user_role role,
	struct err *err);
/* With all that they got in by. */
int store_user_remove(struct db *db, const char *company_id, const char *id, struct err *err);

/* Codes of an authenticator app, which a login by password then needs. */

/* A new secret, which counts once a code of it was confirmed: 1, 0 no such
 * user, -1, with ERR_EXISTS when codes are on. */
int store_user_totp_start(
	struct db *db, const char *id, uint8_t secret_r[static TOTP_SECRET_LEN], struct err *err);
/* Turns them on, by a code of that secret, and gives new recovery codes: 1, or
 * -1, with ERR_INVALID for a wrong code, ERR_NOT_FOUND when there is no secret
 * to be confirmed. */
enum { USER_RECOVERY_CODES = 8 };
int store_user_totp_confirm(struct db *db, const char *id, const char *code, int64_t now_us,
	char codes_r[static USER_RECOVERY_CODES][TOTP_RECOVERY_SIZE], struct err *err);
/* Turns them off: 1, 0 when there are none, or no such user of the company, -1. */
int store_user_totp_off(struct db *db, const char *company_id, const char *id, struct err *err);

enum user_code { USER_CODE_GOOD, USER_CODE_MISSING, USER_CODE_WRONG };
/* Whether the user comes in with the code of the app, or a recovery code; each
 * works once. NULL for none. Without codes, anything is good. 0, or -1. */
int store_user_use_code(struct db *db, const struct user *user, const char *code, int64_t now_us,
	enum user_code *result_r, struct err *err);

/* For store_company: removes users of the company, *left of them at most, which
 * it counts down. 0, -1. */
int store_user_remove_some(struct db *db, const char *company_id, int *left, struct err *err);

/* As `owner`. Parsing gives false for any other word. */
const char *store_user_role_name(enum user_role role);
bool store_user_role_parse(const char *word, enum user_role *role_r);
extern const struct row_words store_user_roles;

void store_user_clear(struct user *user);

#endif
