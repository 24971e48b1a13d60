/*
 * form_events: GET /v3/{domain}/events, in the format that clients of Mailgun
 * expect.
 *
 * The URL of a page has a token with the filters and the event where it begins.
 * Numbers and timestamps of events only rise, in the order of commits: an event
 * that is reported late comes after all that were read, even if it happened
 * before. So a client that follows `next`, or asks again from the last
 * timestamp, misses none.
 *
 * A page is read and printed in the pool. If it has to skip many events it is
 * read in pieces, between which others have their turn. It must not end before
 * it is full, because clients take an empty page for the end.
 *
 * Threads: the worker's, except for read_piece(), which runs in the pool.
 */
#include "httpd/form/api_form.h"

#include <event2/http.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/db/db_pool.h"
#include "core/mime/mime_gmime.h"
#include "core/report/event_form.h"
#include "core/store/event/store_event.h"
#include "httpd/admission/request.h"
#include "httpd/http/uri.h"
#include "httpd/send/probe_report.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/work_pool.h"
#include "httpd/worker/worker.h"

enum { LIMIT_MAX = 300, LIMIT_DEFAULT = 100 };

/* The request */

enum filter {
	FILTER_EVENT,
	FILTER_SEVERITY,
	FILTER_RECIPIENT,
	FILTER_FROM,
	FILTER_TO,
	FILTER_SUBJECT,
	FILTER_TAGS,
	FILTER_MESSAGE_ID,
	FILTER_LIST,
	FILTERS
};
/* The names in queries and tokens. */
static const char *const filter_names[FILTERS] = {
	"event", "severity", "recipient", "from", "to", "subject", "tags", "message-id", "list"};

struct ask {
	char *filters[FILTERS]; /* values of the filters as given; NULL: not given */
	int64_t begin_us;       /* the earlier time; 0 if not given */
	int64_t end_us;
	bool ascending;
	int64_t limit;
	struct event_cursor cursor; /* the page begins after this event; "" for the first */
	int64_t shift;              /* added to its number: 1 or -1 includes the event itself */
	bool back;                  /* the page ends before the cursor; "" for the last page */
};

/* Parses seconds since 1970, or a date in the format of RFC 5322 or RFC 3339. */
static bool read_form_time(const char *text, int64_t *time_us_r)
{
	size_t len = strspn(text, "0123456789");
	char whole[16], part[7] = "000000";
	int64_t seconds, us;

	if (len > 0 && len < sizeof(whole) && strchr(".", text[len])) {
		*stpncpy(whole, text, len) = '\0';
		text += len + (text[len] == '.');
		if (text[strspn(text, "0123456789")] ||
			str_int(whole, 0, INT64_C(1) << 36, &seconds) < 0)
			return false;
		for (size_t i = 0; i < sizeof(part) - 1 && text[i]; i++)
			part[i] = text[i];
		us = strtol(part, NULL, 10);
		*time_us_r = seconds * 1000000 + us;
		return true;
	}
	/* clock_parse() takes a text without - for a span before now. */
	return (strchr(text, '-') && clock_parse(text, 0, time_us_r)) ||
	       mime_date_parse(text, time_us_r) == 0;
}

int form_query_time(
	const char *query, const char *name, int64_t *time_us_r, struct problem *problem)
{
	char text[QUERY_VALUE_MAX];
	int given = query_get_words(query, name, text, problem);

	if (given > 0 && !read_form_time(text, time_us_r))
		return problem_set(
			problem, PROBLEM_PARAMETER, "'%s' parameter is not a valid time", name);
	return given;
}

static int query_filters(const char *query, struct ask *ask, struct problem *problem)
{
	/* Without them the list would have events that were not asked for. */
	static const char *const unsupported[] = {"attachment", "recipients", "size"};
	char text[QUERY_VALUE_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(unsupported); i++) {
		int given = query_get(query, unsupported[i], text, problem);

		if (given < 0)
			return -1;
		if (given > 0 && *text)
			return problem_set(problem, PROBLEM_PARAMETER,
				"'%s' parameter is not supported yet", unsupported[i]);
	}
	for (size_t i = 0; i < FILTERS; i++) {
		int given = query_get_words(query, filter_names[i], text, problem);

		if (given < 0)
			return -1;
		if (given == 0 || *text == '\0')
			continue;
		if (!str_utf8_valid(text, strlen(text)))
			return problem_set(problem, PROBLEM_PARAMETER,
				"'%s' parameter is not UTF-8", filter_names[i]);
		ask->filters[i] = mem_strdup(text);
	}
	return 0;
}

