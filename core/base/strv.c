/*
 * strv: a growing list of strings that it owns.
 *
 * Invariant: items is NULL and n is 0, or items[n] is NULL. Threads: any; a list is used by one
 * thread at a time.
 */
#include "core/base/strv.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"

void strv_take(struct strv *list, char *text)
{
	if (list->items == NULL)
		list->items = mem_append(NULL, 0, sizeof(*list->items));
	list->items = mem_append(list->items, list->n + 1, sizeof(*list->items));
	list->items[list->n++] = text;
}

void strv_add(struct strv *list, const char *text)
{
	strv_take(list, mem_strdup(text));
}

void strv_add_all(struct strv *list, const struct strv *other)
{
	for (size_t i = 0; i < other->n; i++)
		strv_add(list, other->items[i]);
}

bool strv_has(const struct strv *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (str_eq(list->items[i], text))
			return true;
	return false;
}

char *strv_join(const struct strv *list, const char *separator)
{
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < list->n; i++) {
		if (i > 0)
			buf_add_str(&text, separator);
		buf_add_str(&text, list->items[i]);
	}
	return buf_take(&text);
}

void strv_split(struct strv *list, const char *text, char separator)
{
	if (str_empty(text))
		return;
	for (;;) {
		const char *end = strchrnul(text, separator);

		strv_take(list, mem_dup(text, (size_t)(end - text)));
		if (*end == '\0')
			return;
		text = end + 1;
	}
}

void strv_free(struct strv *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i]);
	free(list->items);
	*list = STRV_INIT;
}
