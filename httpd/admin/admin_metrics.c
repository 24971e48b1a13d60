/*
 * admin_metrics: the counters of all programs and gauges of the current state,
 * in the text format of Prometheus (0.0.4).
 *
 * Names follow its conventions: base units, `_total` for counters. Labels have
 * few values, and none that a client chooses: a request has the pattern of its
 * route, never its path. A route, status or reason appears with its first
 * request or message.
 *
 * Threads: the pool's, which counts waiting emails, or the admin worker's.
 * Counters of other threads are read as they are at the moment.
 */
#include "httpd/admin/admin.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/db/db_file.h"
#include "core/metrics/metrics.h"
#include "core/store/email/store_email.h"
#include "core/store/host/store_log.h"
#include "core/store/host/store_host.h"
#include "core/store/outbox/store_outbox.h"
#include "core/store/company/store_pause.h"
#include "httpd/admission/counts.h"
#include "httpd/inject/inject.h"
#include "httpd/outbox/outbox.h"
#include "httpd/send/probe_report.h"
#include "httpd/send/send_group.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

enum kind { COUNTER, GAUGE, HISTOGRAM, SUMMARY };

/* Writes the head of a metric; its samples follow. */
static void metric(struct buf *out, const char *name, enum kind kind, const char *help)
{
	static const char *const kinds[] = {
		[COUNTER] = "counter",
		[GAUGE] = "gauge",
		[HISTOGRAM] = "histogram",
		[SUMMARY] = "summary",
	};

	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kinds[kind]);
}

/* Writes the name and labels of a sample; its value follows. */
__attribute__((format(printf, 2, 0))) static void begin_sample(
	struct buf *out, const char *format, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, args);
	buf_printf(out, "%s ", text);
}

__attribute__((format(printf, 3, 4))) static void sample(
	struct buf *out, int64_t value, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	begin_sample(out, format, args);
	va_end(args);
	buf_printf(out, "%" PRId64 "\n", value);
}

/* Writes a sample that is in microseconds, as seconds. */
__attribute__((format(printf, 3, 4))) static void sample_us(
	struct buf *out, int64_t us, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	begin_sample(out, format, args);
	va_end(args);
	buf_printf(out, "%" PRId64 ".%06" PRId64 "\n", us / 1000000, us % 1000000);
}

/* A metric without labels. */
static void single(
	struct buf *out, const char *name, enum kind kind, const char *help, int64_t value)
{
	metric(out, name, kind, help);
	sample(out, value, "%s", name);
}

/* The state of each program. */
struct program {
	const char *name;
	bool up;
	bool told; /* there are counts, perhaps from before it ended */
	struct metrics_process process;
	struct db_counts store;
};

struct metrics {
	struct buf out;
	const struct worker_shared *shared;
	const struct conf *conf;
	struct program programs[4]; /* this one, the milter, events, webhook */
	struct metrics_milter milter;
	struct metrics_events events;
	struct metrics_webhook webhook;
};

/*
 * Programs.
 */

static void look_at_program(struct metrics *metrics, size_t n, enum metrics_program program,
	void *values, const struct metrics_process *process, const struct db_counts *store)
{
	static const char *const words[] = {
		[METRICS_MISSING] = "its file of numbers is missing",
		[METRICS_FOREIGN] = "its file of numbers is damaged, or of another version",
		[METRICS_UNREADABLE] = "its file of numbers cannot be opened",
		[METRICS_ENDED] = "it does not run; what it has counted is of before",
	};
	_cleanup_free_ char *path = metrics_path(metrics->shared->database_path, program);
	enum metrics_found found = metrics_read(path, program, values);
	struct program *one = &metrics->programs[n];

	one->name = metrics_program_name(program);
	one->up = found == METRICS_LIVE;
	one->told = found == METRICS_LIVE || found == METRICS_ENDED;
	if (one->told) {
		one->process = *process;
		one->store = *store;
	}
	if (!one->up)
		buf_printf(&metrics->out, "# %s: %s\n", one->name, words[found]);
}

