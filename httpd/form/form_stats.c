/*
 * form_stats: GET /v3/stats/total and /v3/{domain}/stats/total: the number of
 * events of each kind in each hour or day.
 *
 * Threads: the pool's.
 */
#include "httpd/form/api_form.h"

#include <jansson.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/ops/op_stats.h"
#include "httpd/admission/request.h"
#include "httpd/http/uri.h"
#include "httpd/json/operate.h"
#include "httpd/send/probe_report.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

enum { STEPS_MAX = 1000 };

enum { DEFAULT_EVENTS = 1 << FORM_ACCEPTED | 1 << FORM_DELIVERED | 1 << FORM_FAILED };

struct stats_ask {
	unsigned events; /* bits 1 << enum form_event */
	int64_t begin_us;
	int64_t end_us; /* after the last step */
	int64_t step_us;
};

/* `event` may be repeated. */
static int query_events(const char *query, unsigned *events_r, struct problem *problem)
{
	struct span rest = {query, strlen(query)};

	*events_r = 0;
	while (rest.len > 0) {
		struct span pair = span_cut(&rest, '&');
		struct span name = span_cut(&pair, '=');
		char text[QUERY_VALUE_MAX];
		int event;

		if (!span_is(name, "event"))
			continue;
		if (!percent_decode(pair, text, sizeof(text)))
			text[0] = '\0';
		event = form_event_find(text, problem);
		if (event < 0)
			return -1;
		*events_r |= 1u << event;
	}
	if (*events_r == 0)
		*events_r = DEFAULT_EVENTS;
	return 0;
}

/* Parses `12h`, `7d` or `1m` (30 days). Returns 1, 0 if it is not given, or -1
 * with the problem. */
static int query_duration(const char *query, int64_t *duration_us_r, struct problem *problem)
{
	static const struct unit units[] = {{"h", HOUR_US}, {"d", DAY_US}, {"m", 30 * DAY_US}, {0}};
	char text[QUERY_VALUE_MAX];
	int given = query_get(query, "duration", text, problem);

	if (given > 0 && (str_amount(text, units, duration_us_r) < 0 || *duration_us_r == 0))
		return problem_set(problem, PROBLEM_PARAMETER,
			"'duration' parameter must be like 12h, 7d or 1m");
	return given;
}

static int query_stats(
	const struct request *request, struct stats_ask *ask_r, struct problem *problem)
{
	const char *query = request_query(request);
	char resolution[QUERY_VALUE_MAX] = "day";
	int64_t end_us = clock_now_us(request->worker->shared->clock);
	int64_t start_us = 0, duration_us = 7 * DAY_US, step_us;
	int start, duration;

	if (query_events(query, &ask_r->events, problem) < 0 ||
		query_get(query, "resolution", resolution, problem) < 0 ||
		form_query_time(query, "end", &end_us, problem) < 0 ||
		(start = form_query_time(query, "start", &start_us, problem)) < 0 ||
		(duration = query_duration(query, &duration_us, problem)) < 0)
		return -1;
	if (!str_eq(resolution, "hour") && !str_eq(resolution, "day"))
		return problem_set(
			problem, PROBLEM_PARAMETER, "'resolution' parameter must be hour or day");
	step_us = str_eq(resolution, "hour") ? HOUR_US : DAY_US;
	if (!start || duration)
		start_us = end_us > duration_us ? end_us - duration_us : 0;
	if (start_us > end_us)
		return problem_set(
			problem, PROBLEM_PARAMETER, "'start' parameter must be before the end");
	if ((end_us - start_us) / step_us > STEPS_MAX)
		return problem_set(problem, PROBLEM_PARAMETER,
			"the time range has more than %d steps", STEPS_MAX);
	ask_r->step_us = step_us;
	ask_r->begin_us = start_us - start_us % step_us;
	ask_r->end_us = end_us - end_us % step_us + step_us;
	return 0;
}

json_t *form_time_json(int64_t time_us)
{
	char text[CLOCK_TEXT_SIZE];

	clock_rfc5322(time_us, text);
	memcpy(text + strlen(text) - 5, "UTC", 4);
	return json_string(text);
}

