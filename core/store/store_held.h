/*
 * store_held: which messages in Postfix's hold queue are there because of the
 * rules. A queue file does not say who had it held, nor why.
 */
#ifndef POSTERN_STORE_STORE_HELD_H
#define POSTERN_STORE_STORE_HELD_H

#include "core/base/strv.h"
#include "core/db/db.h"

enum {
	/* How many rows there may be: one for each held message of which
	 * Postfix has a file, unless somebody removes those behind our back. */
	STORE_HELD_MAX = 100000
};

struct held {
	char *queue_id;
	char *reason; /* a word, as verdict_reason_name() */
	char *domain; /* the registered one that it claims; "" for none */
	char *from;   /* the mailbox of the header From, or its text */
	int64_t held_us;
};

/* What the milter knows of one message; NULL stands for "". */
struct held_note {
	const char *queue_id;
	const char *reason;
	const char *domain;
	const char *from;
	int64_t now_us;
};

/* Writes one down, its texts cut to 256 bytes and made UTF-8. A row of an
 * earlier message with the same queue id is replaced, and beyond STORE_HELD_MAX
 * the oldest give way. 0 or -1. */
int store_held_note(struct db *db, const struct held_note *note, struct err *err);

/* Why the message with this queue id, which came to Postfix at arrival_s, is
 * held: 1, 0 when it is not by the rules, -1. Postfix uses a queue id again
 * when its message is gone; a row that is older than the message is of another
 * one. */
int store_held_get(struct db *db, const char *queue_id, int64_t arrival_s, struct held *held_r,
	struct err *err);
void store_held_clear(struct held *held);

/* How many there are: 0 or -1. */
int store_held_count(struct db *db, int64_t *count_r, struct err *err);

/* The queue ids of those that were noted before then, the oldest first, max at
 * most: 0 or -1. */
int store_held_queue_ids(
	struct db *db, int64_t before_us, int max, struct strv *ids_r, struct err *err);

/* The message is held no more. 0, also when there was no row, or -1. */
int store_held_forget(struct db *db, const char *queue_id, struct err *err);

#endif
