/*
 * worker: what a worker has, as all that runs on its thread sees it.
 *
 * Each worker has an event base, an evhttp on the listening socket that all
 * share, a read handle on the store, and an injector for the prober, of its
 * own. What is declared here is used on the worker's thread.
 */
#ifndef POSTERN_HTTPD_WORKER_WORKER_H
#define POSTERN_HTTPD_WORKER_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/cidr.h"
#include "core/base/secret.h"
#include "core/db/db.h"

struct budget;
struct clock;
struct committer;
struct conf;
struct conn_table;
struct db;
struct db_pool;
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
struct task_queue;
struct web;
struct work_pool;
struct worker_counts;

/* What all workers share. The server (server.c) owns it all, and frees it when
 * the workers are gone. */
struct worker_shared {
	int listen_fd;
	const char *database_path;     /* of what lies beside the database */
	const char *store;             /* for db_open() */
	const struct clock *clock;     /* for what is written down */
	const struct route *routes;    /* what is served */
	bool on_loopback;              /* only programs of this host reach it */
	bool is_admin;                 /* the one that serves admins */
	struct login_throttle *logins; /* of that one alone */
	struct web *web;               /* the same */
	struct log *log;
	struct committer *committer;
	struct budget *budget;
	atomic_size_t *connections; /* of all workers */
	size_t workers;
	struct rate_table *rates;
	struct running *running;
	struct postfix_run *run;
	struct work_pool *pool;  /* for what takes long */
	struct db_pool *readers; /* handles for that */
	struct work_pool *dns;   /* for what waits for the DNS: a slow one keeps nothing else */
	struct outbox *outbox;
	/* By which links to attachments are signed: they end with this process. */
	uint8_t link_key[SECRET_HASH_LEN];
	struct probe_report *probe; /* whether emails go out */
	/* For the admin worker, of which the last ones are: what every worker
	 * counts, and when all that began. */
	const struct worker_shared *api;
	const struct worker_counts *const *counts;
	size_t counts_n;
	int64_t started_us;
	/* Postfix takes an address that begins with a hyphen
	 * (allow_min_user). */
	const atomic_bool *takes_hyphen;
};

/*
 * database_watch: whether the file that a worker reads from is still the
 * database.
 *
 * Of one that was replaced or removed reads still come back, and are of the
 * past: a key that was revoked since would be valid. It is not opened anew: the
 * log of the old one lies beside the new one until all that use it have ended,
 * and SQLite would mix them.
 */
struct database_watch {
	const char *path;
	struct log *log;
	struct db_identity identity;
	int64_t next_us; /* monotonic: no look before */
	bool gone;       /* nothing that is read means anything */
};

/* Learns which file it is; to be called when it was just opened. path and log
 * must live as long. */
void database_watch_begin(struct database_watch *watch, const char *path, struct log *log);

/* Looks, at most once a second, and logs what has changed. */
void database_watch_look(struct database_watch *watch, int64_t now_us);

/* Its worker_thread owns all of it but what is shared. */
struct worker {
	const struct worker_shared *shared;
	struct log *log;
	struct conf *conf;        /* its own copy, changed when settings are reloaded */
	struct cidr_list proxies; /* http.trusted_proxies of it */
	struct event_base *base;
	struct evhttp *evhttp;
	struct listener *listener;
	struct db *db;
	struct database_watch database_watch; /* of the file of db */
	struct task_queue *tasks;
	struct inject *inject;
	struct key_use *keys;
	struct conn_table *conns;
	struct worker_counts *counts;
	struct live *live;     /* of the admin worker; NULL: another */
	struct prober *prober; /* of the first worker; NULL: another */
	int64_t postfix_limit; /* message_size_limit in bytes; 0: none */
	size_t requests;       /* in progress */
	bool draining;
	/* The drain timeout is over: what the pool still does for this worker
	 * is to end early. */
	atomic_bool cut_short;
};

#endif
