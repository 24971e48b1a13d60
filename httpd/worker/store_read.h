/*
 * store_read: a short read of the store, for a worker.
 *
 * A file answers within microseconds, so the worker's loop reads it in place. A database server
 * may be slow or not answer at all, and would hold up all requests of the loop: there only the
 * request that needs the row waits. A thread reads (worker_shared.lookups), or, if the statements
 * can be announced, the loop itself, which goes on until the answers are there.
 *
 * A round trip to the server, and a hand-over to a thread even more, cost more than the statements
 * of a small read. So reads that can announce their statements share it with the others that start
 * while the loop still has something else to do, or within two milliseconds while others are under
 * way.
 */
#ifndef POSTERN_HTTPD_WORKER_STORE_READ_H
#define POSTERN_HTTPD_WORKER_STORE_READ_H

#include <stdint.h>

#include "core/base/err.h"
#include "httpd/worker/work_pool.h"

struct db;
struct event_base;
struct store_reads;
struct worker;

/* Embed it in the object that it is about, which belongs to the reading thread until done runs. */
struct store_read {
	struct work work;        /* first; store_read's own, as are the next members */
	struct store_read *next; /* of those that are read together */
	bool again;              /* a statement of its group has failed: each asks for itself */
	bool wants_handle;       /* the thread shall leave its handle to the loop, in `handle` */
	struct db *handle;
	const struct worker *worker;
	/* Announces the statements of read() by db_read_ahead(), on the same thread; NULL: it
	 * cannot. Then the read has a thread to itself. */
	void (*announce)(struct store_read *read, struct db *db);
	/* Reads, on any thread. Of the worker it uses what all workers share. Returns 0, or -1 with
	 * err: the store failed; with announce, it may then be called once more. */
	int (*read)(struct store_read *read, struct db *db, struct err *err);
	/* Runs on the worker's thread, with the result. */
	void (*done)(struct store_read *read);
	int result; /* result of read(); -1 with err if there is no connection to read from */
	struct err err;
};

/* Has read() and then done() called, both before it returns if the store is a file. read and done
 * are set, announce too, if only to NULL. company_id is whose turn it uses on the threads (struct
 * work); with announce it is "". */
void store_read_start(struct worker *worker, struct store_read *read, const char *company_id);

/* The priorities of an event base that reads from a server: 0 and 1, and last this one. */
enum { STORE_READ_PRIORITY = 2 };

/* The reads of a worker from a server, with those priorities. The caller ensures that none are
 * under way when it frees them; NULL is fine. */
struct store_reads *store_reads_new(struct event_base *base);
void store_reads_free(struct store_reads *reads);
/* From the janitor: fails those that the server has not answered in time. */
void store_reads_look(struct store_reads *reads, int64_t now_us);
/* True if the loop has none that wait, or that it reads itself. */
bool store_reads_is_idle(const struct store_reads *reads);

#endif
