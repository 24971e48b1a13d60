/*
 * admin_events: the events of all emails, in the order in which they were
 * recorded, for pages that follow them.
 *
 * A cursor names an event by its email's id and its own, because a number would
 * tell a company how many events all others have.
 *
 * Threads: the pool's.
 */
#include "httpd/admin/admin.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/report/delivery_report.h"
#include "core/report/email_render.h"
#include "core/store/store_event.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/worker.h"

/* What a request asks for. */
struct events_request {
	struct event_filter filter;
	json_t *recipients; /* NULL: of any */
	char *recipients_text;
	const char *cursor; /* its parameter; NULL: not given */
};

static void events_request_clear(struct events_request *ask)
{
	json_decref(ask->recipients);
	free(ask->recipients_text);
}

static int read_kinds(const struct json_query *query, unsigned *kinds_r, struct problem *problem)
{
	const char *text = json_query_get(query, "kind");
	size_t kind = text ? row_word(&event_kind_words, text) : 0;

	*kinds_r = 0;
	if (text && kind >= EVENT_KINDS)
		return problem_set(
			problem, PROBLEM_PARAMETER, "The `kind` parameter is not a kind of event.");
	if (text)
		*kinds_r = 1u << kind;
	return 0;
}

/* An address that cannot be parsed is searched for as it is: no event has it. */
static void read_recipient(const struct json_query *query, struct events_request *ask)
{
	const char *text = json_query_get(query, "recipient");
	_cleanup_addr_ struct addr addr = {0};
	_cleanup_free_ char *spec = NULL;

	if (str_empty(text))
		return;
	if (addr_parse(text, &addr, NULL) == 0)
		spec = addr_spec(&addr);
	ask->recipients = json_pack("[s]", spec ? spec : text);
	ask->recipients_text = json_dumps(ask->recipients, JSON_COMPACT);
	ask->filter.recipients = ask->recipients_text;
}

/* Returns 0, or -1 with the problem. */
static int read_request(const struct request *request, struct json_query *query,
	struct events_request *ask, struct problem *problem)
{
	const char *after = json_query_get(query, "after");
	const char *before = json_query_get(query, "before");
	int64_t limit;

	if (json_query_number(query, "limit", LIST_LIMIT_MAX, LIST_LIMIT_DEFAULT, &limit, problem) <
			0 ||
		read_kinds(query, &ask->filter.kinds, problem) < 0)
		return -1;
	if (after && before)
		return problem_set(problem, PROBLEM_PARAMETER,
			"Only one of the parameters `after` and `before` can be given.");
	read_recipient(query, ask);
	ask->filter.limit = (int)limit;
	ask->filter.company_id = admin_query_company(request, query);
	ask->filter.domain = json_query_get(query, "domain");
	ask->filter.ascending = before != NULL;
	ask->cursor = before ? before : after;
	return 0;
}

/* Cursors have the form EMAIL_ID.ID. Returns 1, 0 if there is no such event, or
 * -1. */
static int find_cursor(struct db *db, struct events_request *ask, struct err *err)
{
	enum { ID_LEN = ID_SIZE - 1 };
	char email_id[ID_SIZE] = "";
	struct event_cursor cursor;

	if (ask->cursor == NULL)
		return 1;
	if (strlen(ask->cursor) != 2 * ID_LEN + 1 || ask->cursor[ID_LEN] != '.')
		return 0;
	memcpy(email_id, ask->cursor, ID_LEN);
	if (!id_parse(email_id, cursor.email_id) || !id_parse(ask->cursor + ID_LEN + 1, cursor.id))
		return 0;
	return store_event_find(db, ask->filter.company_id, &cursor, &ask->filter.after_seq, err);
}

static json_t *render_cursor(struct db *db, int64_t seq)
{
	struct event_cursor cursor;

	if (seq == 0 || store_event_cursor(db, seq, &cursor, NULL) <= 0)
		return json_null();
	return json_sprintf("%s.%s", cursor.email_id, cursor.id);
}

static json_t *render_event(const struct email_event *event)
{
	json_t *item = email_render_event(event);

	json_object_set_new(item, "email_id", json_string(event->email_id));
	json_object_set_new(item, "subject", row_json_given(event->subject));
	json_object_set_new(item, "domain", json_string(event->domain));
	json_object_set_new(item, "company_id", json_string(event->company_id));
	json_object_set_new(item, "company_name", row_json_given(event->company_name));
	json_object_set_new(item, "kind", json_string(event_kind_name(event->kind)));
	json_object_set_new(
		item, "kind_text", json_string(delivery_report_event_words(event->kind)));
	return item;
}

/* Newest first. `next` is for the page of older events, `newest` for that of
 * newer ones. */
static json_t *render_page(
	struct db *db, const struct events_request *ask, const struct event_list *list)
{
	const bool up = ask->filter.ascending;
	const bool more = list->more || list->looked_seq > 0;
	int64_t last = list->more ? list->items[list->n - 1].seq : list->looked_seq;
	json_t *data = json_array(), *answer;
	struct event_cursor looked = {0};

	for (size_t i = 0; i < list->n; i++)
		json_array_append_new(data, render_event(&list->items[up ? list->n - 1 - i : i]));
	if (list->looked_seq)
		store_event_cursor(db, list->looked_seq, &looked, NULL);
	answer = list_json_render(data, more);
	json_object_set_new(answer, "next", render_cursor(db, up ? 0 : last));
	json_object_set_new(
		answer, "newest", render_cursor(db, up && more ? last : list->newest_seq));
	json_object_set_new(answer, "looked_until", row_json_time(looked.recorded_us));
	return answer;
}

void admin_event_list(struct request *request)
{
	static const char *const names[] = {
		"company_id", "domain", "kind", "recipient", "limit", "after", "before", NULL};
	struct problem problem = PROBLEM_INIT;
	struct events_request ask = {0};
	struct event_list list = {0};
	struct json_query query;
	struct err err = ERR_INIT;
	json_t *answer = NULL;
	int found;

	if (json_query_read(request, names, &query, &problem) == 0 &&
		read_request(request, &query, &ask, &problem) == 0) {
		found = find_cursor(request->db, &ask, &err);
		if (found == 0)
			problem_set(&problem, PROBLEM_PARAMETER,
				"The event of the parameter `%s` does not exist, or was removed.",
				ask.filter.ascending ? "before" : "after");
		else if (found < 0 || store_event_recent(request->db, &ask.filter, &list, &err) < 0)
			request_failed(request, "event_list_failed", &err, &problem);
		else
			answer = render_page(request->db, &ask, &list);
	}
	store_event_list_free(&list);
	events_request_clear(&ask);
	reply_either(request, &problem, 200, answer);
}
