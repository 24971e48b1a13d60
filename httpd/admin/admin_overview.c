/*
 * admin_overview: what an admin looks at first: statistics, what needs
 * attention, and who changed what.
 *
 * Threads: the pool's.
 */
#include "httpd/admin/admin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/store_audit.h"
#include "core/store/store_domain.h"
#include "core/store/store_email.h"
#include "core/store/store_event.h"
#include "core/store/store_held.h"
#include "core/store/store_key.h"
#include "core/store/store_refusal.h"
#include "httpd/json/json_field.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "httpd/send/record_watch.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/*
 * Statistics: how many events of each kind there were, and how many emails the
 * milter refused, for each step in which something happened, or for each
 * domain.
 */

/* Both lists are in the same order. */
static int compare(
	const struct event_count *event, const struct refused_count *refused)
{
	if (event->domain)
		return strcmp(event->domain, refused->domain);
	return (event->time_us > refused->time_us) -
	       (event->time_us < refused->time_us);
}

static json_t *render_counts(
	const struct event_counts *events, const struct refused_counts *refused)
{
	json_t *data = json_array(), *counts = NULL;
	const char *last_domain = NULL;
	size_t e = 0, r = 0;
	int64_t last_us = -1;

	while (e < events->n || r < refused->n) {
		bool is_event = r == refused->n ||
				(e < events->n &&
					compare(&events->items[e],
						&refused->items[r]) <= 0);
		const struct event_count *event = &events->items[e];
		const struct refused_count *stopped = &refused->items[r];
		const char *domain = is_event ? event->domain : stopped->domain;
		int64_t time_us = is_event ? event->time_us : stopped->time_us;

		if (counts == NULL || time_us != last_us ||
			(domain && !str_eq(domain, last_domain))) {
			counts = json_object();
			json_array_append_new(
				data, domain ? json_pack("{s:s, s:o}", "domain",
						       domain, "counts", counts)
					     : json_pack("{s:o, s:o}", "time",
						       json_field_time(time_us),
						       "counts", counts));
			last_domain = domain;
			last_us = time_us;
		}
		if (is_event)
			json_object_set_new(counts, fact_name(event->kind),
				json_integer(event->count));
		else
			json_object_set_new(counts, "refused",
				json_integer(stopped->count));
		e += is_event;
		r += !is_event;
	}
	return data;
}

/* 0, or -1 with the problem. */
static int read_range(const struct request *request,
	const struct json_query *query, struct event_count_filter *filter,
	struct problem *problem)
{
	int64_t now_us = clock_now_us(request->worker->shared->clock);
	const char *step = json_query_get(query, "step");
	const char *by = json_query_get(query, "by");

	filter->step_us = DAY_US;
	if (step && str_eq(step, "hour"))
		filter->step_us = HOUR_US;
	else if (step && !str_eq(step, "day"))
		return problem_set(problem, PROBLEM_PARAMETER,
			"The `step` parameter is `hour` or `day`.");
	if (by && !str_eq(by, "domain") && !str_eq(by, "time"))
		return problem_set(problem, PROBLEM_PARAMETER,
			"The `by` parameter is `time` or `domain`.");
	filter->by_domain = by && str_eq(by, "domain");
	if (json_query_time(
		    request, query, "since", &filter->begin_us, problem) < 0 ||
		json_query_time(
			request, query, "until", &filter->end_us, problem) < 0)
		return -1;
	if (filter->end_us == 0)
		filter->end_us = now_us + HOUR_US;
	if (filter->begin_us == 0)
		filter->begin_us = now_us - 30 * DAY_US;
	/* Steps are whole. */
	filter->begin_us -= filter->begin_us % filter->step_us;
	return 0;
}

