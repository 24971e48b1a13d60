/*
 * worker: the parts of a worker, for everything that runs on its thread.
 *
 * Each worker has an event base, an evhttp on the shared listening socket, a
 * read handle on the store (or threads that read, see store_read.h), and an
 * injector, which the prober uses. Only the worker's thread uses what is
 * declared here, except where a comment says otherwise.
 */
#ifndef POSTERN_HTTPD_WORKER_WORKER_H
#define POSTERN_HTTPD_WORKER_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/cidr.h"
#include "core/base/secret.h"
#include "httpd/worker/database_watch.h"

struct budget;
struct clock;
struct committer;
struct conf;
struct conn_table;
struct db;
struct db_pool;
struct db_watch;
struct event_base;
struct evhttp;
struct inject;
struct key_use;
struct listener;
struct live;
struct log;
struct login_throttle;
struct outbox;
struct postfix_run;
struct probe_report;
struct prober;
struct rate_table;
struct route;
struct running;
struct store_reads;
struct task_queue;
struct web;
struct work_pool;
struct worker_counts;

/* What all workers share. The server (server.c) owns it all, and frees it after
 * the workers. */
struct worker_shared {
	int listen_fd;
	/* Beside it are files: large messages, counts of the other programs. */
	const char *database_path;
	const char *store;             /* for db_open() */
	const struct clock *clock;     /* wall clock, for stored times */
	const struct route *routes;    /* the table of routes */
	bool on_loopback;              /* see listener_is_on_loopback() */
	bool is_admin;                 /* this is the worker of the admin listener */
	struct login_throttle *logins; /* set for the admin listener only */
	struct web *web;               /* set for the admin listener only */
	struct log *log;
	struct committer *committer;
	struct budget *budget;
	atomic_size_t *connections; /* open connections of all workers */
	size_t workers;
	struct rate_table *rates;
	struct running *running;
	struct postfix_run *run;
	struct work_pool *pool;  /* for work that takes long */
	struct db_pool *readers; /* store handles for the pool */
	struct db_watch *server; /* watches the database server; NULL: the store is a file */
	/* Threads and database handles for store_read.h; NULL: the store is a file. */
	struct work_pool *lookups;
	struct db_pool *lookup_handles;
	struct work_pool *dns; /* for DNS queries: a slow DNS holds up nothing else */
	struct outbox *outbox;
	/* Signs links to attachments, which are valid until this process ends. */
	uint8_t link_key[SECRET_HASH_LEN];
	struct probe_report *probe; /* the outcome of the prober */
	/* Set for the admin worker only: what the other workers share, the
	 * counters of all workers and of the outbox, and the time of the start. */
	const struct worker_shared *api;
	const struct worker_counts *const *counts;
	size_t counts_n;
	int64_t started_us;
	/* Postfix accepts addresses that begin with a hyphen (allow_min_user). */
	const atomic_bool *takes_hyphen;
};

/* How long a read in an event loop may wait for a database server; see doc/THREADS.md. */
enum { LOOP_STORE_WAIT_MS = 500 };

/* Its worker_thread owns all of it except shared and log. */
struct worker {
	const struct worker_shared *shared;
	struct log *log;
	struct conf *conf;        /* its own copy, replaced by a reload */
	struct cidr_list proxies; /* http.trusted_proxies of it */
	struct event_base *base;
	struct evhttp *evhttp;
	struct listener *listener;
	struct db *db;                        /* NULL if the store is a server */
	struct database_watch database_watch; /* watches the file of db */
	struct task_queue *tasks;
	struct store_reads *reads; /* NULL if the store is a file */
	struct inject *inject;
	struct key_use *keys;
	struct conn_table *conns;
	struct worker_counts *counts;
	struct live *live;     /* set in the admin worker only */
	struct prober *prober; /* set in the first worker only */
	int64_t postfix_limit; /* Postfix's message_size_limit in bytes; 0 for none */
	size_t requests;       /* in progress */
	bool draining;
	/* The drain timeout is over: work in the pool for this worker must end
	 * early. */
	atomic_bool cut_short;
};

#endif