/* A range goes from begin to end. Their order also gives the direction. */
static int query_range(const char *query, struct ask *ask, struct problem *problem)
{
	char text[QUERY_VALUE_MAX];
	int64_t begin_us = 0, end_us = 0;
	int begin = form_query_time(query, "begin", &begin_us, problem);
	int end = begin < 0 ? -1 : form_query_time(query, "end", &end_us, problem);
	int given = end < 0 ? -1 : query_get(query, "ascending", text, problem);

	if (given < 0)
		return -1;
	if (given > 0 && !str_eq_nocase(text, "yes") && !str_eq_nocase(text, "true") &&
		!str_eq_nocase(text, "no") && !str_eq_nocase(text, "false"))
		return problem_set(
			problem, PROBLEM_PARAMETER, "'ascending' parameter must be yes or no");
	if (given > 0)
		ask->ascending = strchr("yYtT", text[0]) != NULL;
	else
		ask->ascending = begin && (!end || begin_us <= end_us);
	if (begin && end ? begin_us > end_us : !ask->ascending) {
		ask->begin_us = end_us;
		ask->end_us = begin_us;
	} else {
		ask->begin_us = begin_us;
		ask->end_us = end_us;
	}
	return 0;
}

/* Tokens: JSON in base64url (RFC 4648 5). A token grants nothing that the query
 * would not: company and domain are those of the request, and it names events
 * as the page does. */

static char *make_token(
	const struct ask *ask, bool back, const struct event_cursor *cursor, int64_t shift)
{
	json_t *object = json_pack("{s:I, s:I, s:b, s:I, s:b, s:s, s:s, s:I, s:I}", "b",
		(json_int_t)ask->begin_us, "e", (json_int_t)ask->end_us, "a", ask->ascending, "l",
		(json_int_t)ask->limit, "p", back, "m", cursor->email_id, "v", cursor->id, "t",
		(json_int_t)cursor->recorded_us, "s", (json_int_t)shift);
	_cleanup_free_ char *text = NULL;
	struct buf token = BUF_INIT;
	char *token_text;

	for (size_t i = 0; i < FILTERS; i++)
		if (ask->filters[i])
			json_object_set_new(object, filter_names[i], json_string(ask->filters[i]));
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	base64_encode(text, strlen(text), 0, &token);
	token_text = buf_take(&token);
	for (char *p = token_text; *p; p++)
		*p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
	token_text[strcspn(token_text, "=")] = '\0';
	return token_text;
}

static bool unpack_token(json_t *object, struct ask *ask)
{
	json_int_t begin, end, limit, time, shift;
	const char *email_id, *id;
	int ascending, back;

	if (json_unpack(object, "{s:I, s:I, s:b, s:I, s:b, s:s, s:s, s:I, s:I}", "b", &begin, "e",
		    &end, "a", &ascending, "l", &limit, "p", &back, "m", &email_id, "v", &id, "t",
		    &time, "s", &shift) < 0 ||
		begin < 0 || end < 0 || limit < 1 || limit > LIMIT_MAX || time < 0 || shift < -1 ||
		shift > 1)
		return false;
	if (*email_id &&
		(!id_parse(email_id, ask->cursor.email_id) || !id_parse(id, ask->cursor.id)))
		return false;
	ask->begin_us = begin;
	ask->end_us = end;
	ask->ascending = ascending;
	ask->limit = limit;
	ask->back = back;
	ask->cursor.recorded_us = time;
	ask->shift = shift;
	for (size_t i = 0; i < FILTERS; i++)
		ask->filters[i] = mem_strdup(
			json_string_value(json_object_get(object, filter_names[i])));
	return true;
}

static int read_token(const char *token, struct ask *ask, struct problem *problem)
{
	_cleanup_free_ char *text = mem_strdup(token);
	_cleanup_buf_ struct buf json = BUF_INIT;
	json_t *object = NULL;
	bool good;

	for (char *p = text; *p; p++)
		*p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
	if (base64_decode(text, strlen(text), &json) == 0)
		object = json_loadb(buf_str(&json), json.len, 0, NULL);
	good = unpack_token(object, ask);
	json_decref(object);
	return good ? 0
		    : problem_set(problem, PROBLEM_PARAMETER, "the page is not one of this list");
}

/* The filter for the store */

