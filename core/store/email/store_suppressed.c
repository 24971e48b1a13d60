/*
 * store_suppressed: which recipients of an email are suppressed, and the events that say so.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/email/store_suppressed.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/store/delivery/delivery_writer.h"

void store_suppressed_free(struct suppressed_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].address);
	free(list->items);
	*list = (struct suppressed_list){0};
}

int store_suppressed_read(struct db *db, int64_t email, const char *company_id, const char *domain,
	struct suppressed_list *list_r, struct err *err)
{
	struct suppressed_list list = {0};
	struct recipients recipients = {0};
	int found = store_recipients_read(db, email, true, &recipients, err);

	for (size_t i = 0; i < recipients.n && found >= 0; i++) {
		const struct recipient *recipient = &recipients.items[i];
		struct suppressed suppressed = {.n = recipient->n};

		found = store_suppression_applies(
			db, email, company_id, domain, recipient->address, &suppressed.reason, err);
		if (found <= 0)
			continue;
		suppressed.address = mem_strdup(recipient->address);
		list.items = mem_append(list.items, list.n, sizeof(*list.items));
		list.items[list.n++] = suppressed;
	}
	recipients_free(&recipients);
	if (found < 0) {
		store_suppressed_free(&list);
		return -1;
	}
	*list_r = list;
	return 0;
}

int store_suppressed_record(struct db *db, const char *ticket, const struct suppressed_list *list,
	int64_t now_us, struct err *err)
{
	static const char sql_email[] =
		"SELECT seq FROM email WHERE ticket = $ticket AND state = 'sent'";
	_cleanup_(delivery_writer) struct delivery_writer *writer = NULL;
	struct event_report report = {.kind = EVENT_SUPPRESSED,
		.occurred_us = now_us,
		.now_us = now_us,
		.source = "milter"};
	uint8_t key[EVENT_KEY_LEN];
	int found = 0;

	if (list->n > 0)
		found = row_number(
			db, sql_email, DB_PARAMS(DB_TEXT("$ticket", ticket)), &report.email, err);
	if (found <= 0)
		return found;
	writer = delivery_writer_new(db);
	event_key(key, (const char *[]){event_kind_name(EVENT_SUPPRESSED), ticket}, 2);
	for (size_t i = 0; i < list->n; i++) {
		report.n = list->items[i].n;
		report.text = store_suppression_reason_text(list->items[i].reason);
		event_key_of_one(report.key, key, (size_t)report.n);
		if (delivery_writer_add(writer, &report, err) < 0)
			return -1;
	}
	return delivery_writer_flush(writer, err);
}
