/*
 * feeder: gives each endpoint the events that it has asked for.
 *
 * Bodies are made before the transaction, which keeps others from writing. An event that is removed
 * meanwhile refuses its rows, and the round is made again.
 */
#include "webhook/feeder.h"

#include <jansson.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/report/event_form.h"
#include "core/report/event_json.h"
#include "core/store/store_event.h"
#include "core/store/store_webhook_event.h"

enum { ROUND_EVENTS = 64 };

/* What a round adds. */
struct feed {
	int64_t cursor, upto;
	struct webhook_event *events;
	int64_t *seqs;
	size_t n;
};

static void feed_clear(struct feed *feed)
{
	for (size_t i = 0; i < feed->n; i++)
		store_webhook_event_clear(&feed->events[i]);
	free(feed->events);
	free(feed->seqs);
}

static bool is_asked_for(const char *events, const char *type)
{
	json_t *names = json_loads(events, 0, NULL), *name;
	bool found = false;
	size_t i;

	json_array_foreach(names, i, name)
		found |= str_eq(type, json_string_value(name));
	json_decref(names);
	return found;
}

/* The event as each dialect has it. */
struct told {
	struct email_event event;
	bool is_there;
	const char *types[WEBHOOK_DIALECTS];
	char *bodies[WEBHOOK_DIALECTS]; /* made when they are wanted */
};

static void told_clear(struct told *told)
{
	if (told->is_there)
		store_event_clear(&told->event);
	for (size_t i = 0; i < WEBHOOK_DIALECTS; i++)
		free(told->bodies[i]);
	*told = (struct told){0};
}

static int told_read(struct db *db, int64_t seq, struct told *told, struct err *err)
{
	int found;

	told_clear(told);
	found = store_event_get(db, seq, &told->event, err);
	if (found <= 0)
		return found;
	told->is_there = true;
	told->types[WEBHOOK_JSON] = event_json_type(&told->event);
	told->types[WEBHOOK_FORM] = event_form_type(&told->event);
	return 0;
}

static void add_delivery(
	struct feed *feed, struct told *told, const struct webhook_match *match, int64_t now_us)
{
	const char *type = told->types[match->dialect];
	char **body = &told->bodies[match->dialect];
	struct webhook_event *event;
	json_t *object;

	if (type == NULL || !is_asked_for(match->events, type))
		return;
	if (*body == NULL) {
		object = match->dialect == WEBHOOK_JSON ? event_json_render(&told->event)
							: event_form_render(&told->event);
		*body = json_dumps(object, JSON_COMPACT);
		json_decref(object);
		if (*body == NULL)
			return;
	}
	feed->events = mem_append(feed->events, feed->n, sizeof(*feed->events));
	feed->seqs = mem_append(feed->seqs, feed->n, sizeof(*feed->seqs));
	event = &feed->events[feed->n];
	feed->seqs[feed->n++] = match->event;
	*event = (struct webhook_event){
		.type = mem_strdup(type), .body = mem_strdup(*body), .created_us = now_us};
	store_webhook_event_id(event->id);
	memcpy(event->webhook_id, match->webhook_id, ID_SIZE);
}

static int write_feed(struct db *db, void *arg, struct err *err)
{
	const struct feed *feed = arg;
	struct webhook_match_list list;
	int64_t cursor, upto;

	/* Another process that feeds would tell everything twice. */
	if (store_webhook_match(db, 0, &list, &cursor, &upto, err) < 0)
		return -1;
	store_webhook_match_list_free(&list);
	if (cursor != feed->cursor)
		return err_set(err, ERR_TEMPORARY, "another postern-webhook runs");
	for (size_t i = 0; i < feed->n; i++)
		if (store_webhook_event_add(db, &feed->events[i], feed->seqs[i], err) < 0)
			return -1;
	return store_webhook_cursor_set(db, feed->upto, err);
}

int feeder_round(struct db *db, int64_t now_us, int64_t *added_r, struct err *err)
{
	struct webhook_match_list list;
	struct told told = {0};
	struct feed feed = {0};
	int64_t seq = 0;
	int result;

	*added_r = 0;
	if (store_webhook_match(db, ROUND_EVENTS, &list, &feed.cursor, &feed.upto, err) < 0)
		return -1;
	result = feed.upto > feed.cursor ? 1 : 0;
	for (size_t i = 0; result > 0 && i < list.n; i++) {
		const struct webhook_match *match = &list.items[i];

		if (match->event != seq && told_read(db, match->event, &told, err) < 0)
			result = -1;
		seq = match->event;
		if (result > 0 && told.is_there)
			add_delivery(&feed, &told, match, now_us);
	}
	told_clear(&told);
	store_webhook_match_list_free(&list);
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
	*added_r = result > 0 ? (int64_t)feed.n : 0;
	feed_clear(&feed);
	return result;
}
