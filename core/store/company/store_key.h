/*
 * store_key: API keys. Only the hash of a key's token is stored.
 */
#ifndef POSTERN_STORE_STORE_KEY_H
#define POSTERN_STORE_STORE_KEY_H

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/db/db.h"
#include "core/store/row.h"

/* What a key may do; a bit set. */
enum key_scope {
	KEY_SENDING = 1 << 0,
	KEY_READING = 1 << 1,
	KEY_MANAGING = 1 << 2,
	KEY_ALL = KEY_SENDING | KEY_READING | KEY_MANAGING,
};

struct key {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char *domain; /* restricted to this domain; NULL: unrestricted */
	char *name;
	unsigned scopes; /* of enum key_scope */
	int64_t created_us;
	int64_t last_used_us; /* coarse; 0: never */
	int64_t revoked_us;   /* 0: valid */
};

extern const struct row_type store_key_type;

struct key_list {
	struct key *items;
	size_t n;
};

struct key_spec {
	const char *company_id;
	const char *domain; /* its name, or NULL */
	const char *name;
	unsigned scopes;
};

/* Stores a new key with the hash of its token. ERR_NOT_FOUND if there is no such company, or it has
 * no such domain; ERR_INVALID for no scope, and for a name as in row_check_name(). The name may be
 * empty. */
int store_key_create(struct db *db, const struct key_spec *spec,
	const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us, struct key *key_r,
	struct err *err);
/* Finds the valid key with the hash. Returns 1, 0 if there is none or it is revoked, -1 on
 * error. */
int store_key_find(struct db *db, const uint8_t hash[static SECRET_HASH_LEN], struct key *key_r,
	struct err *err);
/* Announces that call, see db_read_ahead(). */
void store_key_find_ahead(struct db *db, const uint8_t hash[static SECRET_HASH_LEN]);
/* Finds the valid key with the id, of the company or of any (NULL). Returns the same. */
int store_key_get(
	struct db *db, const char *company_id, const char *id, struct key *key_r, struct err *err);
/* Finds the key with the id, even if revoked. Returns the same. */
int store_key_find_any(
	struct db *db, const char *company_id, const char *id, struct key *key_r, struct err *err);
/* A valid key by which somebody has logged in to send, and the domain that it wants to send as. */
struct key_login {
	char key_id[ID_SIZE];
	char company_id[ID_SIZE];
	char *key_domain; /* scopes, last_used_us: as in struct key */
	unsigned scopes;
	int64_t last_used_us;
	bool domain_owned; /* the domain is the company's, pending or not; the rest is about it */
	bool domain_active;
	char *return_path; /* return_path, unsubscribe: as in struct domain */
	bool unsubscribe;
	bool paused;     /* emails of the key and the domain are, see store_pause.h */
	bool suppresses; /* the company has a list of suppressed addresses */
};
/* Reads all of it by one statement, for the id of a key and the name of a domain (NULL: none).
 * Returns 1, 0 if there is no such key or it is revoked, -1 on error. */
int store_key_login(struct db *db, const char *id, const char *domain, struct key_login *login_r,
	struct err *err);
void store_key_login_clear(struct key_login *login);
/* Reads a page of keys, newest first. Returns 1, 0 if the cursor is not in the list, -1 on
 * error. */
struct key_filter {
	const char *company_id; /* NULL: of all */
	const char *domain;     /* of the company; only valid keys restricted to it; NULL: all */
	bool valid_only;        /* false: include revoked keys */
	/* If one is given, only valid keys that were created before unused_us and never used, or
	 * not used since forgotten_us. It looks at up to PAGE_LOOK valid keys that are old enough,
	 * as a search. Not together with `domain` and `before`. */
	int64_t unused_us;
	int64_t forgotten_us;
};
int store_key_list(struct db *db, const struct key_filter *filter, const struct page *page,
	struct key_list *list_r, struct page_end *end_r, struct err *err);
/* Counts, among the oldest KEY_IDLE_LOOK valid keys, those that were created before unused_us and
 * never used, and those not used since forgotten_us. Returns 0 or -1. */
enum { KEY_IDLE_LOOK = 10000 };
struct key_idle {
	int64_t unused;
	int64_t forgotten;
};
int store_key_idle(struct db *db, const char *company_id, int64_t unused_us, int64_t forgotten_us,
	struct key_idle *idle_r, struct err *err);
/* Changes of a valid key within a range. Return 1, 0 if there is no such key, -1 on error. */
struct key_range {
	const char *company_id; /* NULL: of any */
	const char *domain;     /* of the company; only keys restricted to it; NULL: all */
};
int store_key_revoke(struct db *db, const struct key_range *range, const char *id, int64_t now_us,
	struct err *err);
/* ERR_INVALID as in store_key_create(). */
int store_key_rename(struct db *db, const struct key_range *range, const char *id, const char *name,
	struct err *err);
/* For store_company and store_domain: removes up to *left keys of the company, or keys restricted
 * to the domain, and subtracts their number from *left. Returns 0 or -1. */
int store_key_remove_some(
	struct db *db, const char *company_id, const char *domain_id, int *left, struct err *err);
/* Removes revoked keys of the company except the `keep` most recently revoked, a few per call.
 * Returns 0 or -1. */
int store_key_forget_revoked(struct db *db, const char *company_id, int64_t keep, struct err *err);
/* Counts the keys of a company, or those restricted to its domain (an id), including revoked ones,
 * by reading all of their rows. Returns 0 or -1. */
int store_key_count(struct db *db, const char *company_id, const char *domain_id, int64_t *count_r,
	struct err *err);
/* Notes the use of a key. Returns 0, also if the key is gone, or -1. */
int store_key_touch(struct db *db, const char *id, int64_t now_us, struct err *err);

/* Parses a list such as "sending,reading". ERR_INVALID names the unknown word. */
int store_key_scopes_parse(const char *text, unsigned *scopes_r, struct err *err);

void store_key_clear(struct key *key);

#endif
