/*
 * html_elements: what each element of HTML does to the text.
 *
 * Invariant: the table is sorted by name.
 * Threads: any; the table is constant.
 */
#include "core/mail/html_elements.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

static const struct html_element elements[] = {
	{"a", HTML_LINK, 0},
	{"address", HTML_INLINE, 2},
	{"article", HTML_INLINE, 2},
	{"aside", HTML_INLINE, 2},
	{"blockquote", HTML_INLINE, 2},
	{"body", HTML_INLINE, 1},
	{"br", HTML_BREAK, 0},
	{"caption", HTML_INLINE, 1},
	{"center", HTML_INLINE, 1},
	{"dd", HTML_INLINE, 1},
	{"details", HTML_INLINE, 1},
	{"div", HTML_INLINE, 1},
	{"dl", HTML_INLINE, 2},
	{"dt", HTML_INLINE, 1},
	{"fieldset", HTML_INLINE, 1},
	{"figcaption", HTML_INLINE, 1},
	{"figure", HTML_INLINE, 2},
	{"footer", HTML_INLINE, 2},
	{"form", HTML_INLINE, 1},
	{"h1", HTML_INLINE, 2},
	{"h2", HTML_INLINE, 2},
	{"h3", HTML_INLINE, 2},
	{"h4", HTML_INLINE, 2},
	{"h5", HTML_INLINE, 2},
	{"h6", HTML_INLINE, 2},
	{"head", HTML_HIDDEN, 0},
	{"header", HTML_INLINE, 2},
	{"hr", HTML_RULE, 2},
	{"img", HTML_IMAGE, 0},
	{"legend", HTML_INLINE, 1},
	{"li", HTML_ITEM, 1},
	{"main", HTML_INLINE, 2},
	{"menu", HTML_LIST, 2},
	{"nav", HTML_INLINE, 2},
	{"ol", HTML_NUMBERED, 2},
	{"option", HTML_INLINE, 1},
	{"p", HTML_INLINE, 2},
	{"pre", HTML_PRE, 2},
	{"script", HTML_HIDDEN, 0},
	{"section", HTML_INLINE, 2},
	{"style", HTML_HIDDEN, 0},
	{"summary", HTML_INLINE, 1},
	{"table", HTML_INLINE, 2},
	{"tbody", HTML_INLINE, 1},
	{"td", HTML_CELL, 0},
	{"template", HTML_HIDDEN, 0},
	{"tfoot", HTML_INLINE, 1},
	{"th", HTML_CELL, 0},
	{"thead", HTML_INLINE, 1},
	{"title", HTML_HIDDEN, 0},
	{"tr", HTML_INLINE, 1},
	{"ul", HTML_LIST, 2},
};

static int compare(const void *name, const void *element)
{
	return strcmp(name, ((const struct html_element *)element)->name);
}

const struct html_element *html_elements_find(const char *name)
{
	static const struct html_element other = {"", HTML_INLINE, 0};
	const struct html_element *found = bsearch(name, elements,
		ARRAY_SIZE(elements), sizeof(*elements), compare);

	return found ? found : &other;
}
