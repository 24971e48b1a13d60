/*
 * admin_host: what programs and DNS records need to know about this host, the
 * settings in use, and the health of the parts.
 *
 * Threads: the pool's for the host and its health, the worker's for the rest;
 * check_tables() as in store_read.h.
 */
#include "httpd/admin/admin.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/socket.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/conf/setting.h"
#include "core/db/committer.h"
#include "core/db/migrate.h"
#include "core/ops/doctor_results.h"
#include "core/postfix/postconf.h"
#include "core/postfix/postfix_run.h"
#include "core/store/company/store_domain.h"
#include "core/store/host/store_log.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "httpd/send/probe_report.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/store_read.h"
#include "httpd/worker/worker.h"

/* Runs in the pool, because it runs programs of Postfix. */
void admin_host_get(struct request *request)
{
	static const char *const known[] = {"domain", NULL};
	enum { NAME, RELAY, VERSION, VALUES };
	static const char *const names[VALUES] = {
		[NAME] = "myhostname",
		[RELAY] = "relayhost",
		[VERSION] = "mail_version",
	};
	const struct conf *conf = request->conf;
	const char *config = conf->submission.postfix_config;
	const char *name, *socket, *receives_by = NULL;
	_cleanup_free_ char *url = conf_api_url(conf, &socket);
	char *values[VALUES] = {NULL}; /* stay NULL without Postfix */
	struct problem problem = PROBLEM_INIT;
	struct domain domain = {0};
	struct json_query query;

	if (json_query_read(request, known, &query, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	name = json_query_get(&query, "domain");
	(void)postconf_read(config, names, VALUES, values, NULL);
	/* How a domain receives mail is shown to its own company only. */
	if (name &&
		store_domain_find_of(request->db, admission_company(&request->admission), name,
			&domain, NULL) > 0 &&
		postconf_has_domain(config, domain.name, &receives_by, NULL) <= 0)
		receives_by = NULL;
	store_domain_clear(&domain);
	reply_json(request, 200,
		json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "object", "host", "version",
			POSTERN_VERSION, "api_url", url, "api_socket", row_json_given(socket),
			"name", row_json_given(values[NAME]), "relay",
			row_json_given(values[RELAY]), "postfix_version",
			row_json_given(values[VERSION]), "receives_by",
			row_json_given(receives_by)));
	for (size_t i = 0; i < VALUES; i++)
		free(values[i]);
}

/* The settings in use. */
void admin_setting_list(struct request *request)
{
	const struct conf *conf = request->worker->conf;
	_cleanup_(conf) struct conf *defaults = conf_default();
	json_t *data = json_array();

	for (size_t i = 0; i < settings_n; i++) {
		const struct setting *setting = &settings[i];
		_cleanup_buf_ struct buf value = BUF_INIT;

		setting_format(setting, conf, &value);
		json_array_append_new(data,
			json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "section", setting->section,
				"name", setting->name, "value", buf_str(&value), "default",
				setting->fallback, "is_default",
				setting_equal(setting, conf, defaults), "reload", setting->reload));
	}
	reply_json(request, 200, list_json_render(data, false));
}

/* The health of the parts. */

__attribute__((format(printf, 2, 3))) static void tell_well(
	struct admin_part *part, const char *format, ...)
{
	va_list args;

	part->ok = true;
	va_start(args, format);
	vsnprintf(part->words, sizeof(part->words), format, args);
	va_end(args);
}

/* Sets what is wrong, its effect on mail, and what to do. */
__attribute__((format(printf, 4, 5))) static void tell_fault(
	struct admin_part *part, const char *effect, const char *cure, const char *format, ...)
{
	va_list args;

	part->ok = false;
	part->effect = effect;
	part->cure = cure;
	va_start(args, format);
	vsnprintf(part->words, sizeof(part->words), format, args);
	va_end(args);
}

static void tell_finding(struct admin_part *part, enum probe_finding finding, const char *words)
{
	tell_fault(part, probe_finding_effect(finding), probe_finding_hint(finding), "%s", words);
}

struct store_state {
	bool gone; /* the file was replaced or removed since the start, or the server is away */
	struct err why; /* if its tables cannot be used */
};