void admin_stats_get(struct request *request)
{
	static const char *const names[] = {
		"company_id", "domain", "since", "until", "step", "by", NULL};
	struct problem problem = PROBLEM_INIT;
	struct event_count_filter filter = {0};
	struct event_counts counts = {0};
	struct refused_counts refused = {0};
	struct json_query query;
	struct err err = ERR_INIT;
	json_t *object = NULL;
	int result;

	if (json_query_read(request, names, &query, &problem) < 0 ||
		read_range(request, &query, &filter, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	filter.company_id = admin_query_company(request, &query);
	filter.domain = json_query_get(&query, "domain");
	result = store_event_counts(request->db, &filter, &counts, &err);
	if (result == 0)
		result = store_refused_counts(
			request->db, &filter, &refused, &err);
	if (result == 0) {
		object = list_json_render(
			render_counts(&counts, &refused), false);
		json_object_set_new(
			object, "since", json_field_time(filter.begin_us));
		json_object_set_new(
			object, "until", json_field_time(filter.end_us));
	}
	store_event_counts_free(&counts);
	store_refused_counts_free(&refused);
	admin_reply_found(
		request, result < 0 ? -1 : 1, object, "stats_failed", &err);
}

/*
 * What needs attention, in words, with the page of the dashboard that has more.
 * Each look is at an index or at a bounded number of rows.
 */

enum {
	LEARN_DOMAINS_MAX = 100,
	LEARN_NOTES_MAX = 200,
	REFUSED_MAX = 500,
	BOUNCES_MIN = 10,     /* of a domain in a day, to be many; */
	BOUNCES_PERCENT = 5,  /* and so many of what was tried */
	UNUSED_DAYS = 30,     /* a new key */
	FORGOTTEN_DAYS = 180, /* a key that was used */
	DISK_PERCENT = 5,
	STAGED_S = 60,
};
#define DISK_BYTES (UINT64_C(256) * 1024 * 1024)

struct attention {
	struct db *db;
	const struct conf *conf;
	const char *company_id; /* of this company alone; NULL: of all */
	int64_t now_us;
	json_t *data;
};

/* level: problem, mail is stopped or unseen; warning: see to it; hint. */
__attribute__((format(printf, 5, 6))) static void need(struct attention *all,
	const char *level, const char *code, const char *page,
	const char *format, ...)
{
	char text[2 * ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	json_array_append_new(all->data,
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "object", "attention",
			"level", level, "code", code, "text", text, "page", page));
}

/* `1000 or more` where that is all that was counted. */
static const char *more(int64_t n, int64_t max)
{
	return n >= max ? " or more" : "";
}

static const char *plural(int64_t n)
{
	return n == 1 ? "" : "s";
}

static void need_parts(struct attention *all, const struct request *request)
{
	const struct worker_shared *shared = request->worker->shared;
	struct admin_part parts[PARTS];

	admin_parts_look(request, false, parts);
	for (size_t i = 0; i < PARTS; i++)
		if (!parts[i].ok)
			need(all, "problem", parts[i].name, "settings", "%s",
				parts[i].words);
	if (parts[PART_MILTER].ok && record_gate_is_shut(shared->gate))
		need(all, "problem", "not_in_charge", "emails?status=staged",
			"Emails wait in Postfix without a decision, and new "
			"ones are answered with 503: %s. Run "
			"postfix-conf/check.",
			record_gate_cause(shared->run, all->conf));
}

static void need_disk(struct attention *all)
{
	const char *file = all->conf->store.database;
	const char *slash = strrchr(file, '/');
	_cleanup_free_ char *folder = slash ? mem_dup(file,
						      (size_t)(slash - file + 1))
					    : mem_strdup(".");
	struct statvfs disk;
	uint64_t left, percent;

	if (statvfs(folder, &disk) < 0 || disk.f_blocks == 0)
		return;
	left = (uint64_t)disk.f_bavail * disk.f_frsize;
	percent = (uint64_t)disk.f_bavail * 100 / disk.f_blocks;
	if (left < DISK_BYTES || percent < DISK_PERCENT)
		need(all, "problem", "disk", "settings",
			"The disk of the store (%s) has %llu MiB left, %llu%%. "
			"Nothing is sent when it is full: make room, or set "
			"retention.emails.",
			folder, (unsigned long long)(left / (1024 * 1024)),
			(unsigned long long)percent);
}

static int need_waiting(struct attention *all, struct err *err)
{
	struct email_waiting waiting;
	int64_t held = 0;

	if (store_email_waiting(all->db, all->company_id,
		    all->now_us - STAGED_S * SECOND_US, &waiting, err) < 0)
		return -1;
	if (all->company_id == NULL &&
		store_held_count(all->db, EMAIL_WAITING_MAX, &held, err) < 0)
		return -1;
	if (waiting.staged)
		need(all, "warning", "staged", "emails?status=staged",
			"%lld email%s%s wait%s for postern-milter for over a "
			"minute.",
			(long long)waiting.staged, plural(waiting.staged),
			more(waiting.staged, EMAIL_WAITING_MAX),
			waiting.staged == 1 ? "s" : "");
	if (waiting.delayed)
		need(all, "hint", "delayed", "emails?status=delivery_delayed",
			"%lld email%s%s could not be delivered yet; Postfix "
			"tries again.",
			(long long)waiting.delayed, plural(waiting.delayed),
			more(waiting.delayed, EMAIL_WAITING_MAX));
	if (held)
		need(all, "warning", "held", "refusals",
			"The rules had Postfix hold %lld message%s%s: release "
			"or drop what is left (postern held list).",
			(long long)held, plural(held),
			more(held, EMAIL_WAITING_MAX));
	return 0;
}

/* Messages that a domain would refuse if it did not only learn. */
static int need_learnt(
	struct attention *all, const struct domain *domain, struct err *err)
{
	const struct refusal_scope scope = {
		.domain = domain->name, .learnt_only = true};
	_cleanup_free_ char *page = mem_printf(
		"refusals?domain=%s", domain->name);
	struct refusal_list list;
	const char *or_more;
	int64_t n = 0;

	if (store_refusal_list(all->db, &scope, LEARN_NOTES_MAX, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n; i++)
		n += list.items[i].count;
	or_more = more((int64_t)list.n, LEARN_NOTES_MAX);
	store_refusal_list_free(&list);
	if (n)
		need(all, "warning", "learnt", page,
			"%s learns, and saw %lld message%s%s that its rules "
			"would stop: exempt who may send, then make it "
			"exclusive.",
			domain->name, (long long)n, plural(n), or_more);
	return 0;
}

static int need_domains(struct attention *all, struct err *err)
{
	struct domain_list list;
	size_t learning = 0;
	int result = 0;

	if (store_domain_list(all->db, all->company_id, &list, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n && result == 0; i++) {
		const struct domain *domain = &list.items[i];

		if (domain->pending && all->company_id == NULL)
			need(all, "warning", "pending", "domains",
				"A company asks for the domain %s: activate "
				"it, or remove it.",
				domain->name);
		else if (domain->policy == POLICY_LEARN && !domain->pending &&
			 learning++ < LEARN_DOMAINS_MAX)
			result = need_learnt(all, domain, err);
	}
	store_domain_list_free(&list);
	return result;
}

/* Keys of which the milter refuses emails, by the newest refused ones. */
static int need_failing_keys(
	struct attention *all, const struct key_list *keys, struct err *err)
{
	const struct email_scope scope = {.company_id = all->company_id};
	struct email_list list;

	if (store_email_list_refused(all->db, &scope, REFUSED_MAX, &list, err) < 0)
		return -1;
	for (size_t k = 0; k < keys->n; k++) {
		const struct key *key = &keys->items[k];
		_cleanup_free_ char *page = mem_printf(
			"emails?status=refused&key_id=%s", key->id);
		const char *why = NULL;
		int64_t n = 0;

		for (size_t i = 0; i < list.n; i++) {
			const struct email *email = &list.items[i];

			if (email->decided_us < all->now_us - DAY_US ||
				!str_eq(email->key_id, key->id))
				continue;
			why = why ? why : email->refusal;
			n++;
		}
		if (n)
			need(all, "warning", "key_refused", page,
				"The rules refused %lld email%s of the key "
				"\"%s\" in the last day: %s",
				(long long)n, plural(n), key->name, why);
	}
	store_email_list_free(&list);
	return 0;
}

static int need_keys(struct attention *all, struct err *err)
{
	struct key_list keys;
	int64_t unused = 0, forgotten = 0;
	int result;

	if (store_key_list(all->db, all->company_id, &keys, err) < 0)
		return -1;
	result = need_failing_keys(all, &keys, err);
	for (size_t i = 0; i < keys.n; i++) {
		const struct key *key = &keys.items[i];

		if (key->revoked_us)
			continue;
		if (key->last_used_us)
			forgotten += key->last_used_us <
				     all->now_us - FORGOTTEN_DAYS * DAY_US;
		else
			unused += key->created_us <
				  all->now_us - UNUSED_DAYS * DAY_US;
	}
	store_key_list_free(&keys);
	if (unused)
		need(all, "hint", "keys_unused", "keys",
			"%lld key%s %s never used in %d days: revoke what "
			"nobody needs.",
			(long long)unused, plural(unused),
			unused == 1 ? "was" : "were", UNUSED_DAYS);
	if (forgotten)
		need(all, "hint", "keys_forgotten", "keys",
			"%lld key%s %s not used for %d days: revoke what "
			"nobody needs.",
			(long long)forgotten, plural(forgotten),
			forgotten == 1 ? "was" : "were", FORGOTTEN_DAYS);
	return result;
}

static int need_bounces(struct attention *all, struct err *err)
{
	const struct event_count_filter filter = {
		.company_id = all->company_id,
		.begin_us = all->now_us - DAY_US,
		.end_us = all->now_us + HOUR_US,
		.by_domain = true,
	};
	struct event_counts counts;

	if (store_event_counts(all->db, &filter, &counts, err) < 0)
		return -1;
	for (size_t i = 0; i < counts.n;) {
		const char *domain = counts.items[i].domain;
		int64_t good = 0, bad = 0;

		for (; i < counts.n && str_eq(counts.items[i].domain, domain);
			i++) {
			enum fact kind = counts.items[i].kind;

			if (kind == FACT_DELIVERED)
				good += counts.items[i].count;
			else if (kind == FACT_BOUNCED || kind == FACT_EXPIRED)
				bad += counts.items[i].count;
		}
		if (bad >= BOUNCES_MIN &&
			bad * 100 >= (good + bad) * BOUNCES_PERCENT) {
			_cleanup_free_ char *page = mem_printf(
				"emails?status=bounced&domain=%s", domain);

			need(all, "warning", "bounces", page,
				"%lld of %lld deliveries from %s bounced in "
				"the last day (%lld%%).",
				(long long)bad, (long long)(good + bad), domain,
				(long long)(bad * 100 / (good + bad)));
		}
	}
	store_event_counts_free(&counts);
	return 0;
}

void admin_attention_list(struct request *request)
{
	static const char *const names[] = {"company_id", NULL};
	struct problem problem = PROBLEM_INIT;
	struct attention all = {
		.db = request->db,
		.conf = request->conf,
		.now_us = clock_now_us(request->worker->shared->clock),
	};
	struct json_query query;
	struct err err = ERR_INIT;
	int result = 0;

	if (json_query_read(request, names, &query, &problem) < 0) {
		reply_problem(request, &problem);
		return;
	}
	all.company_id = admin_query_company(request, &query);
	all.data = json_array();
	if (all.company_id == NULL) {
		need_parts(&all, request);
		need_disk(&all);
	}
	if (need_waiting(&all, &err) < 0 || need_domains(&all, &err) < 0 ||
		need_bounces(&all, &err) < 0 || need_keys(&all, &err) < 0)
		result = -1;
	admin_reply_list(request, result, all.data, "attention_failed", &err);
}

/* The audit log. */

static json_t *json_or_null(const char *text)
{
	json_t *json = text ? json_loads(text, 0, NULL) : NULL;

	return json ? json : json_null();
}

static json_t *render_audit(const struct audit *audit)
{
	return json_pack("{s:s, s:s, s:o, s:s, s:s, s:s, s:s, s:o, s:s, s:s,"
			 " s:s, s:o, s:o}",
		"object", "audit", "id", audit->id, "at",
		json_field_time(audit->at_us), "actor", audit->actor, "actor_id",
		audit->actor_id, "actor_name", audit->actor_name, "origin",
		audit->origin, "company_id", admin_text(audit->company_id),
		"action", audit->action, "object_id", audit->object_id,
		"object_name", audit->object_name, "before",
		json_or_null(audit->before), "after", json_or_null(audit->after));
}

void admin_audit_list(struct request *request)
{
	static const char *const names[] = {"company_id", "object", "actor",
		"action", "since", "limit", "after", "before", NULL};
	struct problem problem = PROBLEM_INIT;
	struct audit_list list = {0};
	struct audit_scope scope = {0};
	json_t *data = json_array();
	struct json_query query;
	struct err err = ERR_INIT;
	struct page page;
	bool more = false;
	int found;

	if (json_query_read(request, names, &query, &problem) == 0 &&
		json_query_time(request, &query, "since", &scope.since_us,
			&problem) == 0 &&
		json_query_page(&query, &page, &problem) == 0) {
		scope.company_id = admin_query_company(request, &query);
		scope.object = json_query_words(&query, "object");
		scope.actor = json_query_words(&query, "actor");
		scope.action = json_query_words(&query, "action");
		found = store_audit_page(
			request->db, &scope, &page, &list, &more, &err);
		list_json_check(request, found, &page, "audit_list_failed",
			&err, &problem);
	}
	for (size_t i = 0; i < list.n; i++)
		json_array_append_new(data, render_audit(&list.items[i]));
	store_audit_list_free(&list);
	reply_either(request, &problem, 200, list_json_render(data, more));
}
