/*
 * service: the store, the log and the settings that callbacks use.
 *
 * Handles are opened before the socket and closed after the last decision. Threads: any, except
 * for open, close and free.
 */
#include "milter/service.h"

#include <assert.h>
#include <pwd.h>
#include <stddef.h>
#include <string.h>

#include "core/base/str.h"
#include "core/db/db_file.h"
#include "core/db/migrate.h"
#include "core/postfix/postconf.h"
#include "core/store/outbox/store_outbox.h"
#include "milter/session.h"

/*
 * counts: one counter for each action.
 *
 * Invariant: counters only grow, so their sum shows if any has changed.
 */

void counts_add(struct counts *counts, struct verdict verdict)
{
	assert(verdict.action < VERDICT_ACTIONS && verdict.reason < REASONS);
	atomic_fetch_add_explicit(&counts->of[verdict.action], 1, memory_order_relaxed);
	if (verdict.action == VERDICT_REFUSE || verdict.action == VERDICT_TEMPFAIL ||
		verdict.action == VERDICT_DISCARD)
		atomic_fetch_add_explicit(
			&counts->reasons[verdict.reason], 1, memory_order_relaxed);
}

void counts_tell(const struct counts *counts, struct metrics_milter *metrics)
{
	for (size_t i = 0; i < VERDICT_ACTIONS; i++)
		metrics->verdicts[i] = (int64_t)atomic_load(&counts->of[i]);
	for (size_t i = 0; i < REASONS; i++)
		metrics->reasons[i] = (int64_t)atomic_load(&counts->reasons[i]);
}

bool counts_log(struct counts *counts, struct log *log)
{
	int64_t n[VERDICT_ACTIONS];
	uint64_t sum = 0;

	for (size_t i = 0; i < VERDICT_ACTIONS; i++) {
		n[i] = (int64_t)atomic_load(&counts->of[i]);
		sum += (uint64_t)n[i];
	}
	if (sum == counts->logged)
		return false;
	counts->logged = sum;
	log_info(log, "counts", "record", LOG_INT(n[VERDICT_RECORD]), "pass",
		LOG_INT(n[VERDICT_PASS]), "learn", LOG_INT(n[VERDICT_LEARN]), "refuse",
		LOG_INT(n[VERDICT_REFUSE]), "discard", LOG_INT(n[VERDICT_DISCARD]), "probe",
		LOG_INT(n[VERDICT_PROBE]), "tempfail", LOG_INT(n[VERDICT_TEMPFAIL]));
	return true;
}

void counts_log_hourly(struct counts *counts, struct log *log, int64_t now_us)
{
	if (now_us < counts->log_us)
		return;
	if (counts->log_us != 0)
		counts_log(counts, log);
	counts->log_us = now_us + (int64_t)COUNTS_LOG_MS * 1000;
}

/* Reading a ticket takes microseconds, so more handles would only wait for CPU cores. */
enum { READERS = 16 };

/* A server that does not answer: Postfix waits with each message. */
enum { READ_WAIT_MS = 2000 };

enum { USER_BYTES = 16 * 1024 }; /* a user's row in passwd(5) */

/* Postfix sends a message to the milter only when it has all of it, so a copy exists for
 * milliseconds, however slow the client is. */
enum { COPIES_MAX = 256 * 1024 * 1024 };

static int read_rules(const struct conf *conf, struct service_rules *rules_r, struct err *err)
{
	static const enum stop_way ways[] = {
		[REFUSE_LOCAL_REJECT] = STOP_REJECT,
		[REFUSE_LOCAL_HOLD] = STOP_HOLD,
		[REFUSE_LOCAL_DISCARD] = STOP_DISCARD,
	};
	struct service_rules rules = {
		.refuse_local = ways[conf->milter.refuse_local],
		.refusals_kept = conf->milter.refusals_kept,
		.trace_header = conf->milter.trace_header != 0,
		.rate_limit = conf->http.rate_limit,
		.rate_burst = conf->http.rate_burst ? conf->http.rate_burst : conf->http.rate_limit,
		.min_free = conf->outbox.min_free,
		.names_max_age_ms = conf->milter.names_max_age_ms,
	};

	if (cidr_list_parse_excepting(conf->milter.internal_hosts, &rules.internal_hosts, err) < 0)
		return err_prefix(err, "milter.internal_hosts");
	rules.local_domains = mem_strdup(conf->milter.local_domains);
	*rules_r = rules;
	return 0;
}

static void clear_rules(struct service_rules *rules)
{
	cidr_list_clear(&rules->internal_hosts);
	free(rules->local_domains);
}