/* Checks that the database can be read and written: by its file, if it is
 * SQLite, the last transaction, and the last probe. */
static void look_at_store(const struct request *request, const struct store_state *state,
	const struct probe_outcome *outcome, struct admin_part *part)
{
	const struct conf *conf = request->pooled ? request->conf : request->worker->conf;
	bool is_file = str_empty(conf->store.url);
	const char *file = is_file ? conf->store.database : "PostgreSQL";
	struct committer_stats stats = committer_stats(request->worker->shared->committer);

	if (state->gone && !is_file)
		tell_fault(part, probe_finding_effect(PROBE_STORE), probe_finding_hint(PROBE_STORE),
			"the database server does not answer; the log of postern-httpd has the "
			"reason (database_away)");
	else if (state->gone)
		tell_fault(part, probe_finding_effect(PROBE_STORE),
			"put the file back, or a backup of it (postern db restore), then restart "
			"the daemons of Postern",
			"the database %s is gone, or another file than at the start", file);
	else if (state->why.code != ERR_NONE)
		tell_finding(part, PROBE_STORE, state->why.text);
	else if (is_file && access(file, W_OK) < 0)
		tell_fault(part, probe_finding_effect(PROBE_STORE), probe_finding_hint(PROBE_STORE),
			"the database %s cannot be written: %s", file, strerror(errno));
	else if (*stats.failure)
		tell_fault(part, probe_finding_effect(PROBE_STORE), probe_finding_hint(PROBE_STORE),
			"the database %s could not be written: %s", file, stats.failure);
	else if (outcome->finding == PROBE_STORE)
		tell_finding(part, PROBE_STORE, outcome->cause);
	else
		tell_well(part, "%s can be read and written", file);
}

static void look_at_milter(
	const char *socket, const struct probe_outcome *outcome, struct admin_part *part)
{
	int fault = socket_look(socket);

	if (fault == EACCES)
		tell_well(part,
			"postern-httpd may not open %s itself; Submission tells whether Postfix can",
			socket);
	else if (fault && outcome->finding == PROBE_MILTER)
		tell_finding(part, PROBE_MILTER, outcome->cause);
	else if (fault)
		tell_fault(part, probe_finding_effect(PROBE_MILTER),
			probe_finding_hint(PROBE_MILTER), "postern-milter does not answer (%s: %s)",
			socket, strerror(fault));
	else
		tell_well(part, "postern-milter listens at %s", socket);
}

/* db is NULL if the database server is away. */
static void look_at_events(
	const struct worker_shared *shared, struct db *db, struct admin_part *part)
{
	static const char effect[] =
		"mail goes out; what became of it is not known yet, and is filled in later";
	static const int64_t patience_us = 600 * SECOND_US;
	int64_t now_us = clock_now_us(shared->clock);
	struct probe_outcome outcome;
	struct err err = ERR_INIT;
	struct log_state state;
	char end[CLOCK_TEXT_SIZE], since[CLOCK_TEXT_SIZE];
	int64_t since_us = 0;
	int silent;

	if (db == NULL) {
		tell_fault(part, effect, probe_finding_hint(PROBE_STORE),
			"the database server does not answer");
		return;
	}
	if (store_log_state(db, NULL, &state, &err) < 0 ||
		(silent = store_log_silence(
			 db, now_us - DAY_US, now_us - patience_us, &since_us, &err)) < 0) {
		tell_fault(part, effect, probe_finding_hint(PROBE_STORE), "%s", err.text);
		return;
	}
	clock_iso8601(since_us, since);
	clock_iso8601(state.end_us, end);
	probe_report_get(shared->probe, &outcome);
	if (outcome.reader != READER_WELL && state.end_us == 0)
		tell_fault(part, effect, reader_fault_hint(outcome.reader), "%s",
			reader_fault_words(outcome.reader));
	else if (outcome.reader != READER_WELL)
		tell_fault(part, effect, reader_fault_hint(outcome.reader),
			"%s; what became of emails since %.10s %.8sZ is not known",
			reader_fault_words(outcome.reader), end, end + 11);
	else if (silent)
		tell_fault(part, effect,
			"see whether postern-events reads the log that Postfix writes "
			"(postern-events --check)",
			"Postfix's log has told nothing of an email that it has had since "
			"%.10s %.8sZ",
			since, since + 11);
	else if (state.gaps > 0)
		tell_fault(part, effect,
			"nothing: postern-events compares the queue, and closes the gap by itself",
			"lines of Postfix's log are missing (%lld gap%s)", (long long)state.gaps,
			state.gaps == 1 ? "" : "s");
	else
		tell_well(part, "postern-events has read all of Postfix's log, last at %.10s %.8sZ",
			end, end + 11);
}

