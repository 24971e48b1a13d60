/*
 * unsubscribe: finds the email of a token, and suppresses its recipient.
 */
#include "core/ops/unsubscribe.h"

#include <inttypes.h>

#include "core/base/mem.h"
#include "core/policy/return_path.h"
#include "core/store/company/store_suppression.h"

int unsubscribe_find(
	struct db *db, const char *token, struct return_email *email_r, struct err *err)
{
	struct return_token read;
	int found;

	if (!return_token_parse(RETURN_UNSUBSCRIBE, token, &read))
		return 0;
	found = store_return_email(db, read.id, email_r, err);
	if (found <= 0 || return_token_is(&read, email_r->nonce))
		return found;
	store_return_email_clear(email_r);
	return 0;
}

/* A recipient who was taken off the list and unsubscribes again is added again, but the event is
 * reported once. */
int unsubscribe_store(struct db *db, struct delivery_writer *writer,
	const struct return_email *email, const char *source, int64_t now_us, struct err *err)
{
	const struct recipients *all;
	struct event_report report = {
		.email = email->seq,
		.kind = EVENT_UNSUBSCRIBED,
		.occurred_us = now_us,
		.now_us = now_us,
		.source = source,
	};
	_cleanup_free_ char *number = NULL;

	if (delivery_writer_recipients(writer, email->seq, &all, err) < 0)
		return -1;
	if (all->n != 1)
		return 0;
	report.n = all->items[0].n;
	number = mem_printf("%" PRId64, report.n);
	event_key(report.key, (const char *[]){event_kind_name(report.kind), number}, 2);
	if (delivery_writer_add(writer, &report, err) < 0)
		return -1;
	return store_suppression_note(db,
		&(struct suppression_note){
			.company_id = email->company_id,
			.domain = email->domain,
			.address = all->items[0].address,
			.reason = SUPPRESSION_UNSUBSCRIBE,
			.email = email->seq,
			.now_us = now_us,
		},
		err);
}
