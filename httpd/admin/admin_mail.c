/*
 * admin_mail: what became of mail, what the rules stopped, and how the parts of
 * Postern are.
 *
 * Threads: the worker's.
 */
#include "httpd/admin/admin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/conf/setting.h"
#include "core/db/migrate.h"
#include "core/policy/verdict.h"
#include "core/postfix/postfix_run.h"
#include "core/store/store_email.h"
#include "core/store/store_event.h"
#include "core/store/store_refusal.h"
#include "httpd/json/email_json.h"
#include "httpd/json/list_json.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* What an admin sees of an email beside what its company does. */
static void add_story(json_t *object, const struct email *email)
{
	json_object_set_new(object, "company_id", json_string(email->company_id));
	json_object_set_new(object, "key_id", json_string(email->key_id));
	json_object_set_new(object, "domain", json_string(email->domain));
	json_object_set_new(object, "state",
		json_string(store_email_state_name(email->state)));
	json_object_set_new(object, "refusal", admin_text(email->refusal));
	json_object_set_new(object, "queue_id", admin_text(email->queue_id));
	json_object_set_new(object, "sender", json_string(email->sender));
}

/* 0, or -1 with the problem. */
static int read_filter(const struct request *request,
	const struct admin_query *query, struct email_filter *filter_r,
	struct problem *problem)
{
	*filter_r = (struct email_filter){
		.to = admin_query_get(query, "to"),
		.from = admin_query_get(query, "from"),
		.subject = admin_query_get(query, "subject"),
		.status = admin_query_get(query, "status"),
		.tag = admin_query_get(query, "tag"),
	};
	if (admin_query_time(
		    request, query, "since", &filter_r->since_us, problem) < 0)
		return -1;
	return admin_query_time(
		request, query, "until", &filter_r->until_us, problem);
}

void admin_email_list(struct request *request)
{
	static const char *const names[] = {"company_id", "domain", "to",
		"from", "subject", "status", "tag", "since", "until", "limit",
		"after", "before", NULL};
	struct problem problem = PROBLEM_INIT;
	struct email_found found = {0};
	json_t *data = json_array(), *list;
	struct email_filter filter;
	struct email_scope scope = {0};
	struct admin_query query;
	struct err err = ERR_INIT;
	struct page page = {0};
	int result = 1;

	if (admin_query_read(request, names, &query, &problem) == 0 &&
		read_filter(request, &query, &filter, &problem) == 0 &&
		list_json_parse(request_query(request), &page, &problem) == 0) {
		scope.company_id = admin_query_company(request, &query);
		scope.domain = admin_query_get(&query, "domain");
		result = store_email_search(request->worker->db, &scope,
			&filter, &page, &found, &err);
	}
	if (result == 0)
		list_json_no_cursor(&page, &problem);
	if (result < 0) {
		log_error(request->worker->log, "email_list_failed", "request",
			request->id, "error", err.text);
		problem_from_err(&problem, &err);
	}
	for (size_t i = 0; i < found.list.n; i++) {
		json_t *item = email_json_render_item(&found.list.items[i]);

		add_story(item, &found.list.items[i]);
		json_array_append_new(data, item);
	}
	list = list_json_render(data, found.more);
	json_object_set_new(list, "next", admin_text(found.next));
	store_email_list_free(&found.list);
	reply_either(request, &problem, 200, list);
}

/* All of it: its content, each recipient as it stands, and what was said, in
 * order. 1, 0 or -1. */
static int read_email(struct request *request, json_t **object_r, struct err *err)
{
	const struct email_scope scope = {
		.company_id = admission_company(&request->admission)};
	struct event_list events = {0};
	json_t *object, *array;
	struct email email;
	char id[ID_SIZE];
	char *text;
	int found = 0;

	if (id_parse(request->admission.param, id))
		found = store_email_get(
			request->worker->db, id, &scope, &email, err);
	if (found <= 0)
		return found;
	if (store_event_of_email(request->worker->db, email.seq, &events, err) <
		0) {
		store_email_clear(&email);
		return -1;
	}
	text = email_json_print(&email, true);
	object = text ? json_loads(text, JSON_ALLOW_NUL, NULL) : NULL;
	free(text);
	array = json_array();
	for (size_t i = 0; i < events.n; i++)
		json_array_append_new(
			array, email_json_render_event(&events.items[i]));
	store_event_list_free(&events);
	if (object == NULL) {
		json_decref(array);
		store_email_clear(&email);
		return err_set(err, ERR_INTERNAL, "the email cannot be printed");
	}
	add_story(object, &email);
	json_object_set_new(object, "events", array);
	store_email_clear(&email);
	*object_r = object;
	return 1;
}

