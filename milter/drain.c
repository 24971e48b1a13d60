/*
 * drain: counts messages, decisions and answers under one lock.
 *
 * Invariant: while draining, messages only goes down; once closed, decisions
 * only goes down, and then answers, since only a decision leads to one.
 * Threads: any.
 */
#include "milter/drain.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "core/base/clock.h"

struct drain {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* a count has become zero */
	size_t messages;
	size_t decisions;
	size_t answers;
	bool draining;
	bool closed;
};

struct drain *drain_new(void)
{
	struct drain *drain = mem_new(struct drain);
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&drain->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&drain->lock, NULL);
	return drain;
}

void drain_free(struct drain *drain)
{
	if (drain == NULL)
		return;
	pthread_cond_destroy(&drain->changed);
	pthread_mutex_destroy(&drain->lock);
	free(drain);
}

static bool count(struct drain *drain, size_t *counter, const bool *over)
{
	bool counted;

	pthread_mutex_lock(&drain->lock);
	counted = !*over;
	if (counted)
		(*counter)++;
	pthread_mutex_unlock(&drain->lock);
	return counted;
}

static void uncount(struct drain *drain, size_t *counter)
{
	pthread_mutex_lock(&drain->lock);
	assert(*counter > 0);
	if (--*counter == 0)
		pthread_cond_broadcast(&drain->changed);
	pthread_mutex_unlock(&drain->lock);
}

bool drain_begin(struct drain *drain)
{
	return count(drain, &drain->messages, &drain->draining);
}

void drain_end(struct drain *drain)
{
	uncount(drain, &drain->messages);
}

bool drain_enter(struct drain *drain)
{
	return count(drain, &drain->decisions, &drain->closed);
}

void drain_leave(struct drain *drain)
{
	uncount(drain, &drain->decisions);
}

void drain_answer(struct drain *drain)
{
	static const bool never = false;

	count(drain, &drain->answers, &never);
}

void drain_answered(struct drain *drain)
{
	uncount(drain, &drain->answers);
}

/* With the lock: whether the count became zero in time. */
static bool wait_for_none(
	struct drain *drain, const size_t *counter, int64_t wait_ms)
{
	const struct timespec end = clock_deadline(CLOCK_MONOTONIC, wait_ms);

	while (*counter > 0 && pthread_cond_timedwait(&drain->changed,
				       &drain->lock, &end) != ETIMEDOUT)
		continue;
	return *counter == 0;
}

bool drain_wait(struct drain *drain, int64_t wait_ms)
{
	bool done;

	pthread_mutex_lock(&drain->lock);
	drain->draining = true;
	done = wait_for_none(drain, &drain->messages, wait_ms);
	pthread_mutex_unlock(&drain->lock);
	return done;
}

bool drain_wait_answers(struct drain *drain, int64_t wait_ms)
{
	bool done;

	pthread_mutex_lock(&drain->lock);
	done = wait_for_none(drain, &drain->answers, wait_ms);
	pthread_mutex_unlock(&drain->lock);
	return done;
}

void drain_close(struct drain *drain)
{
	pthread_mutex_lock(&drain->lock);
	drain->closed = true;
	while (drain->decisions > 0)
		pthread_cond_wait(&drain->changed, &drain->lock);
	pthread_mutex_unlock(&drain->lock);
}
