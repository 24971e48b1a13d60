/*
 * store_session: what a user gets in by, besides a password. Each is a random
 * token, of which the store has the hash alone.
 *
 *   browser  after a login; a cookie has the token. Ends at its time, when it
 *            is not used for long, at logout, with another password
 *   token    for programs; ends when it is revoked, or at its time
 *   link     becomes a browser session when it is opened, once
 *
 * All of them end with their user.
 */
#ifndef POSTERN_STORE_STORE_SESSION_H
#define POSTERN_STORE_STORE_SESSION_H

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/db/db.h"
#include "core/store/store_user.h"

enum session_kind { SESSION_BROWSER, SESSION_TOKEN, SESSION_LINK, SESSION_KINDS };

struct session {
	char id[ID_SIZE];
	enum session_kind kind;
	char *name;   /* of a token */
	char *origin; /* the address that it was made from; may be "" */
	int64_t created_us;
	int64_t expires_us;   /* 0: never */
	int64_t last_used_us; /* coarse; 0: never */
	bool current;         /* of a list: the one that asks for it; set by who knows */
	/* Of its user, as they are now. */
	char user_id[ID_SIZE];
	char company_id[ID_SIZE]; /* "": an operator */
	char *login;
	enum user_role role;
};

/* What a token, and a browser session, is shown as. */
extern const struct row_type store_token_type, store_browser_type;

struct session_list {
	struct session *items;
	size_t n;
};

struct session_spec {
	enum session_kind kind;
	const char *name;
	const char *origin;
	const char *made_by; /* the id of a token, with which it ends; or NULL */
	int64_t expires_us;  /* 0: never */
	bool of_change;      /* what it is made with has an entry in the audit log */
};

/* A new one for the user, stored under the hash of its token; ones that have
 * expired go, a few at a time. A browser session is a login. ERR_NOT_FOUND
 * without the user, ERR_INVALID for the name of a token that is empty, or as in
 * store_key_create(). */
int store_session_create(struct db *db, const char *user_id, const struct session_spec *spec,
	const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us, struct session *session_r,
	struct err *err);

/* The browser session or token with the hash that is good now: 1, 0 or -1. A
 * browser session that was used last before idle_us is not. */
int store_session_find(struct db *db, const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us,
	int64_t idle_us, struct session *session_r, struct err *err);

/* Whether the session with this id, which was found before, is still good, and
 * which role its user has now: 1, 0 or -1. */
int store_session_is_good(struct db *db, const char *id, int64_t now_us, int64_t idle_us,
	enum user_role *role_r, struct err *err);

/* Whether there is a link with the hash that is good now: 1, 0 or -1. */
int store_session_find_link(
	struct db *db, const uint8_t link[static SECRET_HASH_LEN], int64_t now_us, struct err *err);
/* Ends the link with the hash and makes the session of its user in its place:
 * 1, 0 when there is no such link that is good now, -1. */
int store_session_redeem(struct db *db, const uint8_t link[static SECRET_HASH_LEN],
	const struct session_spec *spec, const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us,
	struct session *session_r, struct err *err);

/* Notes the use of one. 0, also when it is gone, or -1. */
int store_session_touch(struct db *db, const char *id, int64_t now_us, struct err *err);

/* A page of the tokens of users of one company, or of all for NULL, newest
 * first. 1, 0 when the cursor is none of them, -1. */
int store_session_list_tokens(struct db *db, const char *company_id, const struct page *page,
	struct session_list *list_r, struct page_end *end_r, struct err *err);
/* How many tokens of the user are good now. 0 or -1. */
int store_session_count_tokens(
	struct db *db, const char *user_id, int64_t now_us, int64_t *n_r, struct err *err);
/* Ends a token of a user of the company, or of any for NULL, and those that
 * were made with it: 1, 0, -1. */
int store_session_revoke_token(
	struct db *db, const char *company_id, const char *id, struct err *err);
/* Ends all tokens of a user. 0 or -1. */
int store_session_revoke_tokens(struct db *db, const char *user_id, struct err *err);

/* A page of the browser sessions of a user that are good now, newest first. 1,
 * 0, -1. */
int store_session_list_browsers(struct db *db, const char *user_id, int64_t now_us, int64_t idle_us,
	const struct page *page, struct session_list *list_r, struct page_end *end_r,
	struct err *err);
/* Ends one of them: 1, 0, -1. */
int store_session_end_browser(struct db *db, const char *user_id, const char *id, struct err *err);

/* Ends all browser sessions and links of a user, but the session keep (NULL: none). 0 or -1. */
int store_session_end_all(struct db *db, const char *user_id, const char *keep, struct err *err);

/* Ends one: 1, 0, -1. */
int store_session_end(struct db *db, const char *id, struct err *err);

void store_session_clear(struct session *session);

#endif
