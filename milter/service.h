/*
 * service: the state that all connections of the milter share.
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
#include "milter/known_domains.h"
#include "milter/presented.h"
#include "milter/session.h"

/*
 * counts: the number of messages for each action and reason.
 */

/* Initialize with zeros. */
struct counts {
	atomic_uint_least64_t of[VERDICT_ACTIONS]; /* since start */
	/* The reasons of messages that were refused, put off or discarded. */
	atomic_uint_least64_t reasons[REASONS];
	uint64_t logged; /* the sum at the last log line */
	int64_t log_us;  /* when the next line is due; 0: not set yet */
};

enum { COUNTS_LOG_MS = 60 * 60 * 1000 };

/* Counts one message. Thread-safe. */
void counts_add(struct counts *counts, struct verdict verdict);

/* Logs one line with all counters, each under the name of its action. False, and no line, if
 * none has changed since the last line. Not thread-safe. */
bool counts_log(struct counts *counts, struct log *log);

/* Calls counts_log() once an hour, the first time an hour after the first call. now_us is of a
 * monotonic clock. */
void counts_log_hourly(struct counts *counts, struct log *log, int64_t now_us);

/* Copies the counters into the metrics. */
void counts_tell(const struct counts *counts, struct metrics_milter *metrics);

/* Settings that a reload can change. */
struct service_rules {
	struct cidr_list internal_hosts;
	char *local_domains;
	enum stop_way refuse_local;
	int64_t refusals_kept;
	bool trace_header;
	int64_t rate_limit; /* messages per second and company by SMTP; 0: unlimited */
	int64_t rate_burst;
	int64_t min_free;         /* bytes that must stay free on the store's disk */
	int64_t names_max_age_ms; /* the longest age of the copy of the registered domains */
};

struct service {
	struct log *log; /* not owned */
	const struct clock *clock;
	struct db_pool *readers;
	struct known_domains *known;
	struct committer *committer;
	pthread_rwlock_t use; /* read lock: a decision runs; write lock: closed */
	bool by_tcp;          /* httpd submits by SMTP over TCP */
	char *url;            /* the URL by which recipients reach httpd; "": they cannot */
	struct counts counts;
	char *database;           /* path of the store */
	bool is_shared;           /* several hosts use the database */
	struct session_room room; /* for the copies of messages */
	struct rate_table *rates; /* token buckets of companies */
	struct presented *presented;
	pthread_rwlock_t lock; /* protects rules */
	struct service_rules rules;
};

/* Opens the database, which must have this program's schema, and reads the copy of the registered
 * domains. The caller calls service_close() and service_free(). conf need not outlive the call. */
int service_open(
	const struct conf *conf, struct log *log, struct service **service_r, struct err *err);

/* Applies the rules, which can change at run time. Open connections keep their origin. */
int service_reload(struct service *service, const struct conf *conf, struct err *err);

/* Returns the origin of mail from this client. */
enum mail_origin service_origin(struct service *service, const struct sockaddr *peer);

/* True if the envelope sender (without <>) certainly has a mailbox here: its domain is one of
 * milter.local_domains, and its local part is a user of this host. Aliases and virtual
 * mailboxes are not considered. The null sender has none. */
bool service_has_mailbox(struct service *service, const char *sender);

/* The current values of milter.names_max_age, refuse_local, refusals_kept and trace_header. A
 * reload can change them between two calls. */
int64_t service_names_max_age_ms(struct service *service);
enum stop_way service_refuse_local(struct service *service);
int64_t service_refusals_kept(struct service *service);
bool service_trace_header(struct service *service);

/* Takes a token. True if the company may send another message by SMTP now (http.rate_limit,
 * counted apart from its HTTP requests). */
bool service_take_rate(struct service *service, const char *company_id);

/* True if the store's disk has room for a message of this size (outbox.min_free). */
bool service_has_room(struct service *service, size_t size);

/* Starts a decision: the database and the log stay open until service_leave(). False if the
 * service is closed; then service_leave() must not be called. */
bool service_enter(struct service *service);
void service_leave(struct service *service);

/* Lets no new decision start, waits for the running ones, and closes the database. The rest
 * stays, because libmilter's threads use it until the process ends. */
void service_close(struct service *service);

/* Call after service_close(), in the same thread, and only if no libmilter thread was started. */
void service_free(struct service *service);

#endif
