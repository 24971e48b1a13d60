/*
 * html_render: renders elements and text, as a parser reports them, to lines of plain text.
 */
#ifndef POSTERN_HTML_HTML_RENDER_H
#define POSTERN_HTML_HTML_RENDER_H

#include <stddef.h>

struct html_render;

/* Name, value (NULL for none), name, ..., NULL; NULL for no attributes. */
typedef const char *const *html_attributes;

/* max: the approximate limit of the text in bytes. */
struct html_render *html_render_new(size_t max);

/* Opens an element; the name is in lower case. */
void html_render_open(struct html_render *render, const char *name, html_attributes list);
/* Closes the innermost open element. */
void html_render_close(struct html_render *render);
/* Adds text: UTF-8, whole characters. */
void html_render_text(struct html_render *render, const char *text, size_t len);

/* The number of open elements. */
size_t html_render_depth(const struct html_render *render);

/* Frees the render and returns the text in the form of html_text(). The caller frees it. */
char *html_render_finish(struct html_render *render);

#endif
