/*
 * store_clean: removes what nobody needs any more, a little at a time.
 *
 * An email that was ever sent or refused is never removed. A message that waited
 * in Postfix for longer than its row is kept carries a ticket that nobody knows,
 * and is judged as such: what is refused is held or returned, not lost.
 */
#ifndef POSTERN_STORE_STORE_CLEAN_H
#define POSTERN_STORE_STORE_CLEAN_H

#include "core/db/db.h"
#include "core/store/store_idempotency.h"

enum {
	/* How long a message may wait in Postfix before the milter sees it. */
	STORE_CLEAN_WAIT_S = 30 * 24 * 3600,
	/* How old an email is when its tickets, those it has and those it had,
	 * cannot come any more: while its Idempotency-Key counts it may be
	 * submitted again. */
	STORE_CLEAN_KEEP_S = STORE_IDEMPOTENCY_KEEP_S + STORE_CLEAN_WAIT_S,
};

/* Removes at most max rows of each kind: emails that old of which the milter
 * has never decided; superseded tickets of emails that old; Idempotency-Keys
 * that do not count any more. 1 when there may be more of them, 0 when not,
 * -1. */
int store_clean(struct db *db, int64_t now_us, int max, struct err *err);

#endif
