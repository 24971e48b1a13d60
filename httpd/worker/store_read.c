/*
 * store_read: reads in place, or from a server: on the worker's own connection, or on a thread with
 * a handle of its pool.
 *
 * Reads that announce their statements go in groups:
 *
 *   store_read_start ── submit_waiting ── send_group ···· on_answered ── done
 *                                  └──── read_on_thread ── on_read ── done
 *
 * The worker's loop has a connection, on which one group is under way at a time: it sends the
 * statements, goes on, and reads from the answers once all have come. Nothing there waits for the
 * server. A thread has all the time that its handle has, and connects. So threads read what cannot
 * be read on the connection: groups that would wait too long for the one before, those of a
 * connection that was lost, and reads of which a statement has failed. The first thread that has
 * read leaves its handle to the loop.
 *
 * Threads: the worker's, except for read_on_thread().
 */
#include "httpd/worker/store_read.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/db/db_pool.h"
#include "core/db/db_watch.h"
#include "httpd/worker/worker.h"

enum {
	/* The most reads at once: the rows of all are in memory together. */
	TOGETHER_MAX = 16,
	/* How long reads wait for those before them, while the server may be slow. */
	WAIT_US = 2000,
	/* How long the server may take to answer, as for a thread. */
	ANSWER_MS = 1500,
};

