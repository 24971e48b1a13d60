/*
 * counts: how many messages the milter has decided in which way.
 */
#ifndef POSTERN_MILTER_COUNTS_H
#define POSTERN_MILTER_COUNTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/log.h"
#include "core/policy/verdict.h"

/* All zero at the start. */
struct counts {
	atomic_uint_least64_t of[VERDICT_ACTIONS]; /* since the start */
	uint64_t logged; /* how many there were at the last line */
};

/* One more message. From any thread. */
void counts_add(struct counts *counts, enum verdict_action action);

/* Logs one line with all of them, each under the name of its action; false
 * when none has changed since the last line, which then was not made. From one
 * thread at a time. */
bool counts_log(struct counts *counts, struct log *log);

#endif
