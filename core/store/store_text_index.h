/*
 * store_text_index: the texts that emails are searched by: subject, sender, recipients and the
 * Message-ID that a client has chosen.
 *
 * The texts of some hundred emails of a company lie beside each other in a block, and a search
 * reads blocks from end to end. That finds any part of any word; what a company searches costs what
 * its own emails do and nothing of another one's; who is erased is erased from the block, in the
 * same transaction; and staging an email writes nothing here. doc/BENCHMARKS.md has what it was
 * compared with.
 *
 * store_text_index_fill() keeps the blocks behind the emails. What it has not come to yet a search
 * reads from the emails themselves, which takes longer and finds the same.
 */
#ifndef POSTERN_STORE_STORE_TEXT_INDEX_H
#define POSTERN_STORE_STORE_TEXT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/strv.h"
#include "core/db/db.h"

/* What a search reads before it says where it goes on: bytes of blocks, emails that no block has,
 * and how many emails it finds. A few ten milliseconds each. */
enum {
	TEXT_INDEX_BYTES_MAX = 48 << 20,
	TEXT_INDEX_ROWS_MAX = 3000,
	TEXT_INDEX_FOUND_MAX = 1000,
};

/* The words of what somebody has typed, without letter case; what stands in quotes is one. All
 * of them have to occur in the text of an email, in any order, also as parts of its words. */
void store_text_index_words(const char *typed, struct strv *words);

struct text_look {
	const char *company_id; /* NULL: all */
	const struct strv *words;
	bool up;           /* towards the newest */
	int64_t low, high; /* of seq, both inclusive */
};
struct text_found {
	int64_t *seqs; /* in the order of the look; the caller frees them */
	size_t n;
	bool cut;        /* there may be more */
	int64_t reached; /* then: the last seq up to which all was read */
};
/* Finds the emails between low and high with all words: 0 or -1. */
int store_text_index_find(
	struct db *db, const struct text_look *look, struct text_found *found_r, struct err *err);

/* Works for about budget_us, in the caller's transaction: removes from blocks what is gone, adds
 * new emails, then those from before. 1 when there is more to do, 0, -1. */
int store_text_index_fill(struct db *db, int64_t budget_us, struct err *err);
/* The same with what is gone alone, and with all of it. 0 or -1. */
int store_text_index_erase(struct db *db, struct err *err);

/* Of the emails that were there when the index came to be, how many of a hundred it has not got
 * yet: 0 or -1. */
int store_text_index_missing(struct db *db, int64_t *percent_r, struct err *err);

#endif