void admin_email_get(struct request *request)
{
	struct err err = ERR_INIT;
	json_t *object = NULL;
	int found = read_email(request, &object, &err);

	admin_reply_found(request, found, object, "email_lookup_failed", &err);
}

static json_t *render_refusal(const struct refusal *refusal)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:o,"
			 " s:o, s:I, s:o, s:o}",
		"object", "refusal", "outcome",
		store_refusal_outcome_name(refusal->outcome), "reason",
		refusal->reason, "reason_text",
		verdict_reason_words(refusal->reason), "domain",
		admin_text(refusal->domain), "origin",
		admin_text(refusal->origin), "client",
		admin_text(refusal->client), "login", admin_text(refusal->login),
		"sender", refusal->sender, "from", admin_text(refusal->from),
		"queue_id", admin_text(refusal->queue_id), "count",
		(json_int_t)refusal->count, "first_at",
		admin_time(refusal->first_us), "last_at",
		admin_time(refusal->last_us));
}

/* Of mail without a ticket; refused emails are among the emails. */
void admin_refusal_list(struct request *request)
{
	static const char *const names[] = {
		"company_id", "domain", "learnt", "limit", NULL};
	enum { LIMIT_MAX = 1000, LIMIT = 100 };
	struct problem problem = PROBLEM_INIT;
	struct refusal_scope scope = {0};
	struct refusal_list list = {0};
	json_t *data = json_array();
	struct admin_query query;
	struct err err = ERR_INIT;
	const char *learnt;
	int64_t limit;

	if (admin_query_read(request, names, &query, &problem) < 0 ||
		admin_query_number(&query, "limit", LIMIT_MAX, LIMIT, &limit,
			&problem) < 0) {
		json_decref(data);
		reply_problem(request, &problem);
		return;
	}
	learnt = admin_query_get(&query, "learnt");
	scope.company_id = admin_query_company(request, &query);
	scope.domain = admin_query_get(&query, "domain");
	scope.learnt_only = learnt && str_eq(learnt, "true");
	limit = store_refusal_list(
		request->worker->db, &scope, (int)limit, &list, &err);
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(data, render_refusal(&list.items[i]));
	if (limit == 0)
		store_refusal_list_free(&list);
	admin_reply_list(request, (int)limit, data, "refusal_list_failed", &err);
}

/* Statistics: for each step in which something happened how many events of each
 * kind. */

#define HOUR_US (INT64_C(3600) * 1000000)
#define DAY_US  (24 * HOUR_US)

static json_t *render_counts(const struct event_counts *counts)
{
	json_t *data = json_array(), *step = NULL;
	int64_t time_us = -1;

	for (size_t i = 0; i < counts->n; i++) {
		const struct event_count *count = &counts->items[i];

		if (step == NULL || count->time_us != time_us) {
			step = json_object();
			time_us = count->time_us;
			json_array_append_new(
				data, json_pack("{s:o, s:o}", "time",
					      time_us ? admin_time(time_us)
						      : json_null(),
					      "counts", step));
		}
		json_object_set_new(step, fact_name(count->kind),
			json_integer(count->count));
	}
	return data;
}

