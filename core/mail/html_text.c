/*
 * html_text: the plain text of an HTML body.
 *
 * libxml2 reads and reports elements as they open and close; no tree is built.
 * Where end tags match nothing, libxml2 searches all that is open: what that
 * may cost is bounded by SEARCH_MAX, past which the rest of the document is
 * left out.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/html_text.h"

#include <glib.h>
#include <libxml/HTMLparser.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/html_render.h"

enum {
	DIRECTIVE_MAX = 256,    /* bytes of <![if ...]> */
	SEARCH_MAX = 200000000, /* elements; a fraction of a second */
	ERROR_COST = 100,       /* of reporting one error, in elements */
};

/* Squares of the lengths of tags: about a second. */
#define TAGS_COST_MAX UINT64_C(4000000000)

struct reader {
	struct html_render *render;
	size_t searched;
	htmlParserCtxtPtr parser;
};

static void on_element_start(void *user, const xmlChar *name, const xmlChar **list)
{
	struct reader *reader = user;

	html_render_open(
		reader->render, (const char *)name, (html_attributes)list);
}

static void on_element_end(void *user, const xmlChar *name)
{
	struct reader *reader = user;

	(void)name; /* libxml2 ends what is open last */
	html_render_close(reader->render);
}

static void on_text(void *user, const xmlChar *text, int len)
{
	struct reader *reader = user;

	html_render_text(reader->render, (const char *)text, (size_t)len);
}

/* Errors are counted as if each were an end tag that matches nothing. */
__attribute__((format(printf, 2, 3))) static void on_error(
	void *user, const char *format, ...)
{
	struct reader *reader = user;

	(void)format;
	reader->searched += html_render_depth(reader->render) + ERROR_COST;
	if (reader->searched > SEARCH_MAX)
		xmlStopParser(reader->parser);
}

static const xmlSAXHandler handler = {
	.startElement = on_element_start,
	.endElement = on_element_end,
	.characters = on_text,
	.ignorableWhitespace = on_text,
	.error = on_error,
};

/* The length of the directive at text, 0 when it is none. One inside a comment
 * ends in `]-->` and is none. */
static size_t directive_len(const char *text)
{
	const char *close = memchr(text, '>', strnlen(text, DIRECTIVE_MAX));

	return close && close[-1] == ']' ? (size_t)(close + 1 - text) : 0;
}

/* A copy without the directives (`<![if mso]>`) that word processors write and
 * that libxml2 takes for text. */
static char *without_directives(const char *html)
{
	struct buf out = BUF_INIT;
	const char *found;

	buf_reserve(&out, strlen(html));
	while ((found = strstr(html, "<![")) != NULL) {
		size_t len = directive_len(found);

		buf_add(&out, html, (size_t)(found - html));
		if (len == 0)
			buf_add_char(&out, *found);
		html = found + (len ? len : 1);
	}
	buf_add_str(&out, html);
	return buf_take(&out);
}

static void init(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, xmlInitParser);
}

/* Behind the `=` of an attribute: past its value. */
static const char *skip_value(const char *at)
{
	const char *end;

	at += strspn(at, " \t\r\n\f");
	if (*at != '"' && *at != '\'')
		return at + strcspn(at, " \t\r\n\f>");
	end = strchr(at + 1, *at);
	return end ? end + 1 : at + strlen(at);
}

/* Past the tag that begins here. */
static const char *skip_tag(const char *at)
{
	for (;;) {
		at += strcspn(at, "=>");
		if (*at != '=')
			return at + (*at == '>');
		at = skip_value(at + 1);
	}
}

/* How much of the document can be read in good time: libxml2 compares each
 * attribute of an element with all before it, which is quadratic in the length
 * of a tag. */
static size_t affordable_len(const char *html)
{
	const char *at = html;
	uint64_t cost = 0;

	while ((at = strchr(at, '<')) != NULL) {
		const char *begin = at++;
		uint64_t len;

		if (!g_ascii_isalpha(*at))
			continue;
		at = skip_tag(at);
		len = (uint64_t)(at - begin);
		cost += len * len;
		if (cost > TAGS_COST_MAX || at - html > INT_MAX)
			return (size_t)(begin - html);
	}
	return strnlen(html, INT_MAX);
}

static void read_html(struct reader *reader, const char *html)
{
	const int options = HTML_PARSE_NONET | HTML_PARSE_RECOVER |
			    HTML_PARSE_NOWARNING | HTML_PARSE_IGNORE_ENC;
	size_t len = affordable_len(html);

	reader->parser = htmlNewParserCtxt();
	if (reader->parser == NULL)
		return;
	*reader->parser->sax = handler;
	reader->parser->userData = reader;
	/* There is no tree, and so no result. */
	htmlCtxtReadMemory(
		reader->parser, html, (int)len, NULL, "UTF-8", options);
	htmlFreeParserCtxt(reader->parser);
}

/* A copy that libxml2 reads as it is meant. */
static char *prepare(const char *html)
{
	char *valid, *clean;

	if (str_utf8_valid(html, strlen(html)))
		return without_directives(html);
	valid = g_utf8_make_valid(html, -1);
	clean = without_directives(valid);
	g_free(valid);
	return clean;
}

char *html_text(const char *html)
{
	struct reader reader = {.render = html_render_new()};
	_cleanup_free_ char *clean = prepare(html);

	init();
	read_html(&reader, clean);
	return html_render_finish(reader.render);
}
