/*
 * store_idempotency: the answers to requests with an Idempotency-Key.
 *
 * A row is added in the transaction that stages the emails of the request, and removed in the one
 * that takes all of them back. It is valid for 24 hours; older rows are ignored, and are removed
 * when new ones are added and by store_clean().
 */
#ifndef POSTERN_STORE_STORE_IDEMPOTENCY_H
#define POSTERN_STORE_STORE_IDEMPOTENCY_H

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/base/strv.h"
#include "core/db/db.h"

enum { STORE_IDEMPOTENCY_KEEP_S = 24 * 3600 };

struct idempotency_key {
	char company_id[ID_SIZE];
	uint8_t hash[SECRET_HASH_LEN]; /* of the client's key */
};

struct idempotency {
	uint8_t payload[SECRET_HASH_LEN]; /* hash of the request */
	int64_t created_us;
	bool settled; /* the results are final; otherwise look at the emails */
	/* For each email, in order, its id, or `!` and the reason why it was not sent. */
	struct strv results;
};

/* Formats the result of an email that was not sent. Line breaks are replaced, since problems may
 * quote client input and results are stored one per line. The caller frees it. */
char *store_idempotency_refusal(const char *why);

/* Returns 1, 0 if there is none of the last 24 hours, -1 on error. The caller clears it, only after
 * 1. */
int store_idempotency_find(struct db *db, const struct idempotency_key *key, int64_t now_us,
	struct idempotency *idempotency_r, struct err *err);
void store_idempotency_clear(struct idempotency *idempotency);

/* Adds the row, and replaces one that has expired; the present time is its created_us. Also removes
 * a few other expired rows. In the caller's transaction. ERR_EXISTS if there is a valid row,
 * ERR_INVALID for a result that is empty or has a line break. */
int store_idempotency_add(struct db *db, const struct idempotency_key *key,
	const struct idempotency *idempotency, struct err *err);

/* Removes up to max expired rows, oldest first. Returns how many, or -1. */
int store_idempotency_clean(struct db *db, int64_t now_us, int max, struct err *err);

/* Stores the results, and whether they are settled. Returns 1, 0 if there is no such row, -1 on
 * error. */
int store_idempotency_settle(struct db *db, const struct idempotency_key *key,
	const struct idempotency *idempotency, struct err *err);

/* Removes the row of a key that was not used after all. Returns 1, 0 if there is none, -1 on
 * error. */
int store_idempotency_remove(struct db *db, const struct idempotency_key *key, struct err *err);

#endif
