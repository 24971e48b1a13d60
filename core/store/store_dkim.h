/*
 * store_dkim: the keys by which mail of a domain is signed (DKIM), as far as they are public.
 *
 *   (none) ──add──> new ──switch──> signing ──switch, stop──> old ──remove──> (none)
 *
 * A domain has one that is new and one that signs, at most. The private half is a file of the
 * signer's; which keys it uses, cli/dkim_signer writes into its tables.
 */
#ifndef POSTERN_STORE_STORE_DKIM_H
#define POSTERN_STORE_STORE_DKIM_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

enum dkim_state { DKIM_NEW, DKIM_SIGNING, DKIM_OLD, DKIM_STATES };

struct dkim_key {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char domain_id[ID_SIZE];
	char *domain; /* its name */
	char *selector;
	char *public_key; /* as in p= */
	enum dkim_state state;
	int64_t created_us;
	int64_t changed_us; /* when it came into this state */
};
extern const struct row_type store_dkim_type;

struct dkim_key_list {
	struct dkim_key *items;
	size_t n;
};
void store_dkim_list_free(struct dkim_key_list *list);
#define _cleanup_dkim_keys_ __attribute__((cleanup(store_dkim_list_free)))

/* As `signing`. */
const char *store_dkim_state_name(enum dkim_state state);

/* The keys of a domain, or of all for NULL; the newest first. 0 or -1. */
int store_dkim_list(
	struct db *db, const char *domain_id, struct dkim_key_list *list_r, struct err *err);

/* Adds a new key. domain_id, selector and public_key are given, id and company_id are set.
 * ERR_EXISTS when the domain has a new one already, or such a selector. 0 or -1. */
int store_dkim_add(struct db *db, struct dkim_key *key, int64_t now_us, struct err *err);

/* Has the new key sign, and the one that did become old; 1 done, 0 there is no new one, -1. */
int store_dkim_switch(struct db *db, const char *domain_id, int64_t now_us, struct err *err);

/* Makes all keys of the domain old: how many they were, or -1. */
int store_dkim_stop(struct db *db, const char *domain_id, int64_t now_us, struct err *err);

/* Removes a key: 1, 0 or -1. */
int store_dkim_remove(struct db *db, const char *id, struct err *err);

#endif
