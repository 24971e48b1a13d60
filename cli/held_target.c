/*
 * held_target: messages in Postfix's queue that the verbs of `postern held` act on.
 */
#include "cli/held_target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/milter_ask.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/policy/ticket.h"
#include "core/store/store_audit.h"

bool held_find_ticket(const struct queue_item *item, char ticket_r[static SECRET_TICKET_SIZE])
{
	for (size_t i = 0; i < item->recipients.n; i++)
		if (ticket_read(item->recipients.items[i], ticket_r) == TICKET_READ)
			return true;
	return false;
}

int held_kind_of(const struct call *call, const struct queue_item *item, struct held *held_r,
	struct err *err)
{
	char ticket[SECRET_TICKET_SIZE];
	struct held held = {0};
	int found;

	if (!str_eq(item->queue, "hold")) {
		if (!held_find_ticket(item, ticket))
			return KIND_OTHER;
		if (*item->sender)
			return KIND_WAITING;
		/* A probe has a null sender. */
		return str_eq(item->queue, "deferred") ? KIND_PROBE : KIND_OTHER;
	}
	found = store_held_get(call->db, item->id, item->arrival_s, &held, err);
	if (found < 0)
		return -1;
	if (found && held_r)
		*held_r = held;
	else
		store_held_clear(&held);
	return found ? KIND_HELD : KIND_OTHER_HELD;
}

void held_targets_clear(struct held_targets *targets)
{
	for (size_t i = 0; i < targets->n; i++)
		queue_item_clear(&targets->items[i].item);
	free(targets->items);
}

struct held_target *held_targets_find(struct held_targets *targets, const char *id)
{
	for (size_t i = 0; i < targets->n; i++)
		if (str_eq(targets->items[i].item.id, id))
			return &targets->items[i];
	return NULL;
}

struct held_target *held_targets_add(struct held_targets *targets, const char *id)
{
	struct held_target *target;

	targets->items = mem_append(targets->items, targets->n, sizeof(*targets->items));
	target = &targets->items[targets->n++];
	target->why = ERR_INIT;
	target->item.id = mem_strdup(id);
	return target;
}

static int on_searched(void *arg, struct queue_item *item, struct err *err)
{
	struct held_targets *targets = arg;
	bool all = targets->all_waiting;
	struct held_target *target = all ? NULL : held_targets_find(targets, item->id);
	int kind;

	if (!all && target == NULL)
		return 0;
	kind = held_kind_of(targets->call, item, NULL, err);
	if (kind < 0)
		return -1;
	if (all && kind != KIND_WAITING && kind != KIND_PROBE)
		return 0;
	if (all)
		target = held_targets_add(targets, item->id);
	target->kind = (enum held_kind)kind;
	queue_item_clear(&target->item);
	target->item = TAKE(*item);
	return 0;
}

int held_targets_search(
	const struct postfix_queue *queue, struct held_targets *targets, struct err *err)
{
	return postfix_queue_each(queue, on_searched, targets, err);
}

bool held_target_is_open(const struct held_target *target)
{
	return target->outcome == NULL && target->why.code == ERR_NONE;
}

bool held_target_is_on_hold(const struct held_target *target)
{
	return target->kind == KIND_HELD || target->kind == KIND_OTHER_HELD;
}

