/*
 * store_login: changes of passwords, in one transaction with the end of sessions.
 */
#include "core/store/user/store_login.h"

#include "core/store/user/store_session.h"
#include "core/store/user/store_user.h"

struct login {
	const char *company_id;
	const char *id;
	const char *stored;
	const char *keep;
	int64_t now_us;
	int64_t tokens;
};

static int set_password(struct db *db, void *arg, struct err *err)
{
	const struct login *login = arg;
	int changed = store_user_set_password(db, login->id, login->stored, login->now_us, err);

	return changed > 0 && store_session_end_all(db, login->id, login->keep, err) < 0 ? -1
											 : changed;
}

int store_login_set_password(struct db *db, const char *id, const char *stored, const char *keep,
	int64_t now_us, struct err *err)
{
	struct login login = {.id = id, .stored = stored, .keep = keep, .now_us = now_us};

	return db_atomic(db, set_password, &login, err);
}

static int reset_login(struct db *db, void *arg, struct err *err)
{
	struct login *login = arg;
	int changed = store_user_reset(db, login->company_id, login->id, err);

	if (changed > 0 && (store_session_end_all(db, login->id, NULL, err) < 0 ||
				   store_session_count_tokens(
					   db, login->id, login->now_us, &login->tokens, err) < 0 ||
				   store_session_revoke_tokens(db, login->id, err) < 0))
		return -1;
	return changed;
}

int store_login_reset(struct db *db, const char *company_id, const char *id, int64_t now_us,
	int64_t *tokens_r, struct err *err)
{
	struct login login = {.company_id = company_id, .id = id, .now_us = now_us};
	int changed = db_atomic(db, reset_login, &login, err);

	if (changed > 0)
		*tokens_r = login.tokens;
	return changed;
}
