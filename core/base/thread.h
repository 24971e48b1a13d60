/*
 * thread: threads without signals, and a thread that repeats its work at intervals.
 */
#ifndef POSTERN_BASE_THREAD_H
#define POSTERN_BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

#include "core/base/err.h"

/* Starts a thread that blocks all signals, which are the main thread's. Returns 0 or -1. */
int thread_start(pthread_t *thread_r, void *(*run)(void *arg), void *arg, struct err *err);

/* A thread that does its work after first_us, and again each time after as many microseconds as
 * work() has returned. */
struct ticker;
int ticker_start(int64_t (*work)(void *arg), void *arg, int64_t first_us, struct ticker **ticker_r,
	struct err *err);
/* Waits until work() has returned, and frees the ticker. NULL is fine. */
void ticker_stop(struct ticker *ticker);

#endif