#define FAILED_FOR_GOOD                                                                            \
	(1u << EVENT_BOUNCED | 1u << EVENT_EXPIRED | 1u << EVENT_DISCARDED | 1u << EVENT_REMOVED | \
		1u << EVENT_FAILED | 1u << EVENT_SUPPRESSED)
#define FAILED (1u << EVENT_DEFERRED | FAILED_FOR_GOOD)
#define SHOWN                                                                                      \
	(1u << EVENT_ACCEPTED | 1u << EVENT_DELIVERED | 1u << EVENT_COMPLAINED |                   \
		1u << EVENT_CANCELED | 1u << EVENT_UNSUBSCRIBED | FAILED)

/* Other events do not occur. */
static const unsigned kinds_of[FORM_EVENTS] = {
	[FORM_ACCEPTED] = 1u << EVENT_ACCEPTED,
	[FORM_DELIVERED] = 1u << EVENT_DELIVERED,
	[FORM_FAILED] = FAILED,
	[FORM_COMPLAINED] = 1u << EVENT_COMPLAINED,
	[FORM_REJECTED] = 1u << EVENT_CANCELED,
	[FORM_UNSUBSCRIBED] = 1u << EVENT_UNSUBSCRIBED,
};

const char *const form_event_names[FORM_EVENTS] = {"accepted", "delivered", "failed", "complained",
	"rejected", "opened", "clicked", "unsubscribed", "stored"};

int form_event_find(const char *name, struct problem *problem)
{
	for (int i = 0; i < FORM_EVENTS; i++)
		if (str_eq_nocase(form_event_names[i], name))
			return i;
	return problem_set(
		problem, PROBLEM_PARAMETER, "'event' parameter: there is no event '%.100s'", name);
}

/* Where the next operator begins, or the end. */
static char *find_operator(char *text)
{
	char *either = strstr(text, " OR "), *both = strstr(text, " AND ");

	if (either == NULL || (both && both < either))
		either = both;
	return either ? either : text + strlen(text);
}

/* Where the quotes or angle brackets at the beginning close, if nothing but
 * blanks follows before an operator; else NULL. */
static char *find_quote(char *text)
{
	char *end = strchr("\"'<", *text) && *text ? strchr(text + 1, *text == '<' ? '>' : *text)
						   : NULL;
	size_t blanks = end ? strspn(end + 1, " ") : 0;

	return end && end + 1 + blanks >= find_operator(end + 1) ? end : NULL;
}

/* Splits the text at OR into a JSON array, without quotes and parentheses. */
static int read_filter_texts(
	const char *name, const char *text, json_t **texts_r, struct problem *problem)
{
	_cleanup_free_ char *copy = str_trim(text, strlen(text));
	json_t *texts = json_array();
	char *rest = copy, *end = copy + strlen(copy);

	if (*rest == '(' && end[-1] == ')') {
		end[-1] = '\0';
		rest++;
	}
	while (*rest) {
		char *from = rest + strspn(rest, " ");
		char *quote = find_quote(from);
		char *next = find_operator(quote ? quote + 1 : from);
		_cleanup_free_ char *one = quote ? mem_dup(from + 1, (size_t)(quote - from - 1))
						 : str_trim(from, (size_t)(next - from));

		if (str_starts(next, " AND ") || str_starts(from, "NOT ")) {
			json_decref(texts);
			return problem_set(problem, PROBLEM_PARAMETER,
				"'%s' parameter: AND and NOT are not supported", name);
		}
		if (*one)
			json_array_append_new(texts, json_string(one));
		rest = next + (*next ? strlen(" OR ") : 0);
	}
	*texts_r = texts;
	return 0;
}

/* Converts a filter such as `delivered OR failed`, and the severity, to kinds
 * of events. */
static int read_kinds(const struct ask *ask, unsigned *kinds_r, struct problem *problem)
{
	const char *event = ask->filters[FILTER_EVENT];
	const char *severity = ask->filters[FILTER_SEVERITY];
	unsigned kinds = 0;
	json_t *texts, *text;
	int result = 0;
	size_t i;

	if (event && read_filter_texts("event", event, &texts, problem) < 0)
		return -1;
	json_array_foreach(event ? texts : NULL, i, text) {
		int found = form_event_find(json_string_value(text), problem);

		if (found < 0)
			result = -1;
		else
			kinds |= kinds_of[found];
	}
	if (event)
		json_decref(texts);
	else
		kinds = severity ? FAILED : SHOWN;
	if (severity && str_eq(severity, "temporary"))
		kinds &= 1u << EVENT_DEFERRED;
	else if (severity && str_eq(severity, "permanent"))
		kinds &= FAILED_FOR_GOOD;
	else if (severity)
		result = problem_set(problem, PROBLEM_PARAMETER,
			"'severity' parameter must be temporary or permanent");
	*kinds_r = kinds;
	return result;
}

