/*
 * store_purge: removes emails, their content and their events because of their age, or because a
 * person is to be forgotten.
 *
 * A step reads few rows and takes a few milliseconds, so that others can write between two steps.
 * Steps are not undone: an interrupted purge is simply started again.
 *
 * Emails that still wait are left: staged ones, and ones that Postfix may still deliver to a
 * recipient. Emails of the last 24 hours are left as well, because a repeated request may ask for
 * their result.
 */
#ifndef POSTERN_STORE_STORE_PURGE_H
#define POSTERN_STORE_STORE_PURGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/db/db.h"
#include "core/store/email/store_idempotency.h"

enum purge_kind {
	PURGE_EMAILS,  /* with all their data */
	PURGE_CONTENT, /* text and html, including those of emails that wait */
	PURGE_EVENTS,  /* except those of emails that wait */
	PURGE_KINDS
};

struct purge {
	enum purge_kind kind;
	int64_t before_us; /* only what was created, or recorded, before; 0: any time */
	/* For PURGE_EMAILS; NULL: any. */
	const char *domain;
	/* The recipient to forget, ignoring letter case. An email with other envelope recipients
	 * stays, without this recipient and its events. */
	const char *to;
	/* The path of the database, to remove the files of messages at once; NULL: later, by
	 * store_message_sweep(). */
	const char *database;
	bool dry; /* only count */

	/* The state of the walk; zeroed at first. */
	int64_t seq;
	int64_t removed;    /* rows of this kind */
	int64_t recipients; /* recipients removed from emails that stay */
	int64_t left;       /* matching emails that wait or are too recent */
};

/* One step, of about budget_us, in the caller's transaction, which a dry run does not need. Returns
 * 1 if there may be more; 0 at the end, which is the first row that is too recent; -1 on error. */
int store_purge_step(
	struct db *db, struct purge *purge, int64_t now_us, int64_t budget_us, struct err *err);

/*
 * clean: removes rows that nobody needs any more, a few at a time.
 *
 * It removes no email that was ever sent or refused. If a message waits in Postfix longer than its
 * row is kept, its ticket is unknown and the milter treats it as such: it is held or returned, not
 * lost.
 */

enum {
	/* How long a message may wait in Postfix before the milter sees it. */
	STORE_CLEAN_WAIT_S = 30 * 24 * 3600,
	/* The age at which the tickets of an email can no longer arrive. While its Idempotency-Key
	 * is valid it may be submitted again. */
	STORE_CLEAN_KEEP_S = STORE_IDEMPOTENCY_KEEP_S + STORE_CLEAN_WAIT_S,
	/* Companies whose staged emails a step looks at: some 2 ms of CPU time. */
	STORE_CLEAN_OWNERS = 500,
};

/* The state of a walk over the companies; zeroed at first. */
struct clean {
	char after[ID_SIZE];
};

/* Removes up to max rows of each kind: superseded tickets of emails older than STORE_CLEAN_KEEP_S,
 * and expired Idempotency-Keys; when few of them are left, emails that old that the milter never
 * decided about, of the next STORE_CLEAN_OWNERS companies. Returns 1 if there may be more, 0 at the
 * end of the walk, -1 on error. */
int store_clean(struct db *db, struct clean *clean, int64_t now_us, int max, struct err *err);

#endif