static void look_at_programs(struct metrics *metrics)
{
	struct program *own = &metrics->programs[0];

	*own = (struct program){
		.name = "postern-httpd",
		.up = true,
		.told = true,
		.store = committer_stats(metrics->shared->committer).db,
	};
	metrics_process_look(metrics->shared->started_us, &own->process);
	look_at_program(metrics, 1, METRICS_MILTER, &metrics->milter, &metrics->milter.process,
		&metrics->milter.store);
	look_at_program(metrics, 2, METRICS_EVENTS, &metrics->events, &metrics->events.process,
		&metrics->events.store);
	look_at_program(metrics, 3, METRICS_WEBHOOK, &metrics->webhook, &metrics->webhook.process,
		&metrics->webhook.store);
}

static void tell_programs(struct metrics *metrics)
{
	static const struct {
		const char *name;
		enum kind kind;
		bool us;
		size_t offset;
		const char *help;
	} rows[] = {
		{"process_start_time_seconds", GAUGE, true,
			offsetof(struct metrics_process, start_us),
			"When the program was started, in Unix time."},
		{"process_cpu_seconds_total", COUNTER, true,
			offsetof(struct metrics_process, cpu_us),
			"Processor time of the program, without the programs that it runs."},
		{"process_resident_memory_bytes", GAUGE, false,
			offsetof(struct metrics_process, resident_bytes),
			"Memory that the program occupies."},
		{"process_open_fds", GAUGE, false, offsetof(struct metrics_process, descriptors),
			"Open file descriptors."},
		{"process_max_fds", GAUGE, false, offsetof(struct metrics_process, descriptors_max),
			"How many file descriptors there may be."},
	};
	struct buf *out = &metrics->out;

	metric(out, "postern_build_info", GAUGE, "The version of Postern.");
	sample(out, 1, "postern_build_info{version=\"%s\"}", POSTERN_VERSION);
	if (*conf_host(metrics->conf)) {
		metric(out, "postern_host_info", GAUGE,
			"The name of this host among those that share the database.");
		sample(out, 1, "postern_host_info{name=\"%s\"}", conf_host(metrics->conf));
	}
	metric(out, "postern_up", GAUGE, "Whether the program runs and tells its numbers.");
	for (size_t n = 0; n < ARRAY_SIZE(metrics->programs); n++)
		sample(out, metrics->programs[n].up, "postern_up{program=\"%s\"}",
			metrics->programs[n].name);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		metric(out, rows[i].name, rows[i].kind, rows[i].help);
		for (size_t n = 0; n < ARRAY_SIZE(metrics->programs); n++) {
			const struct program *one = &metrics->programs[n];
			const int64_t *value = (const int64_t *)((const char *)&one->process +
								 rows[i].offset);

			if (one->up)
				(rows[i].us ? sample_us : sample)(
					out, *value, "%s{program=\"%s\"}", rows[i].name, one->name);
		}
	}
}

/*
 * Requests.
 */

/* Sums the counts of one route over all workers with the same table. */
static void add_route(const struct metrics *metrics, const struct route *routes, size_t n,
	struct route_counts *sum_r)
{
	const struct worker_shared *shared = metrics->shared;

	memset(sum_r, 0, sizeof(*sum_r));
	for (size_t w = 0; w < shared->counts_n; w++) {
		const struct worker_counts *counts = shared->counts[w];

		if (counts->routes != routes)
			continue;
		for (size_t i = 0; i < COUNTS_STATUSES; i++)
			count_add(&sum_r->statuses[i], count_get(&counts->of[n].statuses[i]));
		for (size_t i = 0; i <= COUNTS_BOUNDS; i++)
			count_add(&sum_r->took[i], count_get(&counts->of[n].took[i]));
		count_add(&sum_r->took_us, count_get(&counts->of[n].took_us));
	}
}

