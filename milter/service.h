/*
 * service: what all connections of the milter share.
 */
#ifndef POSTERN_MILTER_SERVICE_H
#define POSTERN_MILTER_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/cidr.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/conf/conf.h"
#include "core/db/committer.h"
#include "core/db/db_pool.h"
#include "core/metrics/metrics.h"
#include "core/policy/rate.h"
#include "core/policy/verdict.h"
#include "milter/session.h"

/*
 * counts: how many messages the milter has decided in which way.
 */

/* All zero at the start. */
struct counts {
	atomic_uint_least64_t of[VERDICT_ACTIONS]; /* since the start */
	/* Why messages did not pass, of those that did not. */
	atomic_uint_least64_t reasons[REASONS];
	uint64_t logged; /* how many there were at the last line */
	int64_t log_us;  /* when the next line is due; 0: not known yet */
};

enum { COUNTS_LOG_MS = 60 * 60 * 1000 };

/* One more message. From any thread. */
void counts_add(struct counts *counts, struct verdict verdict);

/* Logs one line with all of them, each under the name of its action; false
 * when none has changed since the last line, which then was not made. From one
 * thread at a time. */
bool counts_log(struct counts *counts, struct log *log);

/* The same, once an hour from the first call on. now_us is of a clock that
 * never goes back. */
void counts_log_hourly(struct counts *counts, struct log *log, int64_t now_us);

/* The same numbers for whoever asks. */
void counts_tell(const struct counts *counts, struct metrics_milter *metrics);

/* What may change while running. */
struct service_rules {
	struct cidr_list internal_hosts;
	char *local_domains;
	enum stop_way refuse_local;
	int64_t refusals_kept;
	bool trace_header;
	int64_t rate_limit; /* messages a second, of a company by SMTP; 0: any */
	int64_t rate_burst;
	int64_t min_free; /* of the store's disk */
};

struct service {
	struct log *log; /* not owned */
	const struct clock *clock;
	struct db_pool *readers;
	struct committer *committer;
	pthread_rwlock_t use; /* read: a decision; written: closed */
	bool by_tcp;          /* httpd submits by SMTP over TCP */
	char *url;            /* of httpd, as recipients reach it; "": they do not */
	struct counts counts;
	char *database;           /* path of the store */
	struct session_room room; /* for copies of messages */
	struct rate_table *rates; /* of companies */
	pthread_rwlock_t lock;    /* for what follows */
	struct service_rules rules;
};

/* Opens the database, which must have the schema of this program. The caller
 * closes the service; conf need not outlive the call. */
int service_open(
	const struct conf *conf, struct log *log, struct service **service_r, struct err *err);

/* Takes over what may change while running: the log level and the rules.
 * Connections that are there keep their origin. */
int service_reload(struct service *service, const struct conf *conf, struct err *err);

/* Where mail of this client comes from. */
enum mail_origin service_origin(struct service *service, const struct sockaddr *peer);

/* Whether the envelope sender (without <>) surely has a mailbox here: its
 * domain is one of milter.local_domains, and its local part the name of a user
 * of this host. Aliases and virtual mailboxes are not known, and the null
 * sender has none. */
bool service_has_mailbox(struct service *service, const char *sender);

/* The settings milter.refuse_local, refusals_kept and trace_header as they are
 * now; a reload may change them before the next call. */
enum stop_way service_refuse_local(struct service *service);
int64_t service_refusals_kept(struct service *service);
bool service_trace_header(struct service *service);

/* Whether the company may send one more message by SMTP now (http.rate_limit, counted apart
 * from its requests). Takes a token. */
bool service_take_rate(struct service *service, const char *company_id);

/* Whether the disk of the store has room for a message of so many bytes (outbox.min_free). */
bool service_has_room(struct service *service, size_t size);

/* A decision begins: the database and the log stay until service_leave().
 * False once the service closes; then there is nothing to leave. */
bool service_enter(struct service *service);
void service_leave(struct service *service);

/* Lets nobody enter any more, waits until all have left, and closes the
 * database. What else the callbacks use stays, since the threads of libmilter
 * last until the process ends. */
void service_close(struct service *service);

/* After service_close() and in its thread, when no thread of libmilter was ever
 * started. */
void service_free(struct service *service);

#endif
