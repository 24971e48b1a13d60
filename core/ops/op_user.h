/*
 * op_user: users of the admin listener, and their credentials: links, tokens, sessions, passwords
 * and TOTP codes.
 *
 * A user is given by login or id. Members of a company see and add members of their own company.
 * Users change their own data as the session of the request, which must exist.
 */
#ifndef POSTERN_OPS_OP_USER_H
#define POSTERN_OPS_OP_USER_H

#include "core/ops/op.h"

struct op_user {
	const char *company_id;
	const char *login;
	const char *role;   /* owner or viewer */
	const char *stored; /* hash of the password (secret_password_hash()); NULL: none */
};

/* Gives the user; over HTTP with a link, since it has no password. */
extern const struct operation op_user_add;
extern const struct operation op_user_list;
/* Gives the user after the update, or before the removal. */
extern const struct operation op_user_update;
extern const struct operation op_user_remove;
/* Gives a link as `login_path`, which logs a browser in once. Its token is in the fragment, which
 * browsers send to no server: no proxy logs it, and no program that only opens links uses it. */
extern const struct operation op_user_link;
/* For a user who has lost the password or phone, or whose credentials somebody else may have: ends
 * all credentials. Gives a link, and the number of valid tokens that ended. */
extern const struct operation op_user_reset;
/* Turns off TOTP and recovery codes of a user, even if there are none. */
extern const struct operation op_user_totp_off;

/* Input of changes to one's own credentials. The password and code were verified before. */
struct op_password {
	const char *password;
	const char *code;
	const char *new_password;
	const char *stored; /* hash of the new password, as in struct op_user */
	const char *name;   /* name of a token */
	int64_t days;       /* lifetime of a token; 0: until it is revoked */
};
enum { OP_TOKEN_DAYS_MAX = 3650 };

/* The command sets the password of a user, and ends all sessions; a user sets their own, which ends
 * the other sessions. Gives the user, with the number of `tokens` that stay valid. */
extern const struct operation op_password_set;

/* The actor's own account. */
extern const struct operation op_account_get;
/* Starts to turn codes on. Gives `secret` and `uri` for the app. */
extern const struct operation op_totp_start;
/* Turns codes on with a code of the app. Gives the recovery `codes`. */
extern const struct operation op_totp_confirm;
extern const struct operation op_totp_off;
/* Browser sessions. */
extern const struct operation op_session_list;
extern const struct operation op_session_end;
extern const struct operation op_session_end_others;
extern const struct operation op_session_logout;

/* Creates a token of the user, for the command, or of oneself. Gives it, with the `token` itself,
 * which is shown only once. */
extern const struct operation op_token_create;
extern const struct operation op_token_list;
/* Ends a token, and those created with it. Gives its id. */
extern const struct operation op_token_revoke;

#endif