/* The labels of a route; the last row stands for requests without one. */
struct labels {
	char text[160];
};
static struct labels labels_of(const struct metrics *metrics, const struct route *routes, size_t n)
{
	const struct route *route = &routes[n];
	struct labels labels;

	snprintf(labels.text, sizeof(labels.text), "listener=\"%s\",method=\"%s\",route=\"%s\"",
		routes == metrics->shared->api->routes ? "api" : "admin",
		route->method ? route->method : "other", route->method ? route->pattern : "other");
	return labels;
}

static void tell_statuses(struct metrics *metrics, const struct route *routes, size_t n)
{
	struct labels labels = labels_of(metrics, routes, n);
	struct route_counts sum;

	add_route(metrics, routes, n, &sum);
	for (size_t i = 0; i < COUNTS_STATUSES; i++) {
		char status[8] = "other";
		int64_t value = (int64_t)count_get(&sum.statuses[i]);

		if (counts_statuses[i])
			snprintf(status, sizeof(status), "%d", counts_statuses[i]);
		if (value)
			sample(&metrics->out, value, "postern_http_requests_total{%s,code=\"%s\"}",
				labels.text, status);
	}
}

static void tell_times(struct metrics *metrics, const struct route *routes, size_t n)
{
#define NAME "postern_http_request_duration_seconds"
	struct labels labels = labels_of(metrics, routes, n);
	struct buf *out = &metrics->out;
	struct route_counts sum;
	int64_t so_far = 0;

	add_route(metrics, routes, n, &sum);
	for (size_t i = 0; i <= COUNTS_BOUNDS; i++)
		so_far += (int64_t)count_get(&sum.took[i]);
	if (so_far == 0)
		return;
	so_far = 0;
	for (size_t i = 0; i < COUNTS_BOUNDS; i++) {
		so_far += (int64_t)count_get(&sum.took[i]);
		sample(out, so_far, NAME "_bucket{%s,le=\"%g\"}", labels.text,
			(double)counts_bounds_us[i] / 1e6);
	}
	so_far += (int64_t)count_get(&sum.took[COUNTS_BOUNDS]);
	sample(out, so_far, NAME "_bucket{%s,le=\"+Inf\"}", labels.text);
	sample_us(out, (int64_t)count_get(&sum.took_us), NAME "_sum{%s}", labels.text);
	sample(out, so_far, NAME "_count{%s}", labels.text);
#undef NAME
}

/* Counted for each route of both tables, and once for requests without a route. */
static void each_route(struct metrics *metrics,
	void (*tell)(struct metrics *metrics, const struct route *routes, size_t n))
{
	const struct route *const tables[] = {
		metrics->shared->api->routes, metrics->shared->routes};

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++) {
		size_t n = 0;

		do
			tell(metrics, tables[t], n);
		while (tables[t][n++].method);
	}
}

/* A gauge for both listeners. */
static void tell_both(
	struct metrics *metrics, const char *name, const char *help, int64_t api, int64_t admin)
{
	metric(&metrics->out, name, GAUGE, help);
	sample(&metrics->out, api, "%s{listener=\"api\"}", name);
	sample(&metrics->out, admin, "%s{listener=\"admin\"}", name);
}

static void tell_requests(struct metrics *metrics)
{
	const struct worker_shared *admin = metrics->shared, *api = admin->api;
	const struct conf *conf = metrics->conf;

	metric(&metrics->out, "postern_http_requests_total", COUNTER,
		"Requests that were answered.");
	each_route(metrics, tell_statuses);
	metric(&metrics->out, "postern_http_request_duration_seconds", HISTOGRAM,
		"From the last byte of a request to its answer.");
	each_route(metrics, tell_times);
	tell_both(metrics, "postern_http_connections", "Open connections.",
		(int64_t)atomic_load(api->connections), (int64_t)atomic_load(admin->connections));
	tell_both(metrics, "postern_http_connections_limit",
		"How many connections there may be (http.max_connections).",
		conf->http.max_connections, conf->http.max_connections);
	tell_both(metrics, "postern_http_in_flight_requests",
		"Requests under way; one with several emails counts as many.",
		atomic_load(&api->budget->requests.taken),
		atomic_load(&admin->budget->requests.taken));
	tell_both(metrics, "postern_http_in_flight_requests_limit",
		"How many may be under way (http.max_requests).", conf->http.max_requests,
		conf->http.max_requests);
	tell_both(metrics, "postern_http_in_flight_bytes",
		"Memory that requests and unread answers hold.", budget_used(api->budget),
		budget_used(admin->budget));
	tell_both(metrics, "postern_http_in_flight_bytes_limit",
		"How much they may hold (http.max_inflight_bytes).", conf->http.max_inflight_bytes,
		conf->http.max_inflight_bytes);
}

