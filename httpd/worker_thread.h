/*
 * worker_thread: a worker and its thread, from start to drain.
 */
#ifndef POSTERN_HTTPD_WORKER_THREAD_H
#define POSTERN_HTTPD_WORKER_THREAD_H

#include <stdint.h>

#include "core/base/err.h"

struct conf;
struct worker_counts;
struct worker_shared;
struct worker_thread;

/* Makes the worker on the caller's thread. Takes ownership of conf, also on
 * failure. postfix_limit is Postfix's message_size_limit in bytes, 0 for none. */
int worker_thread_new(const struct worker_shared *shared, struct conf *conf, int64_t postfix_limit,
	struct worker_thread **thread_r, struct err *err);
/* Call it after worker_thread_join(), or if it was never started. NULL is fine. */
void worker_thread_free(struct worker_thread *thread);

/* The worker's counters, until it is freed. */
const struct worker_counts *worker_thread_counts(const struct worker_thread *thread);

/* Gives this worker the prober. Call it before the start. */
void worker_thread_probe(struct worker_thread *thread);

/* Any thread: start it, and wait for its end. */
int worker_thread_start(struct worker_thread *thread, struct err *err);
void worker_thread_join(struct worker_thread *thread);

/* Any thread: give the worker new settings. Takes ownership of fresh. */
void worker_thread_reload(struct worker_thread *thread, struct conf *fresh, int64_t postfix_limit);

/* Any thread: accept on another socket. The worker gets a descriptor of its
 * own. */
void worker_thread_listen(struct worker_thread *thread, int listen_fd);

/* Any thread: stop accepting, finish the requests under way, then end. */
void worker_thread_drain(struct worker_thread *thread);

#endif