/* A page while it is read. */
struct page_job {
	struct work work; /* first */
	struct request *request;
	struct problem problem;
	struct ask ask;
	struct event_filter filter;
	bool placed;          /* the filter has the position of the cursor */
	char *texts[FILTERS]; /* the texts that the filter points to */
	struct event_list found;
	char *answer; /* the answer, as JSON text */
};

/* Some clients do not encode the + of an address. An address has no blanks, so
 * each one was a +. */
static void mend_addresses(const json_t *texts)
{
	json_t *text;
	size_t i;

	json_array_foreach(texts, i, text) {
		_cleanup_free_ char *address = mem_strdup(json_string_value(text));

		for (char *p = address; (p = strchr(p, ' ')) != NULL; p++)
			*p = '+';
		json_string_set(text, address);
	}
}

/* Returns 1, 0 if no event can match, or -1 with the problem. */
static int make_filter(struct page_job *job, struct problem *problem)
{
	const struct admission *admission = &job->request->admission;
	const struct ask *ask = &job->ask;
	struct event_filter *filter = &job->filter;
	const struct {
		enum filter filter;
		const char **texts;
	} members[] = {
		{FILTER_RECIPIENT, &filter->recipients},
		{FILTER_FROM, &filter->senders},
		{FILTER_TO, &filter->to},
		{FILTER_SUBJECT, &filter->subjects},
		{FILTER_TAGS, &filter->tags},
		{FILTER_MESSAGE_ID, &filter->message_ids},
	};

	*filter = (struct event_filter){
		.domain = admission->param,
		.company_id = admission->key.company_id,
		.begin_us = ask->begin_us,
		.end_us = ask->end_us,
		.ascending = ask->ascending != ask->back,
	};
	if (read_kinds(ask, &filter->kinds, problem) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
		enum filter one = members[i].filter;
		json_t *texts;

		if (ask->filters[one] == NULL)
			continue;
		if (read_filter_texts(filter_names[one], ask->filters[one], &texts, problem) < 0)
			return -1;
		if (one == FILTER_RECIPIENT || one == FILTER_TO)
			mend_addresses(texts);
		job->texts[one] = json_dumps(texts, JSON_COMPACT);
		json_decref(texts);
		*members[i].texts = job->texts[one];
	}
	/* Postern has no mailing lists, so no event is about one. */
	return filter->kinds != 0 && ask->filters[FILTER_LIST] == NULL;
}

/* Answers */

static void add_page(const struct page_job *job, json_t *paging, const char *name, bool back,
	const struct event_cursor *cursor, int64_t shift)
{
	_cleanup_free_ char *token = make_token(&job->ask, back, cursor, shift);
	_cleanup_free_ char *base = request_own_url(job->request);
	_cleanup_free_ char *url = mem_printf(
		"%s/v3/%s/events/%s", base, job->request->admission.param, token);

	json_object_set_new(paging, name, json_string(url));
}

static struct event_cursor cursor_of(const struct email_event *event)
{
	struct event_cursor cursor = {.recorded_us = event->recorded_us};

	memcpy(cursor.email_id, event->email_id, ID_SIZE);
	memcpy(cursor.id, event->id, ID_SIZE);
	return cursor;
}

/* The neighbours of an empty page follow from where it was searched for. */
static json_t *render_paging(const struct page_job *job)
{
	const struct event_list *list = &job->found;
	const struct ask *ask = &job->ask;
	const struct event_cursor start = {0};
	struct event_cursor next = ask->back ? start : ask->cursor;
	struct event_cursor previous = ask->cursor;
	int64_t shift = ask->shift;
	json_t *paging = json_object();

	if (list->n > 0) {
		next = cursor_of(&list->items[list->n - 1]);
		previous = cursor_of(&list->items[0]);
		shift = 0;
	} else if (!ask->back) {
		shift = ask->ascending ? 1 : -1;
	}
	add_page(job, paging, "previous", true, &previous, shift);
	add_page(job, paging, "first", false, &start, 0);
	add_page(job, paging, "last", true, &start, 0);
	add_page(job, paging, "next", false, &next, 0);
	return paging;
}

