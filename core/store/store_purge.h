/*
 * store_purge: removes emails, what they said, and what became of them, for
 * their age or because somebody is to be forgotten.
 *
 * A step looks at few rows and takes a few milliseconds, so that others write
 * between two of them. What was removed stays so: whoever is interrupted begins
 * anew.
 *
 * An email that still waits is left as it is: a staged one, and one that
 * Postfix may have yet for one of its recipients. So is one of the last 24
 * hours: a repeated request may ask what became of it.
 */
#ifndef POSTERN_STORE_STORE_PURGE_H
#define POSTERN_STORE_STORE_PURGE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/db/db.h"
#include "core/store/store_idempotency.h"

enum purge_kind {
	PURGE_EMAILS,  /* with all that belongs to them */
	PURGE_CONTENT, /* text and html, also of emails that wait */
	PURGE_EVENTS,  /* not those of emails that wait */
	PURGE_KINDS
};

struct purge {
	enum purge_kind kind;
	int64_t before_us; /* created, or recorded, before; 0: at any time */
	/* Of PURGE_EMAILS; NULL: any. */
	const char *domain;
	/* The recipient to forget, in any letter case. An email that has others
	 * in its envelope stays, without this recipient and its events. */
	const char *to;
	/* Its path, by which files of messages go at once; NULL: later. */
	const char *database;
	bool dry; /* only counts */

	/* Where the walk stands; zeroed at first. */
	int64_t seq;
	int64_t removed;    /* rows of the kind */
	int64_t recipients; /* removed from emails that stay */
	int64_t left;       /* emails that fit, but wait or are too young */
};

/* In the caller's transaction, which a dry one does not need. It ends after
 * about budget_us. 1 when there may be more; 0 at the end, which is the first
 * row that is too young; -1. */
int store_purge_step(
	struct db *db, struct purge *purge, int64_t now_us, int64_t budget_us, struct err *err);

/*
 * clean: what nobody needs any more goes, a little at a time.
 *
 * An email that was ever sent or refused is not among it. A message that waited
 * in Postfix for longer than its row is kept carries a ticket that nobody
 * knows, and is judged as such: what is refused is held or returned, not lost.
 */

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
