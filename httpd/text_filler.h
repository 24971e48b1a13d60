/*
 * text_filler: keeps the text index of emails up to date, see
 * store_text_index_fill().
 *
 * A round takes a few milliseconds, in a lazy job, so that no write of a
 * request waits long for it. There is one every two seconds. While there is
 * more to do, each call of text_filler_round() starts one; call it every
 * TEXT_FILLER_STEP_MS then.
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

/* The caller keeps ownership of the committer and log. Free the committer
 * before the filler. */
struct text_filler *text_filler_new(struct committer *committer, struct log *log);
void text_filler_free(struct text_filler *filler);

/* Submits a round to the committer, if one is due and none is under way. now_us
 * is of a monotonic clock. Returns true if a round is under way now. */
bool text_filler_round(struct text_filler *filler, int64_t now_us);

#endif