int service_open(
	const struct conf *conf, struct log *log, struct service **service_r, struct err *err)
{
	struct service_rules rules;
	pthread_rwlockattr_t use;
	struct committer *committer;
	struct service *service;

	if (read_rules(conf, &rules, err) < 0)
		return -1;
	if (migrate_check_name(conf_store(conf), err) < 0 ||
		committer_new_shared(conf_store(conf), &committer, err) < 0) {
		clear_rules(&rules);
		return -1;
	}
	service = mem_new(struct service);
	service->log = log;
	service->clock = &clock_system;
	service->readers = db_pool_new(conf_store(conf), READERS);
	db_pool_set_wait(service->readers, READ_WAIT_MS);
	service->known = known_domains_new(service->readers);
	service->committer = committer;
	service->database = mem_strdup(conf->store.database);
	service->is_shared = *conf_host(conf) != '\0';
	service->room.max = COPIES_MAX;
	service->rates = rate_table_new();
	service->presented = presented_new();
	service->by_tcp = conf->submission.method == SUBMISSION_SMTP &&
			  str_starts(conf->submission.smtp_server, "inet:");
	service->url = mem_strdup(conf->http.url);
	service->rules = rules;
	/* Prefers writers, so that no decision starts while service_close() waits. */
	pthread_rwlockattr_init(&use);
	pthread_rwlockattr_setkind_np(&use, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	pthread_rwlock_init(&service->use, &use);
	pthread_rwlockattr_destroy(&use);
	pthread_rwlock_init(&service->lock, NULL);
	if (known_domains_refresh(service->known, err) < 0) {
		service_close(service);
		service_free(service);
		return -1;
	}
	*service_r = service;
	return 0;
}

int service_reload(struct service *service, const struct conf *conf, struct err *err)
{
	struct service_rules rules, old;

	if (read_rules(conf, &rules, err) < 0)
		return -1;
	pthread_rwlock_wrlock(&service->lock);
	old = service->rules;
	service->rules = rules;
	pthread_rwlock_unlock(&service->lock);
	clear_rules(&old);
	return 0;
}

enum mail_origin service_origin(struct service *service, const struct sockaddr *peer)
{
	enum mail_origin origin;

	pthread_rwlock_rdlock(&service->lock);
	origin = origin_of(peer, &service->rules.internal_hosts);
	pthread_rwlock_unlock(&service->lock);
	return origin;
}

bool service_has_mailbox(struct service *service, const char *sender)
{
	const char *at = strrchr(sender, '@');
	_cleanup_free_ char *name = NULL;
	struct passwd user, *found = NULL;
	char text[USER_BYTES];
	bool local;

	/* Postfix can resolve such a local part to another address: it turns `v%far.test@here` into
	 * `v@far.test` if it serves `here`, after removing quotes (allow_percent_hack,
	 * swap_bangpath, resolve_dequoted_address). */
	if (at == NULL || strcspn(sender, "@%!\\") < (size_t)(at - sender))
		return false;
	pthread_rwlock_rdlock(&service->lock);
	local = postconf_names_have(service->rules.local_domains, at + 1);
	pthread_rwlock_unlock(&service->lock);
	if (!local)
		return false;
	name = mem_dup(sender, (size_t)(at - sender));
	return getpwnam_r(name, &user, text, sizeof(text), &found) == 0 && found != NULL;
}

/* Do not use the pointers of the copy: a reload frees what they point to. */
static struct service_rules rules_now(struct service *service)
{
	struct service_rules rules;

	pthread_rwlock_rdlock(&service->lock);
	rules = service->rules;
	pthread_rwlock_unlock(&service->lock);
	return rules;
}

int64_t service_names_max_age_ms(struct service *service)
{
	return rules_now(service).names_max_age_ms;
}

enum stop_way service_refuse_local(struct service *service)
{
	return rules_now(service).refuse_local;
}

int64_t service_refusals_kept(struct service *service)
{
	return rules_now(service).refusals_kept;
}

bool service_trace_header(struct service *service)
{
	return rules_now(service).trace_header;
}

bool service_take_rate(struct service *service, const char *company_id)
{
	struct service_rules rules = rules_now(service);
	const struct rate_limit limit = {rules.rate_limit, rules.rate_burst};
	struct rate_state state;

	return limit.per_s == 0 ||
	       rate_table_take(service->rates, company_id, &limit, clock_monotonic_us(), &state);
}

bool service_has_room(struct service *service, size_t size)
{
	int64_t needed = rules_now(service).min_free + (int64_t)size * OUTBOX_DISK_FACTOR;
	struct statvfs disk;

	return db_file_volume_of(service->database, &disk) < 0 ||
	       (int64_t)disk.f_bavail * (int64_t)disk.f_frsize >= needed;
}

bool service_enter(struct service *service)
{
	return pthread_rwlock_tryrdlock(&service->use) == 0;
}

void service_leave(struct service *service)
{
	pthread_rwlock_unlock(&service->use);
}

/* Keeps the write lock, so that service_enter() fails from now on. */
void service_close(struct service *service)
{
	known_domains_stop(service->known);
	pthread_rwlock_wrlock(&service->use);
	known_domains_free(service->known);
	committer_free(service->committer);
	db_pool_free(service->readers);
}

void service_free(struct service *service)
{
	pthread_rwlock_unlock(&service->use);
	pthread_rwlock_destroy(&service->use);
	clear_rules(&service->rules);
	rate_table_free(service->rates);
	presented_free(service->presented);
	free(service->database);
	pthread_rwlock_destroy(&service->lock);
	free(service->url);
	free(service);
}
