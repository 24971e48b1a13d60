/*
 * store_key_private: what the files of store_key share.
 */
#ifndef POSTERN_STORE_STORE_KEY_PRIVATE_H
#define POSTERN_STORE_STORE_KEY_PRIVATE_H

#include "core/store/store_key.h"

/* Keys as `k`, the domain that one is restricted to as `d`. */
#define KEY_SELECT                                                             \
	"SELECT k.id, k.company_id, d.name, k.name, k.scopes, k.created_us,"   \
	" k.last_used_us, k.revoked_us"                                        \
	" FROM api_key k LEFT JOIN domain d ON d.id = k.domain_id"

/* Reads a row of KEY_SELECT. */
void store_key_read_row(struct db_stmt *stmt, struct key *key);

#endif
