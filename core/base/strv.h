/*
 * strv: a growing list of strings that it owns.
 *
 * Initialize with STRV_INIT; end with strv_free(). A NULL that n does not count follows the
 * items, so that they can be passed to execv().
 */
#ifndef POSTERN_BASE_STRV_H
#define POSTERN_BASE_STRV_H

#include <stdbool.h>
#include <stddef.h>

struct strv {
	char **items;
	size_t n;
};

#define STRV_INIT ((struct strv){0})

/* Adds a copy of the text. */
void strv_add(struct strv *list, const char *text);
/* Adds the text itself and takes ownership. */
void strv_take(struct strv *list, char *text);
/* Adds copies of all items of other. */
void strv_add_all(struct strv *list, const struct strv *other);

bool strv_has(const struct strv *list, const char *text);

/* Returns the items joined by the separator. The caller frees it. */
char *strv_join(const struct strv *list, const char *separator);
/* Adds the parts of text between separators; nothing for NULL or "". */
void strv_split(struct strv *list, const char *text, char separator);

void strv_free(struct strv *list);

#define _cleanup_strv_ __attribute__((cleanup(strv_free)))

#endif