static json_t *render_counts(enum form_event event, const int64_t *counts)
{
	json_int_t n[EVENT_KINDS], dropped;

	for (size_t i = 0; i < EVENT_KINDS; i++)
		n[i] = counts[i];
	dropped = n[EVENT_DISCARDED] + n[EVENT_REMOVED] + n[EVENT_FAILED];
	if (event == FORM_ACCEPTED)
		return json_pack("{s:i, s:I, s:I}", "incoming", 0, "outgoing", n[EVENT_ACCEPTED],
			"total", n[EVENT_ACCEPTED]);
	if (event == FORM_DELIVERED)
		return json_pack("{s:I, s:i, s:I}", "smtp", n[EVENT_DELIVERED], "http", 0, "total",
			n[EVENT_DELIVERED]);
	if (event == FORM_FAILED)
		/* The reasons are not counted. */
		return json_pack("{s:{s:i, s:I}, s:{s:I, s:I, s:I, s:i, s:i, s:I}}", "temporary",
			"espblock", 0, "total", n[EVENT_DEFERRED], "permanent", "bounce",
			n[EVENT_BOUNCED] + dropped, "delayed-bounce", n[EVENT_EXPIRED],
			"suppress-bounce", n[EVENT_SUPPRESSED], "suppress-unsubscribe", 0,
			"suppress-complaint", 0, "total",
			n[EVENT_BOUNCED] + n[EVENT_EXPIRED] + n[EVENT_SUPPRESSED] + dropped);
	return json_pack("{s:I}", "total",
		event == FORM_COMPLAINED     ? n[EVENT_COMPLAINED]
		: event == FORM_REJECTED     ? n[EVENT_CANCELED]
		: event == FORM_UNSUBSCRIBED ? n[EVENT_UNSUBSCRIBED]
					     : (json_int_t)0);
}

static json_t *render_stats(
	const struct stats_ask *ask, const struct rows *counted, struct probe_report *probe)
{
	static const int64_t none[EVENT_KINDS] = {0};
	const struct op_stats_step *items = counted->items;
	json_t *steps = json_array();
	size_t i = 0;

	for (int64_t us = ask->begin_us; us < ask->end_us; us += ask->step_us) {
		bool any = i < counted->n && items[i].time_us == us;
		const int64_t *counts = any ? items[i++].counts : none;
		json_t *step = json_pack("{s:o}", "time", form_time_json(us));

		for (size_t k = 0; k < FORM_EVENTS; k++)
			if (ask->events & (1u << k))
				json_object_set_new(
					step, form_event_names[k], render_counts(k, counts));
		json_array_append_new(steps, step);
	}
	return json_pack("{s:o, s:o, s:s, s:o, s:o}", "start", form_time_json(ask->begin_us), "end",
		form_time_json(ask->end_us - ask->step_us), "resolution",
		ask->step_us == DAY_US ? "day" : "hour", "stats", steps, "status_as_of",
		probe_report_as_of(probe, NULL));
}

/* Runs in the pool: a thousand steps of all events take a while to print. */
void api_form_stats(struct request *request)
{
	const struct admission *admission = &request->admission;
	struct problem problem = PROBLEM_INIT;
	struct err err = ERR_INIT;
	struct stats_ask ask = {0};
	json_t *answer = NULL;
	struct op op;

	operate_init(request, &op);
	if (query_stats(request, &ask, &problem) == 0) {
		const struct op_stats_events input = {
			.domain = *admission->param ? admission->param : admission->key.domain,
			.since = ask.begin_us > 0 ? ask.begin_us : 1, /* 0 is no time */
			.until = ask.end_us,
			.step = ask.step_us == DAY_US ? "day" : "hour",
		};

		if (op_stats_events.run(&op, &input, &err) > 0)
			answer = render_stats(
				&ask, &op.result.rows, request->worker->shared->probe);
		else
			request_failed(request, "stats_failed", &err, &problem);
	}
	op_clear(&op);
	reply_either(request, &problem, 200, answer);
}
