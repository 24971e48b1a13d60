/*
 * store_session: the credentials of users besides passwords. Each is a random token; only its hash
 * is stored.
 *
 *   browser  after a login; a cookie has the token. Ends at its time, when it
 *            is not used for long, at logout, with another password
 *   token    for programs; ends when it is revoked, or at its time
 *   link     becomes a browser session when it is opened, once
 *
 * All of them end when their user is removed.
 */
#ifndef POSTERN_STORE_STORE_SESSION_H
#define POSTERN_STORE_STORE_SESSION_H

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/db/db.h"
#include "core/store/user/store_user.h"

enum session_kind { SESSION_BROWSER, SESSION_TOKEN, SESSION_LINK, SESSION_KINDS };

struct session {
	char id[ID_SIZE];
	enum session_kind kind;
	char *name;   /* the name of a token */
	char *origin; /* the client address at its creation; may be "" */
	int64_t created_us;
	int64_t expires_us;   /* 0: never */
	int64_t last_used_us; /* coarse; 0: never */
	bool current;         /* in a list: the session of the request; set by the caller */
	/* The present data of its user. */
	char user_id[ID_SIZE];
	char company_id[ID_SIZE]; /* "": an operator */
	char *login;
	enum user_role role;
};

/* The members shown of a token, and of a browser session. */
extern const struct row_type store_token_type, store_browser_type;

struct session_list {
	struct session *items;
	size_t n;
};

struct session_spec {
	enum session_kind kind;
	const char *name;
	const char *origin;
	const char
		*made_by;   /* the id of the token that created it and whose end ends it; or NULL */
	int64_t expires_us; /* 0: never */
	bool of_change;     /* it is part of another change, which has the audit entry */
};

/* Creates a session for the user, stored with the hash of its token; removes a few expired ones. A
 * browser session counts as a login. ERR_NOT_FOUND if there is no such user, ERR_INVALID if the
 * name of a token is empty or as in row_check_name(). Returns 0 or -1. */
int store_session_create(struct db *db, const char *user_id, const struct session_spec *spec,
	const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us, struct session *session_r,
	struct err *err);

/* Finds the valid browser session or token with the hash. A browser session last used before
 * idle_us, or over an hour after now_us, is not valid. Returns 1, 0 if there is none, -1 on error.
 */
int store_session_find(struct db *db, const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us,
	int64_t idle_us, struct session *session_r, struct err *err);

/* Returns 1 if the session with this id is still valid, with the present role of its user, 0 if
 * not, -1 on error. */
int store_session_is_good(struct db *db, const char *id, int64_t now_us, int64_t idle_us,
	enum user_role *role_r, struct err *err);

/* Returns 1 if there is a valid link with the hash, 0 if not, -1 on error. */
int store_session_find_link(
	struct db *db, const uint8_t link[static SECRET_HASH_LEN], int64_t now_us, struct err *err);
/* Ends the link with the hash and creates the session of its user instead. Returns 1, 0 if there is
 * no valid link, -1 on error. */
int store_session_redeem(struct db *db, const uint8_t link[static SECRET_HASH_LEN],
	const struct session_spec *spec, const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us,
	struct session *session_r, struct err *err);

/* Notes the use of a session. Returns 0, also if it is gone, or -1. */
int store_session_touch(struct db *db, const char *id, int64_t now_us, struct err *err);

/* Reads a page of the tokens of users of one company, or of all (NULL), newest first. Returns 1, 0
 * if the cursor is not in the list, -1 on error. */
int store_session_list_tokens(struct db *db, const char *company_id, const struct page *page,
	struct session_list *list_r, struct page_end *end_r, struct err *err);
/* Counts the valid tokens of the user. Returns 0 or -1. */
int store_session_count_tokens(
	struct db *db, const char *user_id, int64_t now_us, int64_t *n_r, struct err *err);
/* Ends a token of a user of the company, or of any (NULL), and everything that was created with it.
 * Returns 1, 0 if there is none, -1 on error. */
int store_session_revoke_token(
	struct db *db, const char *company_id, const char *id, struct err *err);
/* Ends all tokens of a user. Returns 0 or -1. */
int store_session_revoke_tokens(struct db *db, const char *user_id, struct err *err);

/* Reads a page of the valid browser sessions of a user, newest first. Returns 1, 0 if the cursor is
 * not in the list, -1 on error. */
int store_session_list_browsers(struct db *db, const char *user_id, int64_t now_us, int64_t idle_us,
	const struct page *page, struct session_list *list_r, struct page_end *end_r,
	struct err *err);
/* Ends a browser session of the user. Returns 1, 0 if there is none, -1 on error. */
int store_session_end_browser(struct db *db, const char *user_id, const char *id, struct err *err);

/* Ends all browser sessions and links of a user except the session `keep` (NULL: no exception).
 * Returns 0 or -1. */
int store_session_end_all(struct db *db, const char *user_id, const char *keep, struct err *err);

/* Ends a session of any kind. Returns 1, 0 if there is none, -1 on error. */
int store_session_end(struct db *db, const char *id, struct err *err);

void store_session_clear(struct session *session);

#endif
