/*
 * admin_host: this host: what programs and DNS records have to know of it, the
 * settings in force, and how the parts of Postern are.
 *
 * Threads: the pool's for the host and its health, the worker's for the rest.
 */
#include "httpd/admin/admin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/conf/setting.h"
#include "core/db/migrate.h"
#include "core/postfix/postconf.h"
#include "core/postfix/postfix_run.h"
#include "core/store/store_domain.h"
#include "core/store/store_event.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* Programs of Postfix tell. */
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
	_cleanup_free_ char *plain = mem_printf("http://%s", conf->http.listen);
	const char *name, *receives_by = NULL;
	char *values[VALUES] = {NULL}; /* as they stay without Postfix */
	struct problem problem = PROBLEM_INIT;
	struct domain domain = {0};
	struct json_query query;

	if (json_query_read(request, known, &query, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	name = json_query_get(&query, "domain");
	(void)postconf_read(config, names, VALUES, values, NULL);
	/* Where the mail of others goes is told to nobody. */
	if (name &&
		store_domain_find_of(request->db,
			admission_company(&request->admission), name, &domain,
			NULL) > 0 &&
		postconf_has_domain(config, domain.name, &receives_by, NULL) <= 0)
		receives_by = NULL;
	store_domain_clear(&domain);
	reply_json(request, 200,
		json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "object",
			"host", "version", POSTERN_VERSION, "api_url",
			*conf->http.url ? conf->http.url : plain, "name",
			admin_text(values[NAME]), "relay",
			admin_text(values[RELAY]), "postfix_version",
			admin_text(values[VERSION]), "receives_by",
			admin_text(receives_by)));
	for (size_t i = 0; i < VALUES; i++)
		free(values[i]);
}

/* The settings in force. */
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
			json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "section",
				setting->section, "name", setting->name,
				"value", buf_str(&value), "default",
				setting->fallback, "is_default",
				setting_equal(setting, conf, defaults),
				"reload", setting->reload));
	}
	reply_json(request, 200, list_json_render(data, false));
}

/* How the parts are. */

__attribute__((format(printf, 3, 4))) static void tell(
	struct admin_part *part, bool ok, const char *format, ...)
{
	va_list args;

	part->ok = ok;
	va_start(args, format);
	vsnprintf(part->words, sizeof(part->words), format, args);
	va_end(args);
}

static void look_at_events(struct db *db, int64_t now_us, struct admin_part *part)
{
	static const int64_t patience_us = 600 * SECOND_US;
	struct err err = ERR_INIT;
	struct log_state state;
	char read_at[CLOCK_TEXT_SIZE], since[CLOCK_TEXT_SIZE];
	int64_t since_us = 0;
	int silent;

	if (store_log_state(db, &state, &err) < 0 ||
		(silent = store_log_silence(db, now_us - DAY_US,
			 now_us - patience_us, &since_us, &err)) < 0) {
		tell(part, false, "%s", err.text);
		return;
	}
	clock_iso8601(since_us, since);
	clock_iso8601(state.read_us, read_at);
	if (state.read_us == 0)
		tell(part, false,
			"postern-events has read nothing of Postfix's log yet");
	else if (silent)
		tell(part, false,
			"Postfix's log has told nothing of an email that it "
			"has had since %s: does postern-events run, and read "
			"the right log?",
			since);
	else if (state.gaps > 0)
		tell(part, false,
			"lines of Postfix's log are missing; the queue is "
			"being compared (%lld gaps)",
			(long long)state.gaps);
	else
		tell(part, true,
			"postern-events reads Postfix's log, last at %.10s "
			"%.8sZ",
			read_at, read_at + 11);
}

/* The first n; gone: the database is another file than at the start. */
static void look(const struct request *request, bool gone,
	struct admin_part parts[static PARTS], size_t n)
{
	const struct worker_shared *shared = request->worker->shared;
	const struct conf *conf = request->pooled ? request->conf
						  : request->worker->conf;
	struct err err = ERR_INIT;
	int fault;

	memset(parts, 0, PARTS * sizeof(*parts));
	parts[PART_STORE].name = "store";
	parts[PART_POSTFIX].name = "postfix";
	parts[PART_MILTER].name = "milter";
	parts[PART_EVENTS].name = "events";
	if (gone)
		tell(&parts[PART_STORE], false,
			"%s is another file than at the start, or gone: "
			"restart "
			"the daemons",
			conf->store.database);
	else if (migrate_check(request->db, &err) < 0)
		tell(&parts[PART_STORE], false, "%s", err.text);
	else
		tell(&parts[PART_STORE], true, "%s can be read",
			conf->store.database);
	if (postfix_run_is_over(shared->run))
		tell(&parts[PART_POSTFIX], false, "Postfix is not running");
	else
		tell(&parts[PART_POSTFIX], true, "Postfix is running");
	fault = postfix_socket_look(conf->milter.socket);
	if (fault)
		tell(&parts[PART_MILTER], false, "nobody answers at %s: %s",
			conf->milter.socket, strerror(fault));
	else
		tell(&parts[PART_MILTER], true, "postern-milter listens at %s",
			conf->milter.socket);
	if (n > PART_EVENTS)
		look_at_events(request->db, clock_now_us(shared->clock),
			&parts[PART_EVENTS]);
}

static json_t *render_parts(const struct admin_part parts[static PARTS])
{
	json_t *array = json_array();

	for (size_t i = 0; i < PARTS; i++)
		json_array_append_new(array,
			json_pack("{s:s, s:b, s:s}", "name", parts[i].name,
				"ok", parts[i].ok, "text", parts[i].words));
	return array;
}

void admin_health_get(struct request *request)
{
	struct admin_part parts[PARTS];
	bool ok = true;

	look(request, false, parts, PARTS); /* a gone one lets nobody in */
	for (size_t i = 0; i < PARTS; i++)
		ok &= parts[i].ok;
	reply_json(request, 200,
		json_pack("{s:s, s:b, s:o}", "object", "health", "ok", ok,
			"parts", render_parts(parts)));
}

void admin_parts_look(const struct request *request, bool gone,
	struct admin_part parts[static PARTS])
{
	look(request, gone, parts, PARTS);
}

/* The program answers. */
void admin_healthz(struct request *request)
{
	reply_text(request, 200, mem_strdup("ok\n"));
}

/* An email that is sent now goes out: for a load balancer. What waits for the
 * log to be read does not keep it from that. Paths are for admins. */
void admin_readyz(struct request *request)
{
	static const char *const faults[] = {
		[PART_STORE] = "the store cannot be read",
		[PART_POSTFIX] = "Postfix is not running",
		[PART_MILTER] = "postern-milter does not answer",
	};
	const struct worker *worker = request->worker;
	struct buf text = BUF_INIT;
	struct admin_part parts[PARTS];

	look(request, worker->database_watch.gone, parts, PART_EVENTS);
	for (size_t i = 0; i < PART_EVENTS; i++)
		if (!parts[i].ok)
			buf_printf(&text, "%s\n", faults[i]);
	if (worker->draining)
		buf_add_str(&text, "the server is stopping\n");
	if (text.len > 0)
		reply_text(request, 503, buf_take(&text));
	else
		reply_text(request, 200, mem_strdup("ready\n"));
}