static void print_page(struct page_job *job)
{
	struct event_list *list = &job->found;
	json_t *items = json_array(), *answer;

	for (size_t i = 0; job->ask.back && i < list->n / 2; i++) {
		struct email_event held = list->items[i];

		list->items[i] = list->items[list->n - 1 - i];
		list->items[list->n - 1 - i] = held;
	}
	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(items, event_form_render(&list->items[i]));
	answer = json_pack("{s:o, s:o, s:o}", "items", items, "paging", render_paging(job),
		"status_as_of", probe_report_as_of(job->request->worker->shared->probe, NULL));
	job->answer = json_dumps(answer, JSON_COMPACT);
	json_decref(answer);
}

static void finish_page(struct task *task)
{
	struct page_job *job = (struct page_job *)task;

	if (job->problem.kind != PROBLEM_NONE)
		reply_problem(job->request, &job->problem);
	else
		reply_printed(job->request, 200, job->answer);
	for (size_t i = 0; i < FILTERS; i++) {
		free(job->texts[i]);
		free(job->ask.filters[i]);
	}
	store_event_list_free(&job->found);
	free(job);
}

static bool read_piece(struct work *work)
{
	struct page_job *job = (struct page_job *)work;
	struct worker *worker = job->request->worker;
	struct db_pool *readers = worker->shared->readers;
	struct event_list *list = &job->found, more;
	struct err err = ERR_INIT;
	struct db *db;
	int result;

	if (worker->cut_short) {
		problem_fixed(&job->problem, PROBLEM_UNAVAILABLE);
		return true;
	}
	job->filter.limit = (int)job->ask.limit - (int)job->found.n;
	result = db_pool_take(readers, &db, &err);
	if (result == 0) {
		if (!job->placed)
			result = store_event_seq(
				db, &job->filter, &job->ask.cursor, &job->filter.after_seq, &err);
		if (result == 0 && !job->placed && *job->ask.cursor.email_id)
			job->filter.after_seq += job->ask.shift;
		job->placed |= result == 0;
		if (result == 0)
			result = store_event_page(db, &job->filter, &more, &err);
		db_pool_give(readers, db, result == 0);
	}
	if (result < 0) {
		request_failed(job->request, "event_list_failed", &err, &job->problem);
		return true;
	}
	if (more.n > 0) {
		list->items = mem_grow(list->items, list->n + more.n, sizeof(*list->items));
		memcpy(list->items + list->n, more.items, more.n * sizeof(*more.items));
		list->n += more.n;
	}
	free(more.items);
	job->filter.after_seq = more.looked_seq;
	if (more.looked_seq && (int64_t)job->found.n < job->ask.limit)
		return false;
	print_page(job);
	return true;
}

static void list_events(struct request *request, const char *token)
{
	struct page_job *job = mem_new(struct page_job);
	struct problem *problem = &job->problem;
	const char *query = request_query(request);
	char limit[QUERY_VALUE_MAX];
	int result;

	job->request = request;
	job->problem = PROBLEM_INIT;
	job->work = (struct work){
		.done = {.run = finish_page},
		.tasks = request->worker->tasks,
		.company_id = request->admission.key.company_id,
		.run = read_piece,
	};
	job->ask.limit = LIMIT_DEFAULT;
	if (token) {
		result = read_token(token, &job->ask, problem);
	} else {
		result = query_filters(query, &job->ask, problem);
		if (result == 0)
			result = query_range(query, &job->ask, problem);
		if (result == 0)
			result = query_get(query, "limit", limit, problem);
		if (result > 0 && str_int(limit, 1, LIMIT_MAX, &job->ask.limit) < 0)
			result = problem_set(problem, PROBLEM_PARAMETER,
				"'limit' parameter must be a number from 1 to %d", LIMIT_MAX);
	}
	if (result >= 0)
		result = make_filter(job, problem);
	if (result > 0) {
		work_pool_submit(request->worker->shared->pool, &job->work);
		return;
	}
	if (result == 0)
		print_page(job);
	finish_page(&job->work.done);
}

void api_form_events(struct request *request)
{
	list_events(request, NULL);
}

void api_form_events_page(struct request *request)
{
	const char *path = request_path(request);

	list_events(request, strrchr(path, '/') ? strrchr(path, '/') + 1 : "");
}
