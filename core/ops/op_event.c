/*
 * op_event: the events of all emails.
 */
#include "core/ops/op_event.h"

#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/report/email_render.h"
#include "core/store/event/store_event.h"

enum { LIMIT = 20, LIMIT_MAX = 100 };

static const struct op_field fields[] = {
	{OP_FIELD(op_event_list, company_id, OP_ID), .removed = true},
	{OP_FIELD(op_event_list, domain, OP_TEXT)},
	{OP_FIELD(op_event_list, kind, OP_TEXT)},
	{OP_FIELD(op_event_list, recipient, OP_TEXT)},
	{OP_FIELD(op_event_list, limit, OP_NUMBER), .max = LIMIT_MAX},
	{OP_FIELD(op_event_list, after, OP_TEXT)},
	{OP_FIELD(op_event_list, before, OP_TEXT)},
	{0},
};

static json_t *show_event(const void *item)
{
	const struct email_event *event = item;
	json_t *object = email_render_event(event);

	email_render_event_for_admins(object, event);
	json_object_update_new(object,
		json_pack("{s:s, s:o, s:o, s:s, s:o, s:o}", "email_id", event->email_id, "subject",
			row_json_given(event->subject), "domain", row_json_string(event->domain),
			"company_id", event->company_id, "company_name",
			row_json_given(event->company_name), "host", row_json_given(event->host)));
	return object;
}

static void clear_event(void *item)
{
	store_event_clear(item);
}

static const struct row_type event_type = {
	.name = "event",
	.size = sizeof(struct email_event),
	.clear_rest = clear_event,
	.shown = show_event,
};

/* Cursors have the form EMAIL_ID.ID. */
static int read_event_cursor(const struct op *op, const char *name, const char *text,
	struct event_filter *filter, struct err *err)
{
	enum { ID_LEN = ID_SIZE - 1 };
	struct event_cursor cursor;
	char email_id[ID_SIZE] = "";
	int found = 0;

	if (strlen(text) == 2 * ID_LEN + 1 && text[ID_LEN] == '.') {
		memcpy(email_id, text, ID_LEN);
		if (id_parse(email_id, cursor.email_id) && id_parse(text + ID_LEN + 1, cursor.id))
			found = store_event_find(
				op->db, filter->company_id, &cursor, &filter->after_seq, err);
	}
	return found ? found : op_refuse(op, err, name, "event does not exist, or was removed");
}

static json_t *render_cursor(struct db *db, int64_t seq)
{
	struct event_cursor cursor;

	if (seq == 0 || store_event_cursor(db, seq, &cursor, NULL) <= 0)
		return json_null();
	return json_sprintf("%s.%s", cursor.email_id, cursor.id);
}

/* The events become the result's, newest first. */
static void give_events(struct op *op, bool ascending, const struct event_list *list)
{
	bool more = list->more || list->looked_seq > 0;
	int64_t last = list->more ? list->items[list->n - 1].seq : list->looked_seq;
	struct event_cursor looked = {0};

	if (list->looked_seq)
		store_event_cursor(op->db, list->looked_seq, &looked, NULL);
	json_object_update_new(op_more(op),
		json_pack("{s:o, s:o, s:o}", "next", render_cursor(op->db, ascending ? 0 : last),
			"newest",
			render_cursor(op->db, ascending && more ? last : list->newest_seq),
			"looked_until", row_json_time(looked.recorded_us)));
	for (size_t i = 0, k = list->n; ascending && i + 1 < k; i++) {
		struct email_event first = list->items[i];

		list->items[i] = list->items[--k];
		list->items[k] = first;
	}
	op_give_page(op, &event_type, list->items, list->n, &(struct page_end){.more = more});
}

static int list_events(struct op *op, const void *arg, struct err *err)
{
	const struct op_event_list *input = arg;
	struct event_filter filter = {
		.company_id = op_company_of(op, input->company_id),
		.domain = input->domain,
		.limit = input->limit ? (int)input->limit : LIMIT,
		.ascending = input->before != NULL,
	};
	size_t kind = input->kind ? row_word(&event_kind_words, input->kind) : 0;
	_cleanup_free_ char *spec = NULL, *recipients = NULL;
	const char *cursor = input->before ? input->before : input->after;
	_cleanup_addr_ struct addr addr = {0};
	struct event_list list;

	if (input->kind && kind >= EVENT_KINDS)
		return op_refuse(op, err, "kind", "is not a kind of event");
	if (input->kind)
		filter.kinds = 1u << kind;
	if (input->before && input->after)
		return op_refuse(op, err, "after", "and `before` cannot be given together");
	/* No event has an address that cannot be parsed. */
	if (!str_empty(input->recipient)) {
		json_t *array;

		if (addr_parse(input->recipient, &addr, NULL) == 0)
			spec = addr_spec(&addr);
		array = json_pack("[s]", spec ? spec : input->recipient);
		filter.recipients = recipients = json_dumps(array, JSON_COMPACT);
		json_decref(array);
	}
	if ((cursor && read_event_cursor(
			       op, input->before ? "before" : "after", cursor, &filter, err) < 0) ||
		store_event_recent(op->db, &filter, &list, err) < 0)
		return -1;
	give_events(op, filter.ascending, &list);
	return 1;
}

const struct operation op_event_list = {
	fields, sizeof(struct op_event_list), .list = OP_WHOLE, .run = list_events};