/* Shows the faults from first to last as one part. Effect and cure are those of
 * the first; the overview shows each separately. */
static void look_at_faults(const struct worker_shared *shared, enum service_fault first,
	enum service_fault last, const char *well, struct admin_part *part)
{
	struct probe_outcome outcome;
	size_t len = 0;

	tell_well(part, "%s", well);
	probe_report_get(shared->probe, &outcome);
	for (enum service_fault i = first; i <= last; i++) {
		if (outcome.faults[i][0] == '\0')
			continue;
		if (part->ok)
			tell_fault(part, service_fault_effect(i), service_fault_hint(i), "%s",
				outcome.faults[i]);
		else
			snprintf(part->words + len, sizeof(part->words) - len,
				"; %s (effect: %s; cure: %s)", outcome.faults[i],
				service_fault_effect(i), service_fault_hint(i));
		part->told = true;
		len = strlen(part->words);
	}
}

/* Shows what the last probe found, unless another part shows it already. */
static void look_at_submission(
	const struct worker_shared *shared, struct admin_part parts[static PARTS])
{
	struct admin_part *part = &parts[PART_SUBMISSION];
	struct probe_outcome outcome;
	char at[CLOCK_TEXT_SIZE];

	probe_report_get(shared->probe, &outcome);
	clock_iso8601(outcome.at_us, at);
	if (outcome.finding == PROBE_NONE)
		tell_well(part, "no test message was sent yet");
	else if (probe_is_good(outcome.finding))
		tell_well(part, "the last test message went out, at %.10s %.8sZ", at, at + 11);
	else
		tell_fault(part, probe_finding_effect(outcome.finding),
			probe_finding_hint(outcome.finding), "%s (tried at %.10s %.8sZ)",
			outcome.cause, at, at + 11);
	part->told = (outcome.finding == PROBE_STORE && !parts[PART_STORE].ok) ||
		     (outcome.finding == PROBE_POSTFIX && !parts[PART_POSTFIX].ok) ||
		     (outcome.finding == PROBE_MILTER && !parts[PART_MILTER].ok);
}

/* Checks the first n parts. */
static void look_at_parts(const struct request *request, const struct store_state *state,
	struct admin_part parts[static PARTS], size_t n)
{
	static const char *const names[PARTS] = {
		[PART_STORE] = "store",
		[PART_POSTFIX] = "postfix",
		[PART_MILTER] = "milter",
		[PART_SUBMISSION] = "submission",
		[PART_OUTBOX] = "outbox",
		[PART_SETTINGS] = "settings",
		[PART_EVENTS] = "events",
	};
	const struct worker_shared *shared = request->worker->shared;
	const struct conf *conf = request->pooled ? request->conf : request->worker->conf;
	struct probe_outcome outcome;

	probe_report_get(shared->probe, &outcome);
	memset(parts, 0, PARTS * sizeof(*parts));
	for (size_t i = 0; i < PARTS; i++)
		parts[i].name = names[i];
	look_at_store(request, state, &outcome, &parts[PART_STORE]);
	if (postfix_run_is_over(shared->run))
		tell_finding(&parts[PART_POSTFIX], PROBE_POSTFIX, "Postfix is not running");
	else
		tell_well(&parts[PART_POSTFIX], "Postfix is running");
	look_at_milter(conf->milter.socket, &outcome, &parts[PART_MILTER]);
	look_at_submission(shared, parts);
	look_at_faults(shared, FAULT_DISK, FAULT_LATE, "the outbox takes emails, and none is late",
		&parts[PART_OUTBOX]);
	look_at_faults(shared, FAULT_SIZE, FAULT_SETTINGS,
		"the settings in force are those of postern.conf, and fit those of Postfix",
		&parts[PART_SETTINGS]);
	if (n > PART_EVENTS)
		look_at_events(shared, request->db, &parts[PART_EVENTS]);
}

