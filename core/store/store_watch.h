/*
 * store_watch: detects changes, for callers that poll.
 *
 * A look costs a few index look-ups, however large the store. It sees new emails, changes of
 * emails' status, changes of the newest emails; new refusals; and everything in the audit log. It
 * may miss removals.
 */
#ifndef POSTERN_STORE_STORE_WATCH_H
#define POSTERN_STORE_STORE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/db/db.h"

enum watch_topic { WATCH_EMAILS, WATCH_REFUSALS, WATCH_TENANTS, WATCH_TOPICS };

/* Zeroed at first. */
struct store_watch {
	bool began;
	uint64_t marks[WATCH_TOPICS]; /* values at the last look */
};

const char *store_watch_topic(enum watch_topic topic);

/* Looks for changes, for one company or for all (NULL). *changed_r: the topics that changed since
 * the previous look, as bits 1 << topic; none at the first look. Returns 0 or -1. */
int store_watch_look(struct db *db, const char *company_id, int64_t now_us,
	struct store_watch *watch, unsigned *changed_r, struct err *err);

#endif
