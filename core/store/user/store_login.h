/*
 * store_login: changes of a user's password, with the sessions that end by them.
 */
#ifndef POSTERN_STORE_STORE_LOGIN_H
#define POSTERN_STORE_STORE_LOGIN_H

#include "core/db/db.h"

/* Return 1, 0 if the company (NULL: any) has no such user, -1 on error. */

/* Sets a new password, and ends all browser sessions and links of the user except the session
 * `keep` (NULL: no exception). */
int store_login_set_password(struct db *db, const char *id, const char *stored, const char *keep,
	int64_t now_us, struct err *err);
/* Removes the password, the TOTP secret and recovery codes, and all sessions, links and tokens;
 * *tokens_r is the number of tokens that were valid. */
int store_login_reset(struct db *db, const char *company_id, const char *id, int64_t now_us,
	int64_t *tokens_r, struct err *err);

#endif
