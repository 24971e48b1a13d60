/*
 * store_dkim: the public halves of the DKIM keys that sign the mail of a domain.
 *
 *   (none) ──add──> new ──switch──> signing ──switch, stop──> old ──remove──> (none)
 *
 * A domain has at most one new and one signing key. The private key is a file of the signer;
 * cli/dkim_signer writes into the signer's tables which keys it uses.
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
	char *domain;
	char *selector;
	char *public_key; /* the value of the tag p= */
	enum dkim_state state;
	int64_t created_us;
	int64_t changed_us; /* when it got this state */
};
extern const struct row_type store_dkim_type;

struct dkim_key_list {
	struct dkim_key *items;
	size_t n;
};
void store_dkim_list_free(struct dkim_key_list *list);
#define _cleanup_dkim_keys_ __attribute__((cleanup(store_dkim_list_free)))

/* Lists the keys of a domain, or of all domains for NULL, newest first. Returns 0 or -1. */
int store_dkim_list(
	struct db *db, const char *domain_id, struct dkim_key_list *list_r, struct err *err);

/* Adds a new key. The caller sets domain_id, selector and public_key; id and company_id are filled
 * in. ERR_EXISTS if the domain already has a new key, or this selector. Returns 0 or -1. */
int store_dkim_add(struct db *db, struct dkim_key *key, int64_t now_us, struct err *err);

/* Makes the new key the signing one, and the previous one old. Returns 1, 0 if there is no new key,
 * -1 on error. */
int store_dkim_switch(struct db *db, const char *domain_id, int64_t now_us, struct err *err);

/* Makes all keys of the domain old. Returns their number, or -1. */
int store_dkim_stop(struct db *db, const char *domain_id, int64_t now_us, struct err *err);

/* Removes a key. Returns 1, 0 if there is none, -1 on error. */
int store_dkim_remove(struct db *db, const char *id, struct err *err);

#endif