void admin_health_get(struct request *request)
{
	struct admin_part parts[PARTS];
	json_t *array = json_array();
	bool ok = true;

	admin_parts_look(request, false, parts); /* without the database nobody is admitted here */
	for (size_t i = 0; i < PARTS; i++) {
		ok &= parts[i].ok;
		json_array_append_new(
			array, json_pack("{s:s, s:b, s:s, s:s?, s:s?}", "name", parts[i].name, "ok",
				       parts[i].ok, "text", parts[i].words, "effect",
				       parts[i].effect, "cure", parts[i].cure));
	}
	reply_json(request, 200,
		json_pack("{s:s, s:b, s:o}", "object", "health", "ok", ok, "parts", array));
}

/* What `postern doctor` found as root: this process never is root, and would
 * see less. */
void admin_doctor_get(struct request *request)
{
	json_t *found = doctor_results_read(request->conf->store.database);

	json_object_set_new(found, "object", json_string("doctor"));
	reply_json(request, 200, found);
}

void admin_parts_look(
	const struct request *request, bool gone, struct admin_part parts[static PARTS])
{
	struct store_state state = {.gone = gone, .why = ERR_INIT};

	if (!gone)
		migrate_check(request->db, &state.why);
	look_at_parts(request, &state, parts, PARTS);
}

/* The process is alive. */
void admin_healthz(struct request *request)
{
	reply_text(request, 200, mem_strdup("ok\n"));
}

static void tell_ready(struct request *request, const struct store_state *state)
{
	static const char *const faults[] = {
		[PART_STORE] = "the store cannot be read or written",
		[PART_POSTFIX] = "Postfix is not running",
		[PART_MILTER] = "postern-milter does not answer",
	};
	const struct worker *worker = request->worker;
	struct probe_outcome outcome;
	struct buf text = BUF_INIT;
	struct admin_part parts[PARTS];

	look_at_parts(request, state, parts, PART_EVENTS);
	probe_report_get(worker->shared->probe, &outcome);
	for (size_t i = 0; i < PART_EVENTS; i++)
		if (!parts[i].ok && !parts[i].told)
			buf_printf(&text, "%s\n",
				i == PART_SUBMISSION ? probe_finding_words(outcome.finding)
						     : faults[i]);
	for (enum service_fault i = 0; i < SERVICE_FAULTS; i++)
		if (outcome.faults[i][0])
			buf_printf(&text, "%s\n", service_fault_words(i));
	if (outcome.reader)
		buf_printf(&text, "what becomes of emails is not known: %s\n",
			reader_fault_words(outcome.reader));
	if (worker->draining)
		buf_add_str(&text, "the server is stopping\n");
	if (text.len > 0)
		reply_text(request, 503, buf_take(&text));
	else
		reply_text(request, 200, mem_strdup("ready\n"));
}

struct readiness {
	struct store_read read; /* first */
	struct request *request;
};

static int check_tables(struct store_read *read, struct db *db, struct err *err)
{
	(void)read;
	return migrate_check(db, err);
}

static void on_tables_checked(struct store_read *read)
{
	struct readiness *readiness = (struct readiness *)read;

	tell_ready(readiness->request, &(const struct store_state){.why = read->err});
	free(readiness);
}

/* For monitoring: 200 if an email that is sent now goes out by the rules, and
 * its events are read from the log. File names are for admins only. */
void admin_readyz(struct request *request)
{
	struct readiness *readiness;

	if (request->worker->database_watch.gone) {
		tell_ready(request, &(const struct store_state){.gone = true, .why = ERR_INIT});
		return;
	}
	readiness = mem_new(struct readiness);
	readiness->request = request;
	readiness->read.read = check_tables;
	readiness->read.done = on_tables_checked;
	store_read_start(request->worker, &readiness->read, "");
}