/*
 * Emails on their way.
 */

static int64_t of_all_workers(const struct metrics *metrics, size_t offset)
{
	const struct worker_shared *shared = metrics->shared;
	uint64_t sum = 0;

	for (size_t w = 0; w < shared->counts_n; w++)
		sum += count_get(
			(const atomic_uint_least64_t *)((const char *)shared->counts[w] + offset));
	return (int64_t)sum;
}

/* Before the first probe the metric has no sample. */
static void tell_probe(struct metrics *metrics)
{
	struct probe_outcome outcome;

	probe_report_get(metrics->shared->probe, &outcome);
	metric(&metrics->out, "postern_rules_in_force", GAUGE,
		"1 when the last probe found that Postfix takes emails and asks the milter about "
		"all mail.");
	if (outcome.finding != PROBE_NONE)
		sample(&metrics->out, probe_is_good(outcome.finding), "postern_rules_in_force");
	single(&metrics->out, "postern_config_last_reload_successful", GAUGE,
		"0 when postern.conf was to be read anew and could not: the settings of before "
		"hold.",
		outcome.faults[FAULT_SETTINGS][0] == '\0');
}

static void tell_submissions(struct metrics *metrics)
{
	static const char *const outcomes[] = {
		[INJECT_QUEUED] = "queued",
		[INJECT_REJECTED] = "rejected",
		[INJECT_TEMPORARY] = "temporary",
		[INJECT_UNKNOWN] = "unknown",
	};
	static const char *const ends[] = {
		[SEND_SENT] = "sent",
		[SEND_QUEUED] = "queued",
		[SEND_REJECTED] = "rejected",
		[SEND_REFUSED] = "refused",
	};
	const char *method = metrics->conf->submission.method == SUBMISSION_SMTP ? "smtp"
										 : "sendmail";
	struct buf *out = &metrics->out;
	struct outbox_state outbox;

	outbox_state_get(metrics->shared->outbox, &outbox);
	metric(out, "postern_submissions_total", COUNTER, "Messages that were handed to Postfix.");
	for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
		sample(out, of_all_workers(metrics, offsetof(struct worker_counts, submissions[i])),
			"postern_submissions_total{method=\"%s\",outcome=\"%"
			"s\"}",
			method, outcomes[i]);
	metric(out, "postern_emails_total", COUNTER,
		"Emails of clients, by what they were told: queued in the outbox, rejected by "
		"Postfix, refused by the milter, test to nobody.");
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (ends[i])
			sample(out,
				of_all_workers(metrics, offsetof(struct worker_counts, emails[i])),
				"postern_emails_total{outcome=\"%s\"}", ends[i]);
	sample(out, of_all_workers(metrics, offsetof(struct worker_counts, tests)),
		"postern_emails_total{outcome=\"test\"}");
	single(out, "postern_in_flight_emails", GAUGE, "Emails on their way into Postfix.",
		outbox.in_hand);
	single(out, "postern_in_flight_emails_limit", GAUGE,
		"How many may be on their way (submission.max_pending).",
		metrics->conf->submission.max_pending);
	single(out, "postern_outbox_emails", GAUGE,
		"Emails in the outbox: those on their way into Postfix, and those that wait.",
		outbox.emails);
	single(out, "postern_outbox_bytes", GAUGE, "The size of their messages.", outbox.bytes);
	single(out, "postern_outbox_bytes_limit", GAUGE,
		"How large they may be together (outbox.max_bytes).",
		metrics->conf->outbox.max_bytes);
	single(out, "postern_submission_paused", GAUGE,
		"1 while Postfix or the milter do not take emails, and one at a time probes.",
		outbox.breaker.cause != BREAKER_CLOSED);
	single(out, "postern_submission_pauses_total", COUNTER, "How often that began.",
		(int64_t)outbox.breaker.trips);
	tell_probe(metrics);
	single(out, "postern_milter_in_charge", GAUGE,
		"0 while emails that Postfix took come to no record of the milter, and others "
		"wait.",
		outbox.breaker.cause != BREAKER_NO_RECORDS);
}

