/*
 * feeder: queues each new event for the webhooks that asked for its type.
 *
 * A round reads some events, renders the bodies, and then writes the rows and the cursor in one
 * transaction. Rendering happens before the transaction, which makes other writers wait. If an
 * event is removed in between, its rows are refused and the round is repeated.
 */
#include "webhook/feeder.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/report/event_form.h"
#include "core/report/event_json.h"
#include "core/store/event/store_event.h"
#include "core/store/webhook/store_webhook_event.h"

enum { ROUND_EVENTS = 32 };

/* An event with its body in each dialect that somebody asked for. All endpoints share the body. */
struct rendered {
	int64_t seq;
	bool exists; /* it was not removed meanwhile */
	struct email_event event;
	const char *types[WEBHOOK_DIALECTS]; /* NULL: webhooks are not told of it */
	char *bodies[WEBHOOK_DIALECTS];      /* NULL: not needed yet */
};

/* One event for one webhook. */
struct feed_row {
	size_t event; /* index of the rendered one */
	enum webhook_dialect dialect;
	char webhook_id[ID_SIZE];
};

/* What a round adds. */
struct feed {
	int64_t cursor, upto;
	int64_t now_us;
	struct rendered events[ROUND_EVENTS];
	size_t events_n;
	struct feed_row *rows;
	size_t rows_n;
};

/* True if the type is one of the names in the JSON array. */
static bool has_name(const char *events, const char *type)
{
	json_t *names = json_loads(events, 0, NULL), *name;
	bool found = false;
	size_t i;

	json_array_foreach(names, i, name)
		found |= str_eq(type, json_string_value(name));
	json_decref(names);
	return found;
}

static void add_feed_row(struct feed *feed, const struct webhook_match *match)
{
	struct rendered *rendered = &feed->events[feed->events_n - 1];
	const enum webhook_dialect dialect = match->dialect;
	char **body = &rendered->bodies[dialect];
	struct feed_row *row;
	json_t *object;

	if (rendered->types[dialect] == NULL || !has_name(match->events, rendered->types[dialect]))
		return;
	if (*body == NULL) {
		object = dialect == WEBHOOK_JSON ? event_json_render(&rendered->event)
						 : event_form_render(&rendered->event);
		*body = json_dumps(object, JSON_COMPACT);
		json_decref(object);
		if (*body == NULL)
			return;
	}
	feed->rows = mem_append(feed->rows, feed->rows_n, sizeof(*feed->rows));
	row = &feed->rows[feed->rows_n++];
	*row = (struct feed_row){.event = feed->events_n - 1, .dialect = dialect};
	memcpy(row->webhook_id, match->webhook_id, ID_SIZE);
}

/* Reads the events behind the cursor, and finds the webhooks that asked for them. Returns 1, 0 if
 * there are none, -1 on error. */
static int read_feed(struct db *db, struct feed *feed, struct err *err)
{
	struct webhook_match_list list;
	struct rendered *event = NULL;
	int found = 0;

	if (store_webhook_match(db, ROUND_EVENTS, &list, &feed->cursor, &feed->upto, err) < 0)
		return -1;
	for (size_t i = 0; i < list.n && found >= 0; i++) {
		const struct webhook_match *match = &list.items[i];

		if (event == NULL || event->seq != match->event) {
			event = &feed->events[feed->events_n++];
			*event = (struct rendered){.seq = match->event};
			found = store_event_get(db, match->event, &event->event, err);
			event->exists = found > 0;
			if (event->exists) {
				event->types[WEBHOOK_JSON] = event_json_type(&event->event);
				event->types[WEBHOOK_FORM] = event_form_type(&event->event);
			}
		}
		if (event->exists)
			add_feed_row(feed, match);
	}
	store_webhook_match_list_free(&list);
	return found < 0 ? -1 : feed->upto > feed->cursor;
}

static int write_feed(struct db *db, const struct feed *feed, struct err *err)
{
	int64_t cursor;

	if (store_webhook_cursor_get(db, &cursor, err) < 0)
		return -1;
	/* Another host was faster. The next round goes on behind what it has added. */
	if (cursor != feed->cursor && *db_host(db))
		return 0;
	/* With a second postern-webhook, endpoints would be told everything twice. */
	if (cursor != feed->cursor)
		return err_set(err, ERR_TEMPORARY, "another postern-webhook is running");
	for (size_t i = 0; i < feed->rows_n; i++) {
		const struct feed_row *row = &feed->rows[i];
		const struct rendered *rendered = &feed->events[row->event];
		struct webhook_event event = {
			.type = (char *)rendered->types[row->dialect],
			.body = rendered->bodies[row->dialect],
			.created_us = feed->now_us,
		};

		store_webhook_event_id(event.id);
		memcpy(event.webhook_id, row->webhook_id, ID_SIZE);
		if (store_webhook_event_add(db, &event, rendered->seq, err) < 0)
			return -1;
	}
	return store_webhook_cursor_set(db, feed->upto, err);
}

int feeder_round(struct db *db, int64_t now_us, struct err *err)
{
	struct feed feed = {.now_us = now_us};
	int result = read_feed(db, &feed, err);

	if (result > 0) {
		result = db_begin(db, err);
		if (result == 0)
			result = write_feed(db, &feed, err);
		if (result == 0)
			result = db_commit_lazy(db, err);
		if (result < 0)
			db_rollback(db);
		else
			result = 1;
	}
	for (size_t i = 0; i < feed.events_n; i++) {
		struct rendered *rendered = &feed.events[i];

		if (rendered->exists)
			store_event_clear(&rendered->event);
		for (size_t d = 0; d < WEBHOOK_DIALECTS; d++)
			free(rendered->bodies[d]);
	}
	free(feed.rows);
	return result;
}
