/*
 * store_watch: whether anything has changed, for who keeps looking.
 *
 * A look costs a few steps in indexes, whatever the store holds. It sees new
 * emails, what became of one, and changes of the newest ones; refusals that
 * were noted; and all that the audit log tells. What was removed it may miss.
 */
#ifndef POSTERN_STORE_STORE_WATCH_H
#define POSTERN_STORE_STORE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/db/db.h"

enum watch_topic { WATCH_EMAILS, WATCH_REFUSALS, WATCH_TENANTS, WATCH_TOPICS };

/* Starts zeroed. */
struct store_watch {
	bool began;
	uint64_t marks[WATCH_TOPICS]; /* as of the last look */
};

const char *store_watch_topic(enum watch_topic topic);

/* Looks, for one company or for all (NULL). changed_r: the topics in which
 * something changed since the look before, as bits; none at the first. 0 or
 * -1. */
int store_watch_look(struct db *db, const char *company_id, int64_t now_us,
	struct store_watch *watch, unsigned *changed_r, struct err *err);

#endif
