/*
 * store_text_index: the index for text search: subject, sender, recipients and the Message-ID that
 * a client has chosen.
 *
 * The texts of some hundred emails of a company are stored together in a block, and a search reads
 * whole blocks. This finds any part of any word. The cost of a search depends on the company's own
 * emails, and shows nothing about other companies. A purged recipient is erased from the block in
 * the same transaction. Staging an email writes nothing here. doc/BENCHMARKS.md compares
 * alternatives.
 *
 * store_text_index_fill() adds emails to blocks later. A search reads emails without a block from
 * their rows, which is slower but finds the same.
 */
#ifndef POSTERN_STORE_STORE_TEXT_INDEX_H
#define POSTERN_STORE_STORE_TEXT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/strv.h"
#include "core/db/db.h"

/* Limits of one call of a search, each worth some ten milliseconds: bytes of blocks, emails without
 * a block, and emails found. */
enum {
	TEXT_INDEX_BYTES_MAX = 48 << 20,
	TEXT_INDEX_ROWS_MAX = 3000,
	TEXT_INDEX_FOUND_MAX = 1000,
};

/* Splits what a user has typed into words, with letter case removed; text in quotes is one word. An
 * email matches if its text contains all of them, in any order, also as parts of words. */
void store_text_index_words(const char *typed, struct strv *words);

struct text_look {
	const char *company_id; /* NULL: all */
	const struct strv *words;
	bool up;           /* towards the newest */
	int64_t low, high; /* seq, both inclusive */
};
struct text_found {
	int64_t *seqs; /* in the order of the search; the caller frees them */
	size_t n;
	bool cut;        /* there may be more */
	int64_t reached; /* with cut: the last seq up to which everything was read */
};
/* Finds the emails between low and high that contain all words. Returns 0 or -1. */
int store_text_index_find(
	struct db *db, const struct text_look *look, struct text_found *found_r, struct err *err);

/* Works for about budget_us, in the caller's transaction: removes erased texts from blocks, adds
 * new emails, then older ones. Returns 1 if there is more to do, 0 if not, -1 on error. */
int store_text_index_fill(struct db *db, int64_t budget_us, struct err *err);
/* Only removes erased texts from blocks, but all of them. Returns 0 or -1. */
int store_text_index_erase(struct db *db, struct err *err);

/* Reads the percentage of the emails older than the index that it does not contain yet. Returns 0
 * or -1. */
int store_text_index_missing(struct db *db, int64_t *percent_r, struct err *err);

#endif
