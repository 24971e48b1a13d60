/*
 * filler: adds to the store what is computed from its rows afterwards: the text
 * index of emails (store_text_index_fill) and, after an upgrade, statistics of
 * earlier events (store_outcome_fill).
 *
 * A round takes a few milliseconds, in a lazy job, so that no write of a
 * request waits long for it. There is one every two seconds. While there is
 * more to do, each call of filler_round() starts one; call it every
 * FILLER_STEP_MS then.
 */
#ifndef POSTERN_HTTPD_FILLER_H
#define POSTERN_HTTPD_FILLER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/clock.h"
#include "core/db/committer.h"

struct log;

enum {
	FILLER_EVERY_MS = 2000,
	FILLER_STEP_MS = 50,
	FILLER_BUDGET_US = 3000,
};

struct filler;

/* The caller keeps ownership of the arguments. Free the committer before the
 * filler. */
struct filler *filler_new(struct committer *committer, const struct clock *clock, struct log *log);
void filler_free(struct filler *filler);

/* Submits a round to the committer, if one is due and none is under way. now_us
 * is of a monotonic clock. Returns true if a round is under way now. */
bool filler_round(struct filler *filler, int64_t now_us);

#endif
