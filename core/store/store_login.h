/*
 * store_login: what ends with the password of a user.
 */
#ifndef POSTERN_STORE_STORE_LOGIN_H
#define POSTERN_STORE_STORE_LOGIN_H

#include "core/db/db.h"

/* 1 done, 0 no such user of the company (NULL: of any), -1. */

/* Sets another password, and ends all browser sessions and links of the user, but the session keep
 * (NULL: none). */
int store_login_set_password(struct db *db, const char *id, const char *stored, const char *keep,
	int64_t now_us, struct err *err);
/* Takes the password and the codes away, with all sessions, links and tokens; *tokens_r is how many
 * of those were good. */
int store_login_reset(struct db *db, const char *company_id, const char *id, int64_t now_us,
	int64_t *tokens_r, struct err *err);

#endif