void admin_stats_get(struct request *request)
{
	static const char *const names[] = {
		"company_id", "domain", "since", "until", "step", NULL};
	int64_t now_us = clock_now_us(request->worker->shared->clock);
	struct problem problem = PROBLEM_INIT;
	struct event_count_filter filter = {.step_us = DAY_US};
	struct event_counts counts = {0};
	struct admin_query query;
	struct err err = ERR_INIT;
	const char *step;
	json_t *data;
	int result;

	if (admin_query_read(request, names, &query, &problem) == 0 &&
		admin_query_time(request, &query, "since", &filter.begin_us,
			&problem) == 0 &&
		admin_query_time(request, &query, "until", &filter.end_us,
			&problem) == 0) {
		step = admin_query_get(&query, "step");
		if (step && str_eq(step, "hour"))
			filter.step_us = HOUR_US;
		else if (step && !str_eq(step, "day"))
			problem_set(&problem, PROBLEM_PARAMETER,
				"The `step` parameter is `hour` or `day`.");
	}
	if (problem.kind != PROBLEM_NONE) {
		reply_problem(request, &problem);
		return;
	}
	if (filter.end_us == 0)
		filter.end_us = now_us + HOUR_US;
	if (filter.begin_us == 0)
		filter.begin_us = now_us - 30 * DAY_US;
	/* Steps are whole. */
	filter.begin_us -= filter.begin_us % filter.step_us;
	filter.company_id = admin_query_company(request, &query);
	filter.domain = admin_query_get(&query, "domain");
	result = store_event_counts(request->worker->db, &filter, &counts, &err);
	data = result == 0 ? render_counts(&counts) : json_array();
	if (result == 0)
		store_event_counts_free(&counts);
	admin_reply_list(request, result, data, "stats_failed", &err);
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

struct part {
	const char *name;
	bool ok;
	char words[ERR_TEXT_MAX];
};

enum { STORE, POSTFIX, MILTER, EVENTS, PARTS };

__attribute__((format(printf, 3, 4))) static void tell(
	struct part *part, bool ok, const char *format, ...)
{
	va_list args;

	part->ok = ok;
	va_start(args, format);
	vsnprintf(part->words, sizeof(part->words), format, args);
	va_end(args);
}

static void look_at_events(struct worker *worker, struct part *part)
{
	struct err err = ERR_INIT;
	struct log_state state;
	char read_at[CLOCK_TEXT_SIZE];

	if (store_log_state(worker->db, &state, &err) < 0) {
		tell(part, false, "%s", err.text);
		return;
	}
	clock_iso8601(state.read_us, read_at);
	if (state.read_us == 0)
		tell(part, false,
			"postern-events has read nothing of Postfix's log yet");
	else if (state.gaps > 0)
		tell(part, false,
			"lines of Postfix's log are missing; the queue is "
			"being compared (%lld gaps)",
			(long long)state.gaps);
	else
		tell(part, true, "read something of Postfix's log at %s",
			read_at);
}

static void look(struct worker *worker, struct part parts[static PARTS])
{
	const struct conf *conf = worker->conf;
	struct err err = ERR_INIT;
	int fault;

	memset(parts, 0, PARTS * sizeof(*parts));
	parts[STORE].name = "store";
	parts[POSTFIX].name = "postfix";
	parts[MILTER].name = "milter";
	parts[EVENTS].name = "events";
	if (worker->database.gone)
		tell(&parts[STORE], false,
			"%s is another file than at the start, or gone: "
			"restart "
			"the daemons",
			conf->store.database);
	else if (migrate_check(worker->db, &err) < 0)
		tell(&parts[STORE], false, "%s", err.text);
	else
		tell(&parts[STORE], true, "%s can be read", conf->store.database);
	if (postfix_run_is_over(worker->shared->run))
		tell(&parts[POSTFIX], false, "Postfix is not running");
	else
		tell(&parts[POSTFIX], true, "Postfix is running");
	fault = postfix_socket_look(conf->milter.socket);
	if (fault)
		tell(&parts[MILTER], false, "nobody answers at %s: %s",
			conf->milter.socket, strerror(fault));
	else
		tell(&parts[MILTER], true, "postern-milter listens at %s",
			conf->milter.socket);
	look_at_events(worker, &parts[EVENTS]);
}

static json_t *render_parts(const struct part parts[static PARTS])
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
	struct part parts[PARTS];
	bool ok = true;

	look(request->worker, parts);
	for (size_t i = 0; i < PARTS; i++)
		ok &= parts[i].ok;
	reply_json(request, 200,
		json_pack("{s:s, s:b, s:o}", "object", "health", "ok", ok,
			"parts", render_parts(parts)));
}

void admin_parts_each(struct worker *worker,
	void (*on_part)(void *arg, const char *name, bool ok), void *arg)
{
	struct part parts[PARTS];

	look(worker, parts);
	for (size_t i = 0; i < PARTS; i++)
		on_part(arg, parts[i].name, parts[i].ok);
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
		[STORE] = "the store cannot be read",
		[POSTFIX] = "Postfix is not running",
		[MILTER] = "postern-milter does not answer",
	};
	struct buf text = BUF_INIT;
	struct part parts[PARTS];

	look(request->worker, parts);
	for (size_t i = 0; i < EVENTS; i++)
		if (!parts[i].ok)
			buf_printf(&text, "%s\n", faults[i]);
	if (request->worker->draining)
		buf_add_str(&text, "the server is stopping\n");
	if (text.len > 0)
		reply_text(request, 503, buf_take(&text));
	else
		reply_text(request, 200, mem_strdup("ready\n"));
}
