/*
 * html_render: from elements and text, as a parser finds them, to lines.
 */
#ifndef POSTERN_HTML_HTML_RENDER_H
#define POSTERN_HTML_HTML_RENDER_H

#include <stddef.h>

struct html_render;

/* Name, value (NULL for none), name, ..., NULL; NULL for no attributes. */
typedef const char *const *html_attributes;

/* For text of at most max bytes, about. */
struct html_render *html_render_new(size_t max);

/* An element begins; the name is in lower case. */
void html_render_open(struct html_render *render, const char *name, html_attributes list);
/* The element that began last, and is open, ends. */
void html_render_close(struct html_render *render);
/* Text in UTF-8, whole characters. */
void html_render_text(struct html_render *render, const char *text, size_t len);

/* How many elements are open. */
size_t html_render_depth(const struct html_render *render);

/* Frees the render; returns the text as html_text() has it. */
char *html_render_finish(struct html_render *render);

/* What each element of HTML does to the text. */
enum html_role {
	HTML_INLINE, /* nothing beyond its breaks */
	HTML_HIDDEN, /* its content is no text */
	HTML_BREAK,
	HTML_RULE,
	HTML_CELL,
	HTML_PRE,
	HTML_LIST,
	HTML_NUMBERED,
	HTML_ITEM,
	HTML_LINK,
	HTML_IMAGE,
};

struct html_element {
	const char *name;
	enum html_role role;
	unsigned breaks; /* before and after; 2: with an empty line */
};

/* The row for a name in lower case; of unknown ones an inline element. */
const struct html_element *html_elements_find(const char *name);

#endif
