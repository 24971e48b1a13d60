/*
 * store_held: the messages that the rules put into Postfix's hold queue, and why. A queue file
 * records neither.
 */
#ifndef POSTERN_STORE_STORE_HELD_H
#define POSTERN_STORE_STORE_HELD_H

#include "core/base/id.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/row.h"

enum {
	/* The maximum number of rows. There is one for each held message that Postfix has a file
	 * of, unless somebody removes these files without Postern. */
	STORE_HELD_MAX = 100000
};

struct held {
	char id[ID_SIZE];
	char *queue_id;
	char *host;        /* in whose hold queue it is; "": there is one host */
	char *reason;      /* a word of verdict_reason_name() */
	char *reason_text; /* not a column: set by the caller */
	char *domain;      /* the registered domain that it claims; "" for none */
	char *from;        /* the mailbox of the header From, or its raw text */
	int64_t held_us;
	/* From the queue file, which only root can read. */
	int64_t read_us; /* 0: not read yet, and the members below are empty */
	char *sender;
	struct strv recipients;
	char *subject;
	int64_t size;
	char *header; /* only set by store_held_find() */
	/* decision: what an admin has decided and `postern held serve` has not carried out yet, a
	 * word of held_decisions; NULL: none. answer: why a decision left the message held; "":
	 * none. */
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

/* What the milter knows about a message; NULL stands for "". */
struct held_note {
	const char *queue_id;
	const char *reason;
	const char *domain;
	const char *from;
	int64_t now_us;
};

/* Adds a row; texts are cut to 256 bytes and made valid UTF-8. It replaces the row of an earlier
 * message with the same queue id. Beyond STORE_HELD_MAX the oldest rows are removed. Returns 0 or
 * -1. */
int store_held_note(struct db *db, const struct held_note *note, struct err *err);

/* Finds why the message with this queue id, which arrived at arrival_s, is held. Returns 1, 0 if
 * the rules do not hold it, -1 on error. Postfix reuses queue ids: a row older than the message
 * belongs to another one. */
int store_held_get(struct db *db, const char *queue_id, int64_t arrival_s, struct held *held_r,
	struct err *err);
void store_held_clear(struct held *held);

/* Reads the row with this id, including the header. Returns 1, 0 if there is none, -1 on error. */
int store_held_find(struct db *db, const char *id, struct held *held_r, struct err *err);
/* Reads a page, newest first, of messages that use a domain of the company, or of any (NULL).
 * Returns 1, 0 if the cursor is not in the list, -1 on error. */
int store_held_page(struct db *db, const char *company_id, const struct page *page,
	struct held_list *list_r, struct page_end *end_r, struct err *err);
void store_held_list_free(struct held_list *list);

/* Stores an admin's decision. Returns 1, 0 if the row is gone, -1 on error. */
int store_held_decide(struct db *db, const char *id, enum held_decision decision, int64_t now_us,
	struct err *err);
/* _open: lists the rows that were not read yet or have a decision, oldest first. _late: counts the
 * decisions made before before_us that were not carried out. Return 0 or -1. */
int store_held_open(struct db *db, int max, struct held_list *list_r, struct err *err);
int store_held_late(struct db *db, int64_t before_us, int64_t *count_r, struct err *err);
/* Stores what its queue file says. Returns 0 or -1. */
int store_held_set_read(struct db *db, const struct held *held, struct err *err);
/* Stores why the message is still held after its decision was carried out. Returns 0 or -1. */
int store_held_set_answer(struct db *db, const char *queue_id, const char *answer, struct err *err);

/* Counts the rows. Returns 0 or -1. */
int store_held_count(struct db *db, int64_t *count_r, struct err *err);

/* Counts the rows of other hosts, and names one of these; NULL for none, the caller frees it. */
int store_held_elsewhere(struct db *db, int64_t *count_r, char **host_r, struct err *err);

/* Lists the queue ids of rows added before before_us, oldest first, up to max. Returns 0 or -1. */
int store_held_queue_ids(
	struct db *db, int64_t before_us, int max, struct strv *ids_r, struct err *err);

/* Removes the row of a message that is no longer held. Returns 0, also if there was none, or -1. */
int store_held_forget(struct db *db, const char *queue_id, struct err *err);

#endif
