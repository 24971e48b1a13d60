/*
 * html_elements: what each element of HTML does to the text.
 */
#ifndef POSTERN_MAIL_HTML_ELEMENTS_H
#define POSTERN_MAIL_HTML_ELEMENTS_H

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