/*
 * The other programs.
 */

static void tell_verdicts(struct metrics *metrics)
{
	const struct metrics_milter *milter = &metrics->milter;
	struct buf *out = &metrics->out;

	if (!metrics->programs[1].told)
		return;
	metric(out, "postern_milter_verdicts_total", COUNTER,
		"Messages that the milter has decided about.");
	for (size_t i = 0; i < VERDICT_ACTIONS; i++)
		sample(out, milter->verdicts[i], "postern_milter_verdicts_total{action=\"%s\"}",
			verdict_action_name((enum verdict_action)i));
	metric(out, "postern_milter_stopped_total", COUNTER,
		"Messages that were refused, put off or thrown away, by why.");
	for (size_t i = 0; i < REASONS; i++)
		if (milter->reasons[i])
			sample(out, milter->reasons[i],
				"postern_milter_stopped_total{reason=\"%s\"}",
				verdict_reason_name((enum verdict_reason)i));
}

static void tell_events(struct metrics *metrics)
{
	const struct metrics_events *events = &metrics->events;
	struct buf *out = &metrics->out;

	if (!metrics->programs[2].told)
		return;
	metric(out, "postern_delivery_events_total", COUNTER,
		"What became of emails, recipient by recipient, as Postfix's log and queue tell.");
	for (size_t i = 0; i < EVENT_KINDS; i++)
		sample(out, events->events[i], "postern_delivery_events_total{kind=\"%s\"}",
			event_kind_name((enum event_kind)i));
	single(out, "postern_log_lines_total", COUNTER,
		"Lines of Postfix's log that say something of a message.", events->lines);
	single(out, "postern_log_unreadable_lines_total", COUNTER,
		"Lines of Postfix's log that could not be read.", events->unreadable);
	single(out, "postern_left_without_rules_total", COUNTER,
		"Emails that Postfix handed to another server without asking postern-milter.",
		events->left);
	single(out, "postern_suppressions_not_added_total", COUNTER,
		"Addresses that bounced for good and found the list of suppressed ones full.",
		events->unlisted);
	metric(out, "postern_log_read_to_end_timestamp_seconds", GAUGE,
		"When nothing of Postfix's log was left to read, the last time; 0: not yet.");
	sample_us(out, events->read_to_end_us, "postern_log_read_to_end_timestamp_seconds");
}

static void tell_webhook(struct metrics *metrics)
{
	const struct metrics_webhook *webhook = &metrics->webhook;
	struct buf *out = &metrics->out;

	if (!metrics->programs[3].told)
		return;
	metric(out, "postern_webhook_attempts_total", COUNTER,
		"Attempts to tell a webhook, by whether it answered 2xx.");
	sample(out, webhook->succeeded, "postern_webhook_attempts_total{outcome=\"success\"}");
	sample(out, webhook->failed, "postern_webhook_attempts_total{outcome=\"failure\"}");
	single(out, "postern_webhook_disabled_total", COUNTER,
		"Webhooks that were disabled for having failed for days.", webhook->disabled);
	single(out, "postern_webhook_attempts_active", GAUGE, "Attempts that are under way.",
		webhook->under_way);
	single(out, "postern_webhook_waiting", GAUGE,
		"What webhooks are still to be told, 100000 at most.", webhook->waiting);
}

