/*
 * store_key: API keys. Only the hash of a token is stored.
 */
#ifndef POSTERN_STORE_STORE_KEY_H
#define POSTERN_STORE_STORE_KEY_H

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/db/db.h"
#include "core/store/row.h"

/* What a key may do; a set of bits. */
enum key_scope {
	KEY_SENDING = 1 << 0,
	KEY_READING = 1 << 1,
	KEY_MANAGING = 1 << 2,
	KEY_ALL = KEY_SENDING | KEY_READING | KEY_MANAGING,
};

struct key {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char *domain; /* restricted to this domain; NULL: to none */
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

/* Stores a new key under the hash of its token. ERR_NOT_FOUND when there is no
 * such company, or the company has no such domain; ERR_INVALID for no scope, or
 * for a name of over 200 bytes, or one that is not UTF-8 or has control
 * characters. It may be empty. */
int store_key_create(struct db *db, const struct key_spec *spec,
	const uint8_t hash[static SECRET_HASH_LEN], int64_t now_us, struct key *key_r,
	struct err *err);
/* The valid key with the hash: 1 found, 0 none or revoked, -1 cannot tell. */
int store_key_find(struct db *db, const uint8_t hash[static SECRET_HASH_LEN], struct key *key_r,
	struct err *err);
/* The valid key with the id, of the company or of any for NULL. The same. */
int store_key_get(
	struct db *db, const char *company_id, const char *id, struct key *key_r, struct err *err);
/* The key with the id, also a revoked one. The same. */
int store_key_find_any(
	struct db *db, const char *company_id, const char *id, struct key *key_r, struct err *err);
/* A page of keys, newest first. 1, 0 when the cursor is none of them, -1. */
struct key_filter {
	const char *company_id; /* NULL: of all */
	const char *domain;     /* of the company, the valid ones restricted to it; NULL: all */
	bool valid_only;        /* else the revoked ones too */
};
int store_key_list(struct db *db, const struct key_filter *filter, const struct page *page,
	struct key_list *list_r, struct page_end *end_r, struct err *err);
/* How many of the oldest KEY_IDLE_LOOK valid keys were never used although they
 * were made before unused_us, or not since forgotten_us. 0 or -1. */
enum { KEY_IDLE_LOOK = 10000 };
struct key_idle {
	int64_t unused;
	int64_t forgotten;
};
int store_key_idle(struct db *db, const char *company_id, int64_t unused_us, int64_t forgotten_us,
	struct key_idle *idle_r, struct err *err);
/* Changes of one of the keys in a range, which are valid: 1, 0 when it is none of them, -1. */
struct key_range {
	const char *company_id; /* NULL: of any */
	const char *domain;     /* of the company, those restricted to it; NULL: all */
};
int store_key_revoke(struct db *db, const struct key_range *range, const char *id, int64_t now_us,
	struct err *err);
/* ERR_INVALID as in store_key_create(). */
int store_key_rename(struct db *db, const struct key_range *range, const char *id, const char *name,
	struct err *err);
/* For store_company and store_domain: removes keys of the one, or such as are
 * restricted to the other, *left of them at most, which it counts down. 0, -1. */
int store_key_remove_some(
	struct db *db, const char *company_id, const char *domain_id, int *left, struct err *err);
/* Removes revoked keys of the company behind the `keep` that were revoked last,
 * a few in each call. 0 or -1. */
int store_key_forget_revoked(struct db *db, const char *company_id, int64_t keep, struct err *err);
/* How many there are of a company, or restricted to its domain (an id); walks
 * along all of them. 0 or -1. */
int store_key_count(struct db *db, const char *company_id, const char *domain_id, int64_t *count_r,
	struct err *err);
/* Notes the use of a key. 0, also when the key is gone, or -1. */
int store_key_touch(struct db *db, const char *id, int64_t now_us, struct err *err);

/* "sending,reading" to bits. ERR_INVALID names the unknown word. */
int store_key_scopes_parse(const char *text, unsigned *scopes_r, struct err *err);

void store_key_clear(struct key *key);

#endif
