/*
 * untracked: queue messages that may turn out to carry an email.
 *
 * Owns them, indexed by queue id and ordered by when the ids came up.
 */
#include "events/untracked.h"

#include <string.h>

#include "core/base/clock.h"
#include "core/base/hash_table.h"

enum {
	BYTES_MAX = 4 * 1024 * 1024,
	COST = 200, /* memory of a message without lines, estimated */
};
#define KEPT_US (600 * SECOND_US)

struct untracked_list {
	struct hash_table by_queue_id;
	struct untracked *oldest, *newest;
	size_t ours; /* number of those with is_ours */
	size_t bytes;
};

struct untracked_list *untracked_list_new(void)
{
	return mem_new(struct untracked_list);
}

static void free_lines(struct untracked *untracked)
{
	for (size_t i = 0; i < untracked->n; i++)
		free(untracked->lines[i].text);
	free(untracked->lines);
	untracked->lines = NULL;
	untracked->n = 0;
}

void untracked_free(struct untracked *untracked)
{
	if (untracked == NULL)
		return;
	free_lines(untracked);
	free(untracked->message_id);
	free(untracked->queue_id);
	free(untracked);
}

void untracked_set_foreign(struct untracked *untracked)
{
	untracked->is_foreign = true;
	free_lines(untracked);
}

static bool is_of_queue_id(const void *untracked, const void *queue_id)
{
	return span_is(
		*(const struct span *)queue_id, ((const struct untracked *)untracked)->queue_id);
}

struct untracked *untracked_find(const struct untracked_list *list, struct span queue_id)
{
	return hash_table_find(&list->by_queue_id, span_hash(queue_id), is_of_queue_id, &queue_id);
}

struct untracked *untracked_remove(struct untracked_list *list, struct span queue_id)
{
	struct untracked *untracked = untracked_find(list, queue_id);

	if (untracked == NULL)
		return NULL;
	hash_table_remove(&list->by_queue_id, span_hash(queue_id), untracked);
	*(untracked->older ? &untracked->older->newer : &list->oldest) = untracked->newer;
	*(untracked->newer ? &untracked->newer->older : &list->newest) = untracked->older;
	list->bytes -= untracked->bytes;
	list->ours -= untracked->is_ours;
	return untracked;
}

static void remove_oldest(struct untracked_list *list)
{
	const char *queue_id = list->oldest->queue_id;

	untracked_free(untracked_remove(list, (struct span){queue_id, strlen(queue_id)}));
}

void untracked_list_clear(struct untracked_list *list)
{
	while (list->oldest)
		remove_oldest(list);
}

void untracked_list_free(struct untracked_list *list)
{
	if (list == NULL)
		return;
	untracked_list_clear(list);
	hash_table_clear(&list->by_queue_id);
	free(list);
}

struct untracked *untracked_get(
	struct untracked_list *list, struct span queue_id, const struct line_position *position)
{
	struct untracked *untracked;

	while (list->oldest &&
		(list->oldest->first_us < position->time_us - KEPT_US || list->bytes > BYTES_MAX))
		remove_oldest(list);
	untracked = untracked_find(list, queue_id);
	if (untracked)
		return untracked;
	untracked = mem_new(struct untracked);
	untracked->queue_id = mem_dup(queue_id.data, queue_id.len);
	untracked->first_us = position->order_us;
	untracked->number = position->number;
	untracked->bytes = COST;
	untracked->older = list->newest;
	*(list->newest ? &list->newest->newer : &list->oldest) = untracked;
	list->newest = untracked;
	list->bytes += untracked->bytes;
	hash_table_add(&list->by_queue_id, span_hash(queue_id), untracked);
	return untracked;
}

static void rebase(struct span *span, const char *from, char *to)
{
	if (span->data)
		span->data = to + (span->data - from);
}

/* All spans of the line are between the queue id and the end of the text, so one copy holds
 * them. */
void untracked_add_line(struct untracked_list *list, struct untracked *untracked,
	const struct log_line *line, const struct line_position *position)
{
	const char *from = line->id.data;
	const char *end = line->text.data ? line->text.data + line->text.len
					  : line->id.data + line->id.len;
	struct kept_line *kept;
	size_t bytes = (size_t)(end - from) + sizeof(*kept);

	untracked->lines = mem_grow(untracked->lines, untracked->n + 1, sizeof(*untracked->lines));
	kept = &untracked->lines[untracked->n++];
	*kept = (struct kept_line){*line, *position, mem_dup(from, (size_t)(end - from))};
	rebase(&kept->line.id, from, kept->text);
	rebase(&kept->line.text, from, kept->text);
	rebase(&kept->line.to, from, kept->text);
	rebase(&kept->line.orig_to, from, kept->text);
	rebase(&kept->line.relay, from, kept->text);
	rebase(&kept->line.delays, from, kept->text);
	rebase(&kept->line.dsn, from, kept->text);
	rebase(&kept->line.other, from, kept->text);
	if (position->order_us < untracked->first_us)
		untracked->first_us = position->order_us;
	untracked->bytes += bytes;
	list->bytes += bytes;
}

void untracked_set_message_id(
	struct untracked_list *list, struct untracked *untracked, char *message_id)
{
	size_t bytes = strlen(message_id);

	free(untracked->message_id);
	untracked->message_id = message_id;
	untracked->bytes += bytes;
	list->bytes += bytes;
}

void untracked_set_ours(struct untracked_list *list, struct untracked *untracked)
{
	list->ours += !untracked->is_ours;
	untracked->is_ours = true;
}

uint64_t untracked_oldest(const struct untracked_list *list)
{
	return list->oldest ? list->oldest->number : UINT64_MAX;
}

const struct untracked *untracked_next_ours(
	const struct untracked_list *list, const struct untracked *after)
{
	const struct untracked *one = after ? after->older : list->newest;

	if (list->ours == 0)
		return NULL;
	while (one && !one->is_ours)
		one = one->older;
	return one;
}
