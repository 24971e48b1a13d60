/*
 * visible: text that is safe to show on a terminal, and how wide it is there.
 */
#ifndef POSTERN_CLI_VISIBLE_H
#define POSTERN_CLI_VISIBLE_H

#include <stddef.h>

#include "core/base/buf.h"

/* Appends the text as UTF-8 in which nothing steers a terminal or reorders
 * what is read: control characters, the marks that change the direction of
 * writing, and bytes that are no UTF-8 come out as \xNN or \u{NNNN}. */
void visible_add(struct buf *out, const char *text);

/* The same, but ends of line and tabs stay. */
void visible_add_lines(struct buf *out, const char *text);

/* How many columns of a terminal the text, made visible, takes. */
size_t visible_width(const char *text);

/* How many bytes of such a text fit into width columns. */
size_t visible_cut(const char *text, size_t width);

#endif
