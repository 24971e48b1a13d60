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

/* The effect of an element on the text. */
enum html_role {
	HTML_INLINE, /* nothing except its breaks */
	HTML_HIDDEN, /* its content is not shown */
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
	unsigned breaks; /* before and after; 2: an empty line */
};

/* Returns the row for a lower-case name; unknown names are inline elements. */
const struct html_element *html_elements_find(const char *name);

#endif
