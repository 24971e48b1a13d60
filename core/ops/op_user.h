/*
 * op_user: users of the admin listener, and what they get in by: links, tokens, sessions, their
 * password and codes of an app.
 *
 * A user is named by login or id. Members of a company see and add members of their own. What
 * users change of themselves they change as the session that asks, which has to be there.
 */
#ifndef POSTERN_OPS_OP_USER_H
#define POSTERN_OPS_OP_USER_H

#include "core/ops/op.h"

struct op_user {
	const char *company_id;
	const char *login;
	const char *role;   /* owner or viewer */
	const char *stored; /* of a password (secret_password_hash()); NULL: none */
};

/* Gives the user; over HTTP with a link, since there is no password. */
extern const struct operation op_user_add;
extern const struct operation op_user_list;
/* These give the user as it is then, or was. */
extern const struct operation op_user_update;
extern const struct operation op_user_remove;
/* With a link, by which a browser comes in once, as `login_path`. */
extern const struct operation op_user_link;
/* For who has lost password or phone, or may no longer be the only one who has them: all that they
 * get in by ends. With a link, and how many tokens were good. */
extern const struct operation op_user_reset;
/* Ends codes and recovery codes of a user, whether there are any. */
extern const struct operation op_user_totp_off;

/* What is asked for beside a change of what one gets in by; verified by then. */
struct op_password {
	const char *password;
	const char *code;
	const char *new_password;
	const char *stored; /* the new one, as for struct op_user */
	const char *name;   /* of a token */
	int64_t days;       /* how long it lasts; 0: until it is revoked */
};
enum { OP_TOKEN_DAYS_MAX = 3650 };

/* Of a user, for the command, which logs them out everywhere; else of oneself, which ends the other
 * sessions. Gives the user, with how many `tokens` stay good. */
extern const struct operation op_password_set;

/* One's own. */
extern const struct operation op_account_get;
/* Begins to turn codes on: gives `secret` and `uri` for the app. */
extern const struct operation op_totp_start;
/* Turns them on by a code of it: gives the recovery `codes`. */
extern const struct operation op_totp_confirm;
extern const struct operation op_totp_off;
/* Browser sessions. */
extern const struct operation op_session_list;
extern const struct operation op_session_end;
extern const struct operation op_session_end_others;
extern const struct operation op_session_logout;

/* Makes one of the user, for the command, or of oneself. Gives it, with the `token` itself, which
 * is shown only now. */
extern const struct operation op_token_create;
extern const struct operation op_token_list;
/* Ends one, and those that were made with it. Gives its id. */
extern const struct operation op_token_revoke;

#endif