/*
 * The store.
 */

static void tell_commits(struct metrics *metrics)
{
#define FSYNC "postern_store_fsync_duration_seconds"
	struct committer_stats own = committer_stats(metrics->shared->committer);
	struct buf *out = &metrics->out;

	metric(out, "postern_store_commits_total", COUNTER, "Transactions that were committed.");
	for (size_t n = 0; n < ARRAY_SIZE(metrics->programs); n++)
		if (metrics->programs[n].told)
			sample(out, metrics->programs[n].store.commits,
				"postern_store_commits_total{program=\"%s\"}",
				metrics->programs[n].name);
	metric(out, FSYNC, SUMMARY, "Syncs of the write-ahead log after commits.");
	for (size_t n = 0; n < ARRAY_SIZE(metrics->programs); n++) {
		const struct program *one = &metrics->programs[n];

		if (!one->told)
			continue;
		sample_us(out, one->store.sync_us, FSYNC "_sum{program=\"%s\"}", one->name);
		sample(out, one->store.syncs, FSYNC "_count{program=\"%s\"}", one->name);
	}
#undef FSYNC
	single(out, "postern_store_failed_commits_total", COUNTER,
		"Transactions of postern-httpd that could not be committed.", (int64_t)own.failed);
	single(out, "postern_store_jobs_total", COUNTER,
		"Writes of postern-httpd, which share transactions.", (int64_t)own.jobs);
	single(out, "postern_store_waiting_jobs", GAUGE,
		"Writes that wait for the next transaction.", (int64_t)own.waiting);
}

static int64_t file_size(const char *path, const char *suffix)
{
	_cleanup_free_ char *file = mem_printf("%s%s", path, suffix);
	struct stat status;

	return stat(file, &status) == 0 ? status.st_size : 0;
}

static void tell_files(struct metrics *metrics)
{
	const char *path = metrics->shared->database_path;
	struct buf *out = &metrics->out;
	struct statvfs volume;

	/* A database on a server has no file here. */
	if (metrics->shared->server == NULL) {
		single(out, "postern_store_size_bytes", GAUGE, "Size of the database file.",
			file_size(path, ""));
		single(out, "postern_store_log_size_bytes", GAUGE, "Size of its write-ahead log.",
			file_size(path, "-wal"));
	}
	if (db_file_volume_of(path, &volume) < 0)
		return;
	single(out, "postern_store_free_bytes", GAUGE, "Free space of its file system.",
		(int64_t)volume.f_bavail * (int64_t)volume.f_frsize);
	single(out, "postern_store_volume_bytes", GAUGE, "Size of its file system.",
		(int64_t)volume.f_blocks * (int64_t)volume.f_frsize);
}

/* Pauses, and how late the outbox is. */
static int tell_pauses(struct metrics *metrics, struct db *db, struct err *err)
{
	int64_t now_us = clock_now_us(metrics->shared->clock), due_us = 0, emails = 0;
	struct buf *out = &metrics->out;
	struct pause_list pauses;

	if (store_outbox_next(db, &due_us, err) < 0 || store_pause_list(db, NULL, &pauses, err) < 0)
		return -1;
	for (size_t i = 0; i < pauses.n; i++)
		emails += pauses.items[i].emails;
	single(out, "postern_outbox_pauses", GAUGE,
		"Companies, domains and keys whose emails an admin has paused.", (int64_t)pauses.n);
	single(out, "postern_outbox_paused_emails", GAUGE,
		"Emails that wait for such, of each 100000 at most.", emails);
	metric(out, "postern_outbox_due_timestamp_seconds", GAUGE,
		"Since when the next email of the outbox is due; 0: none is.");
	sample_us(out, due_us > 1 && due_us <= now_us ? due_us : 0,
		"postern_outbox_due_timestamp_seconds");
	store_pause_list_free(&pauses);
	return 0;
}