int held_targets_change(const struct postfix_queue *queue, enum queue_change change,
	struct held_targets *targets, bool (*want)(const struct held_target *target),
	const char *outcome, struct err *err)
{
	_cleanup_strv_ struct strv ids = STRV_INIT, done = STRV_INIT;

	for (size_t i = 0; i < targets->n; i++)
		if (held_target_is_open(&targets->items[i]) && want(&targets->items[i]))
			strv_add(&ids, targets->items[i].item.id);
	if (ids.n == 0)
		return 0;
	if (postfix_queue_change(queue, change, &ids, &done, err) < 0)
		return -1;
	for (size_t i = 0; i < done.n; i++) {
		struct held_target *target = held_targets_find(targets, done.items[i]);

		if (target == NULL)
			continue;
		target->outcome = outcome;
		if (store_held_forget(targets->call->db, target->item.id, err) < 0)
			return -1;
		/* A decision made on the dashboard has its audit entry. */
		if (!targets->served &&
			store_audit_add(targets->call->db,
				&(struct audit_action){.action = change == QUEUE_RELEASE
									 ? "held.release"
									 : "held.drop",
					.object_id = target->item.id,
					.object_name = target->item.id,
					.after = json_pack("{s:s, s:s}", "queue_id",
						target->item.id, "sender", target->item.sender)},
				err) < 0)
			return -1;
	}
	for (size_t i = 0; i < ids.n; i++) {
		struct held_target *target = held_targets_find(targets, ids.items[i]);

		if (target->outcome == NULL)
			err_set(&target->why, ERR_NOT_FOUND, "it is gone from Postfix's queue");
	}
	return 0;
}

int held_read_header(const struct postfix_queue *queue, const struct queue_item *item,
	struct buf *header, struct err *err)
{
	ssize_t n;
	int file;

	if (postfix_queue_read(queue, item, false, &file, err) < 0)
		return -1;
	lseek(file, 0, SEEK_SET);
	while ((n = read(file, buf_reserve(header, 65536), 65536)) > 0)
		buf_wrote(header, (size_t)n);
	close(file);
	return 0;
}

void held_target_recheck(
	const struct call *call, const struct postfix_queue *queue, struct held_target *target)
{
	static const char *const details[] = {
		[MILTER_CHANGES] =
			"the rules would let it pass, but changed; that cannot be done to "
			"held mail",
		[MILTER_HOLDS] = "the rules still refuse it",
		[MILTER_REJECTS] = "the rules would reject it now",
		[MILTER_DISCARDS] = "the rules would discard it now",
	};
	const struct queue_item *item = &target->item;
	struct milter_message message = {
		.queue_id = item->id,
		.sender = item->sender,
		.recipients = &item->recipients,
	};
	_cleanup_buf_ struct buf header = BUF_INIT;
	_cleanup_free_ char *text = NULL;
	enum milter_answer answer;
	char ticket[SECRET_TICKET_SIZE];

	if (target->kind == KIND_OTHER_HELD) {
		err_set(&target->why, ERR_INVALID,
			"it is not on record that the rules have it held; release lets it go");
		return;
	}
	if (held_find_ticket(item, ticket)) {
		err_set(&target->why, ERR_INVALID,
			"its ticket did not fit: it is a forgery, or Postfix rewrote its sender or "
			"From; drop it");
		return;
	}
	if (held_read_header(queue, item, &header, &target->why) < 0)
		return;
	message.header = buf_str(&header);
	if (item->mended || strlen(message.header) != header.len) {
		err_set(&target->why, ERR_INVALID,
			"its addresses or its header have bytes that the rules cannot be asked "
			"about: release it or drop it");
		return;
	}
	if (milter_ask(call->conf->milter.socket, &message, &answer, &text, &target->why) < 0 ||
		answer == MILTER_PASSES)
		return;
	target->outcome = "held";
	snprintf(target->why.text, sizeof(target->why.text), "%s%s%s", details[answer],
		text ? ": " : "", text ? text : "");
}

const struct column held_done_columns[] = {
	[HELD_DONE_ID] = {"queue_id", "QUEUE ID", .type = COLUMN_TEXT},
	[HELD_DONE_OUTCOME] = {"outcome", "OUTCOME", .type = COLUMN_TEXT},
	[HELD_DONE_DETAIL] = {"detail", "DETAIL", .type = COLUMN_TEXT},
	{0},
};

void held_target_report(const struct held_target *target, struct report *report)
{
	report_add_row(report);
	report_text(report, HELD_DONE_ID, target->item.id);
	report_text(report, HELD_DONE_OUTCOME, target->outcome ? target->outcome : "failed");
	report_text(report, HELD_DONE_DETAIL, *target->why.text ? target->why.text : NULL);
}
