/*
 * store_held: which messages in Postfix's hold queue are there because of the
 * rules. A queue file does not say who had it held, nor why.
 */
#ifndef POSTERN_STORE_STORE_HELD_H
#define POSTERN_STORE_STORE_HELD_H

#include "core/base/id.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/row.h"

enum {
	/* How many rows there may be: one for each held message of which
	 * Postfix has a file, unless somebody removes those behind our back. */
	STORE_HELD_MAX = 100000
};

struct held {
	char id[ID_SIZE];
	char *queue_id;
	char *reason;      /* a word, as verdict_reason_name() */
	char *reason_text; /* no column: for who shows it */
	char *domain;      /* the registered one that it claims; "" for none */
	char *from;        /* the mailbox of the header From, or its text */
	int64_t held_us;
	/* From its queue file, which root alone may read. */
	int64_t read_us; /* 0: nobody has read it yet, and the rest is empty */
	char *sender;
	struct strv recipients;
	char *subject;
	int64_t size;
	char *header; /* of store_held_find() */
	/* What an admin has decided, and root has not done yet: a word of held_decisions; NULL:
	 * nothing. And what came of a decision that left the message where it is; "": nothing. */
	char *decision;
	int64_t decided_us;
	char *answer;
};

extern const struct row_type store_held_type;       /* without the header */
extern const struct row_type store_held_whole_type; /* with it */

struct held_list {
	struct held *items;
	size_t n;
};

enum held_decision { HELD_RECHECK, HELD_RELEASE, HELD_DROP };
/* `recheck`, `release`, `drop`. */
extern const struct row_words held_decisions;

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

/* The one with this id, with its header: 1, 0, -1. */
int store_held_find(struct db *db, const char *id, struct held *held_r, struct err *err);
/* A page, the newest first: 1, 0 when the cursor is none of them, -1. */
int store_held_page(struct db *db, const struct page *page, struct held_list *list_r,
	struct page_end *end_r, struct err *err);
void store_held_list_free(struct held_list *list);

/* What an admin decides about one: 1, 0 when it is gone, -1. */
int store_held_decide(struct db *db, const char *id, enum held_decision decision, int64_t now_us,
	struct err *err);
/* Those that were not read yet, or that something is decided about, the oldest first: 0 or -1. And
 * how many decisions from before then were not carried out. */
int store_held_open(struct db *db, int max, struct held_list *list_r, struct err *err);
int store_held_late(struct db *db, int64_t before_us, int64_t *count_r, struct err *err);
/* Writes down what its queue file says. 0 or -1. */
int store_held_set_read(struct db *db, const struct held *held, struct err *err);
/* The decision is carried out, and the message is still held: why. 0 or -1. */
int store_held_set_answer(struct db *db, const char *queue_id, const char *answer, struct err *err);

/* How many there are: 0 or -1. */
int store_held_count(struct db *db, int64_t *count_r, struct err *err);

/* The queue ids of those that were noted before then, the oldest first, max at
 * most: 0 or -1. */
int store_held_queue_ids(
	struct db *db, int64_t before_us, int max, struct strv *ids_r, struct err *err);

/* The message is held no more. 0, also when there was no row, or -1. */
int store_held_forget(struct db *db, const char *queue_id, struct err *err);

#endif