/* The heartbeats of all hosts that share the database. */
static int tell_hosts(struct metrics *metrics, struct db *db, struct err *err)
{
	struct buf *out = &metrics->out;
	struct host_list list;

	if (store_host_list(db, &list, err) < 0)
		return -1;
	if (list.n > 0)
		metric(out, "postern_heartbeat_timestamp_seconds", GAUGE,
			"When the program of a host that shares the database wrote its last "
			"heartbeat, by its clock.");
	for (size_t i = 0; i < list.n; i++)
		sample_us(out, list.items[i].seen_us,
			"postern_heartbeat_timestamp_seconds{host=\"%s\",program=\"postern-%s\"}",
			list.items[i].host, list.items[i].part);
	store_host_list_free(&list);
	return 0;
}

/* Metrics that are read from the database; none if it cannot be read. */
static int tell_queue(struct metrics *metrics, struct db *db, struct err *err)
{
	struct buf *out = &metrics->out;
	struct email_queue queue;
	struct log_state log;

	if (store_email_queue(db, &queue, err) < 0 || store_log_state(db, NULL, &log, err) < 0)
		return -1;
	metric(out, "postern_queue_emails", GAUGE,
		"Emails that are not at their end: staged for the milter, queued in Postfix, "
		"deferred by the next hop; and messages that are held. Those of all hosts that "
		"share the database.");
	sample(out, queue.staged, "postern_queue_emails{state=\"staged\"}");
	sample(out, queue.queued, "postern_queue_emails{state=\"queued\"}");
	sample(out, queue.deferred, "postern_queue_emails{state=\"deferred\"}");
	sample(out, queue.held, "postern_queue_emails{state=\"held\"}");
	if (tell_pauses(metrics, db, err) < 0 || tell_hosts(metrics, db, err) < 0)
		return -1;
	metric(out, "postern_log_position_timestamp_seconds", GAUGE,
		"When the position in Postfix's log was stored last; 0: never.");
	sample_us(out, log.read_us, "postern_log_position_timestamp_seconds");
	single(out, "postern_log_gaps", GAUGE, "Gaps in Postfix's log that are not repaired yet.",
		log.gaps);
	return 0;
}

static void tell_all(struct request *request, const struct conf *conf, bool gone)
{
	static const struct reply_kind kind = {.type = "text/plain; version=0.0.4; charset=utf-8"};
	const struct worker *worker = request->worker;
	struct metrics metrics = {.shared = worker->shared, .conf = conf};
	struct admin_part parts[PARTS];
	struct err err = ERR_INIT;

	look_at_programs(&metrics);
	tell_programs(&metrics);
	metric(&metrics.out, "postern_part_up", GAUGE,
		"Whether the part works, as GET /admin/health has it.");
	admin_parts_look(request, gone, parts);
	for (size_t i = 0; i < PARTS; i++)
		sample(&metrics.out, parts[i].ok, "postern_part_up{part=\"%s\"}", parts[i].name);
	tell_requests(&metrics);
	tell_submissions(&metrics);
	tell_verdicts(&metrics);
	tell_events(&metrics);
	tell_webhook(&metrics);
	tell_commits(&metrics);
	tell_files(&metrics);
	if (request->db && tell_queue(&metrics, request->db, &err) < 0)
		log_error(worker->log, "metrics_incomplete", "request", request->id, "error",
			err.text);
	reply_document(request, &kind, buf_take(&metrics.out));
}

static void tell_in_pool(struct request *request)
{
	tell_all(request, request->conf, false);
}

/* While the database is away, the pool gets no handle. What needs none must not
 * fail with it. Of a file that is gone the worker still has one. */
void admin_metrics_get(struct request *request)
{
	const struct worker *worker = request->worker;

	if (worker->database_watch.gone) {
		request->db = worker->db;
		tell_all(request, worker->conf, true);
	} else {
		reply_from_pool(request, tell_in_pool);
	}
}
