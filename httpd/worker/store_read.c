/*
 * store_read: reads in place, or on a thread with a handle of its pool.
 *
 * Once the server is known not to answer, the reads that wait for a thread fail at once.
 *
 * Threads: the worker's, except for read_on_thread().
 */
#include "httpd/worker/store_read.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/db/db_pool.h"
#include "core/db/db_watch.h"
#include "httpd/worker/worker.h"

enum {
	/* The most reads of a thread at once: the rows of all are in memory together. */
	TOGETHER_MAX = 16,
	/* How long reads wait for those before them, while the server may be slow. */
	WAIT_US = 2000,
};

/* Reads that wait: for the end of this round of the loop, or for those that were submitted last.
 * The more requests there are at a time, the more of them share a round trip. */
struct store_reads {
	struct event *due; /* runs on_due() */
	struct store_read *first, **end;
	size_t n;
	const struct store_read
		*under_way; /* submitted last; NULL: done, or waited for long enough */
};

/* Fails a read and those behind it: while the server does not answer in time, each would wait as
 * long as the one before. */
static void fail_from(struct store_read *read, const struct err *err)
{
	for (; read; read = read->next) {
		read->result = -1;
		read->err = *err;
	}
}

/* The first of the reads stands for all. */
static bool read_on_thread(struct work *work)
{
	struct store_read *first = CONTAINER_OF(work, struct store_read, work), *read;
	const struct worker_shared *shared = first->worker->shared;
	struct err err = ERR_INIT;
	bool ok = true;
	struct db *db;

	if (db_watch_look(shared->server, &err) != 0 ||
		db_pool_take(shared->lookup_handles, &db, &err) != 0) {
		fail_from(first, &err);
		return true;
	}
	for (read = first; read; read = read->next)
		if (read->announce)
			read->announce(read, db);
	for (read = first; read && err.code == ERR_NONE; read = read->next) {
		read->result = read->read(read, db, &read->err);
		ok &= read->result == 0;
		if (read->err.code == ERR_TEMPORARY) {
			err = read->err;
			fail_from(read->next, &err);
		}
	}
	db_end_ahead(db);
	db_pool_give(shared->lookup_handles, db, ok);
	return true;
}

static void submit_waiting(struct store_reads *reads);

static void on_read(struct task *task)
{
	struct store_read *read = CONTAINER_OF(task, struct store_read, work.done), *next;
	struct store_reads *reads = read->worker->reads;

	/* The next ones are read while these go on. */
	if (read == reads->under_way)
		submit_waiting(reads);
	for (; read; read = next) {
		next = read->next;
		read->done(read);
	}
}

static void submit(struct store_read *first, const char *company_id)
{
	const struct worker *worker = first->worker;

	first->work = (struct work){
		.done = {.run = on_read},
		.tasks = worker->tasks,
		.company_id = company_id,
		.run = read_on_thread,
	};
	work_pool_submit(worker->shared->lookups, &first->work);
}

static void submit_waiting(struct store_reads *reads)
{
	struct store_read *first = reads->first;

	event_del(reads->due);
	reads->first = NULL;
	reads->end = &reads->first;
	reads->n = 0;
	reads->under_way = first;
	if (first)
		submit(first, "");
}

static void on_due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	submit_waiting(arg);
}

static void submit_soon(struct store_reads *reads)
{
	const struct timeval wait = {.tv_usec = WAIT_US};

	if (reads->n == TOGETHER_MAX)
		submit_waiting(reads);
	else if (reads->n > 1)
		return; /* it is due already */
	else if (reads->under_way)
		event_add(reads->due, &wait);
	else
		event_active(reads->due, EV_READ, 0);
}

void store_read_start(struct worker *worker, struct store_read *read, const char *company_id)
{
	struct store_reads *reads = worker->reads;

	read->worker = worker;
	read->next = NULL;
	read->err.code = ERR_NONE;
	if (reads == NULL) {
		read->result = read->read(read, worker->db, &read->err);
		read->done(read);
		return;
	}
	if (read->announce == NULL) {
		submit(read, company_id);
		return;
	}
	assert(str_empty(company_id));
	*reads->end = read;
	reads->end = &read->next;
	reads->n++;
	submit_soon(reads);
}

struct store_reads *store_reads_new(struct event_base *base)
{
	struct store_reads *reads = mem_new(struct store_reads);

	reads->due = event_new(base, -1, 0, on_due, reads);
	reads->end = &reads->first;
	return reads;
}

void store_reads_free(struct store_reads *reads)
{
	if (reads == NULL)
		return;
	assert(reads->first == NULL);
	event_free(reads->due);
	free(reads);
}
