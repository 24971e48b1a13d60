/*
 * text_filler: keeps the texts that emails are searched by behind the emails, see
 * store_text_index_fill().
 *
 * A round takes a few milliseconds, in a lazy job, so that no write of a request waits long behind
 * it. There is one every two seconds; while there is more to do, one whenever it is asked, which
 * should be every TEXT_FILLER_STEP_MS.
 */
#ifndef POSTERN_HTTPD_TEXT_FILLER_H
#define POSTERN_HTTPD_TEXT_FILLER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/db/committer.h"

struct log;

enum {
	TEXT_FILLER_EVERY_MS = 2000,
	TEXT_FILLER_STEP_MS = 50,
	TEXT_FILLER_BUDGET_US = 3000,
};

struct text_filler;

/* The committer stays the caller's, and must be gone before the filler is freed. */
struct text_filler *text_filler_new(struct committer *committer, struct log *log);
void text_filler_free(struct text_filler *filler);

/* Hands a round to the committer, if one is due and none is under way. now_us is of a clock that
 * never goes back. Whether there is more to do now. */
bool text_filler_round(struct text_filler *filler, int64_t now_us);

#endif
