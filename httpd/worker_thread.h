/*
 * worker_thread: a worker with its thread, from start to drain.
 */
#ifndef POSTERN_HTTPD_WORKER_THREAD_H
#define POSTERN_HTTPD_WORKER_THREAD_H

#include <stdint.h>

#include "core/base/err.h"

struct conf;
struct worker_counts;
struct worker_shared;
struct worker_thread;

/* Takes conf over. The worker is made on the caller's thread. postfix_limit is
 * Postfix's message_size_limit in bytes; 0: none. */
int worker_thread_new(const struct worker_shared *shared, struct conf *conf, int64_t postfix_limit,
	struct worker_thread **thread_r, struct err *err);
/* After worker_thread_join(), or when it was never started. NULL is fine. */
void worker_thread_free(struct worker_thread *thread);

/* What it counts, until it is freed. */
const struct worker_counts *worker_thread_counts(const struct worker_thread *thread);

/* Before its start: it is the one that tries whether emails go out. */
void worker_thread_probe(struct worker_thread *thread);

/* Any thread: starts it; waits for its end. */
int worker_thread_start(struct worker_thread *thread, struct err *err);
void worker_thread_join(struct worker_thread *thread);

/* Any thread: new settings, taken over by the worker. */
void worker_thread_reload(struct worker_thread *thread, struct conf *fresh, int64_t postfix_limit);

/* Any thread: accept on another socket, of which the worker gets a descriptor
 * of its own. */
void worker_thread_listen(struct worker_thread *thread, int listen_fd);

/* Any thread: finish what has begun, accept no more, then end. */
void worker_thread_drain(struct worker_thread *thread);

#endif
