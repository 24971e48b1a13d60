/*
 * store_idempotency: what was answered to requests with an Idempotency-Key.
 *
 * A row is added in the transaction that stages the emails of the request, and
 * removed in the one that takes all of them back. It counts for 24 hours;
 * older ones are as if they were not there, and go as new ones come, or by
 * store_clean().
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
	uint8_t hash[SECRET_HASH_LEN]; /* of what the client sent */
};

struct idempotency {
	uint8_t payload[SECRET_HASH_LEN]; /* of the request */
	int64_t created_us;
	bool settled; /* the results are final; else the emails tell */
	/* For each email in order its id, or `!` and why it was not sent. */
	struct strv results;
};

/* The result of an email that was not sent. Problems may quote what a client sent, and
 * results stand in lines. The caller frees it. */
char *store_idempotency_refusal(const char *why);

/* 1 found, 0 none of the last 24 hours, -1 cannot tell. Clear it when found. */
int store_idempotency_find(struct db *db, const struct idempotency_key *key, int64_t now_us,
	struct idempotency *idempotency_r, struct err *err);
void store_idempotency_clear(struct idempotency *idempotency);

/* Adds the row, now being its created_us, in place of one that is too old;
 * removes a few others of that kind. In the caller's transaction. ERR_EXISTS
 * when there is one that counts, ERR_INVALID for a result that is empty or has
 * a line break. */
int store_idempotency_add(struct db *db, const struct idempotency_key *key,
	const struct idempotency *idempotency, struct err *err);

/* Removes at most max rows that do not count any more, the oldest first. How
 * many went, or -1. */
int store_idempotency_clean(struct db *db, int64_t now_us, int max, struct err *err);

/* The results, which are final when so told. 1, 0 no such row, -1. */
int store_idempotency_settle(struct db *db, const struct idempotency_key *key,
	const struct idempotency *idempotency, struct err *err);

/* The key was not used after all. 1, 0 no such row, -1. */
int store_idempotency_remove(struct db *db, const struct idempotency_key *key, struct err *err);

#endif