struct store_reads {
	struct event_base *base;
	/* Reads that wait: until the loop has nothing else to do, or for those that were submitted
	 * last. The more requests there are at a time, the more of them share a round trip. */
	struct store_read *first, **end;
	size_t n;
	struct event *due;  /* runs on_due(), when the loop has nothing else to do */
	struct event *late; /* the same, when the first has waited for WAIT_US */
	const struct store_read
		*under_way; /* submitted last; NULL: done, or waited for long enough */
	/* The loop's connection. */
	struct db *db;           /* NULL: there is none */
	struct event *answered;  /* its socket can be read */
	struct store_read *sent; /* the first of the group that is read on it, or NULL */
	int64_t sent_us;         /* monotonic */
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

static void announce_all(struct store_read *read, struct db *db)
{
	for (; read; read = read->next)
		if (read->announce)
			read->announce(read, db);
}

/* The first of the reads stands for all. */
static bool read_on_thread(struct work *work)
{
	struct store_read *first = CONTAINER_OF(work, struct store_read, work), *read;
	const struct worker_shared *shared = first->worker->shared;
	struct err err = ERR_INIT;
	bool ok = true;
	int slow = 0;
	struct db *db;

	if (db_watch_look(shared->server, &err) != 0 ||
		db_pool_take(shared->lookup_handles, &db, &err) != 0) {
		fail_from(first, &err);
		return true;
	}
	if (!first->again)
		announce_all(first, db);
	for (read = first; read && err.code == ERR_NONE; read = read->next) {
		read->result = read->read(read, db, &read->err);
		ok &= read->result == 0;
		/* One that the server has ended, as too slow, costs nobody else its answer. */
		if (read->err.code == ERR_TEMPORARY &&
			(!first->again || db_ahead_socket(db) < 0 || ++slow > 1)) {
			err = read->err;
			fail_from(read->next, &err);
		}
	}
	db_end_ahead(db);
	if (ok && first->wants_handle) {
		first->handle = db;
		db_pool_release(shared->lookup_handles);
	} else {
		db_pool_give(shared->lookup_handles, db, ok);
	}
	return true;
}

static void submit_waiting(struct store_reads *reads);
static void on_answered(evutil_socket_t fd, short what, void *arg);

/* Makes the handle of a thread the loop's connection, unless it has one. */
static void connect_loop(struct store_reads *reads, struct db *db)
{
	if (reads->db || db_ahead_socket(db) < 0) {
		db_close(db);
		return;
	}
	db_set_ahead_only(db);
	reads->db = db;
	reads->answered = event_new(
		reads->base, db_ahead_socket(db), EV_READ | EV_PERSIST, on_answered, reads);
	event_add(reads->answered, NULL);
}

static void on_read(struct task *task)
{
	struct store_read *read = CONTAINER_OF(task, struct store_read, work.done), *next;
	struct store_reads *reads = read->worker->reads;

	if (read->handle)
		connect_loop(reads, TAKE_PTR(read->handle));
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

	first->wants_handle = first->announce && worker->reads->db == NULL;
	first->handle = NULL;
	first->work = (struct work){
		.done = {.run = on_read},
		.tasks = worker->tasks,
		.company_id = company_id,
		.run = read_on_thread,
	};
	work_pool_submit(worker->shared->lookups, &first->work);
}

/* Ends the loop's connection. Returns the group that was read on it, or NULL. */
static struct store_read *disconnect_loop(struct store_reads *reads)
{
	if (reads->answered)
		event_free(TAKE_PTR(reads->answered));
	db_close(TAKE_PTR(reads->db));
	return TAKE_PTR(reads->sent);
}

/* Returns false if the loop has no connection, or it is lost, or the server is known not to answer,
 * as a thread then tells at once. */
static bool send_group(struct store_reads *reads, struct store_read *first)
{
	struct err err = ERR_INIT;

	if (reads->db == NULL || db_watch_look(first->worker->shared->server, &err) != 0)
		return false;
	announce_all(first, reads->db);
	if (db_ahead_send(reads->db, NULL) != 0) {
		disconnect_loop(reads);
		return false;
	}
	reads->sent = first;
	reads->sent_us = clock_monotonic_us();
	return true;
}

static void submit_waiting(struct store_reads *reads)
{
	struct store_read *first = reads->first;

	event_del(reads->due);
	event_del(reads->late);
	reads->first = NULL;
	reads->end = &reads->first;
	reads->n = 0;
	reads->under_way = first;
	if (first && (reads->sent || !send_group(reads, first)))
		submit(first, "");
}

static void on_answered(evutil_socket_t fd, short what, void *arg)
{
	struct store_reads *reads = arg;
	int answered = db_ahead_receive(reads->db, NULL);
	struct store_read *read, *first, *next, *failed = NULL, **end = &failed;

	(void)fd;
	(void)what;
	if (answered == 0)
		return;
	if (answered < 0) {
		read = disconnect_loop(reads);
		if (read)
			submit(read, "");
		return;
	}
	first = TAKE_PTR(reads->sent);
	for (read = first; read; read = read->next)
		read->result = read->read(read, reads->db, &read->err);
	db_end_ahead(reads->db);
	/* Those that wait go with what the clients of these ask for next. */
	reads->under_way = NULL;
	if (reads->first)
		event_active(reads->due, EV_READ, 0);
	for (read = first; read; read = next) {
		next = read->next;
		if (read->result == 0) {
			read->done(read);
			continue;
		}
		read->next = NULL;
		read->err = ERR_INIT;
		read->again = true;
		*end = read;
		end = &read->next;
	}
	if (failed)
		submit(failed, "");
}

void store_reads_look(struct store_reads *reads, int64_t now_us)
{
	struct store_read *read, *next;
	struct err err = ERR_INIT;

	if (reads->sent == NULL || now_us - reads->sent_us < ANSWER_MS * INT64_C(1000))
		return;
	err_set(&err, ERR_TEMPORARY, "the database server has not answered within %d ms",
		ANSWER_MS);
	read = disconnect_loop(reads);
	fail_from(read, &err);
	if (read == reads->under_way)
		submit_waiting(reads);
	for (; read; read = next) {
		next = read->next;
		read->done(read);
	}
}

bool store_reads_is_idle(const struct store_reads *reads)
{
	return reads->sent == NULL && reads->first == NULL;
}

static void on_due(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	submit_waiting(arg);
}

void store_read_start(struct worker *worker, struct store_read *read, const char *company_id)
{
	const struct timeval wait = {.tv_usec = WAIT_US};
	struct store_reads *reads = worker->reads;

	read->worker = worker;
	read->next = NULL;
	read->again = false;
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
	if (reads->n == TOGETHER_MAX)
		submit_waiting(reads);
	if (reads->n != 1)
		return; /* they are gone, or due already */
	event_add(reads->late, &wait);
	if (reads->under_way == NULL)
		event_active(reads->due, EV_READ, 0);
}

struct store_reads *store_reads_new(struct event_base *base)
{
	struct store_reads *reads = mem_new(struct store_reads);

	reads->base = base;
	reads->due = event_new(base, -1, 0, on_due, reads);
	event_priority_set(reads->due, STORE_READ_PRIORITY);
	reads->late = event_new(base, -1, 0, on_due, reads);
	reads->end = &reads->first;
	return reads;
}

void store_reads_free(struct store_reads *reads)
{
	if (reads == NULL)
		return;
	assert(store_reads_is_idle(reads));
	disconnect_loop(reads);
	event_free(reads->due);
	event_free(reads->late);
	free(reads);
}
