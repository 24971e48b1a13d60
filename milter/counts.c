/*
 * counts: a counter for each action.
 *
 * Invariant: counters only grow, so that their sum tells whether any changed.
 * Threads: as the header says.
 */
#include "milter/counts.h"

#include <assert.h>
#include <stddef.h>

void counts_add(struct counts *counts, enum verdict_action action)
{
	assert(action < VERDICT_ACTIONS);
	atomic_fetch_add(&counts->of[action], 1);
}

bool counts_log(struct counts *counts, struct log *log)
{
	int64_t n[VERDICT_ACTIONS];
	uint64_t sum = 0;

	for (size_t i = 0; i < VERDICT_ACTIONS; i++) {
		n[i] = (int64_t)atomic_load(&counts->of[i]);
		sum += (uint64_t)n[i];
	}
	if (sum == counts->logged)
		return false;
	counts->logged = sum;
	log_info(log, "counts", "record", LOG_INT(n[VERDICT_RECORD]), "pass",
		LOG_INT(n[VERDICT_PASS]), "learn", LOG_INT(n[VERDICT_LEARN]),
		"refuse", LOG_INT(n[VERDICT_REFUSE]), "discard",
		LOG_INT(n[VERDICT_DISCARD]), "probe", LOG_INT(n[VERDICT_PROBE]),
		"tempfail", LOG_INT(n[VERDICT_TEMPFAIL]));
	return true;
}
