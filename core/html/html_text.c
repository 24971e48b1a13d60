/*
 * html_text: converts an HTML body to plain text.
 *
 * libxml2 reports elements as they open and close; no tree is built. It compares each attribute
 * of a tag with all before it, and for an end tag that matches nothing it searches all open
 * elements. So it gets a copy whose tags have only the attributes that the text needs, each
 * once, and its searches are counted: beyond SEARCH_BASE plus SEARCH_PER_BYTE the rest of the
 * document is left out. This makes the time linear for any document.
 *
 * Invariant of the copy: `<` and a letter occur only where a tag begins that add_tag() wrote.
 */
#include "core/html/html_text.h"

#include <glib.h>
#include <libxml/HTMLparser.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/html/html_render.h"

enum {
	DIRECTIVE_MAX = 256, /* bytes of <![if ...]> */
	TEXT_MIN = 4096,     /* shorter texts are not limited */
	NAME_MAX_LEN = 100,  /* of an element; libxml2 reads no more */
	/* The number of open elements that may be searched; each takes some nanoseconds. */
	SEARCH_BASE = 200000,
	SEARCH_PER_BYTE = 8,
};

#define BLANKS " \t\r\n\f"

struct reader {
	struct html_render *render;
	size_t searched;
	size_t search_max;
	htmlParserCtxtPtr parser;
};

static void on_element_start(void *user, const xmlChar *name, const xmlChar **list)
{
	struct reader *reader = user;

	html_render_open(reader->render, (const char *)name, (html_attributes)list);
}

static void on_element_end(void *user, const xmlChar *name)
{
	struct reader *reader = user;

	(void)name; /* libxml2 closes the innermost element */
	html_render_close(reader->render);
}

static void on_text(void *user, const xmlChar *text, int len)
{
	struct reader *reader = user;

	html_render_text(reader->render, (const char *)text, (size_t)len);
}

/* An end tag that matches nothing is an error. Other errors are counted in the same way. */
__attribute__((format(printf, 2, 3))) static void on_error(void *user, const char *format, ...)
{
	struct reader *reader = user;

	(void)format;
	reader->searched += html_render_depth(reader->render);
	if (reader->searched > reader->search_max)
		xmlStopParser(reader->parser);
}

static const xmlSAXHandler handler = {
	.startElement = on_element_start,
	.endElement = on_element_end,
	.characters = on_text,
	.ignorableWhitespace = on_text,
	.error = on_error,
};

/* The attributes that the text needs. */
static const char *const attributes[] = {"style", "hidden", "href", "alt", "start"};

/* A piece of a tag: a name, and optionally a value after `=`. */
struct piece {
	const char *name;
	size_t name_len;
	const char *value; /* NULL if none */
	size_t value_len;
};

/* Reads the next piece of a tag. False at the end of the tag, to which *at then points. */
static bool next_piece(const char **at, struct piece *piece)
{
	const char *name = *at + strspn(*at, BLANKS "/"), *value;

	*at = name;
	if (*name == '\0' || *name == '>')
		return false;
	*piece = (struct piece){.name = name, .name_len = strcspn(name, BLANKS "/=>")};
	*at = name + piece->name_len;
	value = *at + strspn(*at, BLANKS);
	if (*value != '=')
		return true;
	value++;
	value += strspn(value, BLANKS);
	if (*value == '"' || *value == '\'') {
		piece->value = value + 1;
		piece->value_len = (size_t)(strchrnul(value + 1, *value) - piece->value);
		*at = piece->value + piece->value_len;
		*at += **at != '\0';
	} else {
		piece->value = value;
		piece->value_len = strcspn(value, BLANKS ">");
		*at = piece->value + piece->value_len;
	}
	return true;
}

static void add_attribute(struct buf *out, const struct piece *piece)
{
	buf_add_char(out, ' ');
	buf_add(out, piece->name, piece->name_len);
	if (piece->value == NULL)
		return;
	buf_add_str(out, "=\"");
	for (size_t i = 0; i < piece->value_len; i++) {
		if (piece->value[i] == '"')
			buf_add_str(out, "&quot;");
		else if (piece->value[i] == '<')
			buf_add_str(out, "&lt;");
		else
			buf_add_char(out, piece->value[i]);
	}
	buf_add_char(out, '"');
}

/* Skips the content of script and style, which is not HTML. Returns the end tag, or the end of the
 * text. */
static const char *skip_raw_content(const char *at, const char *name, size_t len)
{
	const char *end = at;

	if (!(len == 6 && g_ascii_strncasecmp(name, "script", len) == 0) &&
		!(len == 5 && g_ascii_strncasecmp(name, "style", len) == 0))
		return at;
	while ((end = strstr(end, "</")) != NULL) {
		if (g_ascii_strncasecmp(end + 2, name, len) == 0)
			return end;
		end += 2;
	}
	return at + strlen(at);
}

/* Adds the tag that begins at this `<` and returns what follows it. */
static const char *add_tag(struct buf *out, const char *at)
{
	const char *name = at + 1;
	size_t len = strcspn(name, BLANKS "/<>\"'=");
	bool has[ARRAY_SIZE(attributes)] = {false};
	struct piece piece;
	bool closed;

	if (len > NAME_MAX_LEN)
		len = NAME_MAX_LEN;
	buf_add(out, at, 1 + len);
	at = name + len;
	while (next_piece(&at, &piece)) {
		for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
			if (has[i] || strlen(attributes[i]) != piece.name_len ||
				g_ascii_strncasecmp(attributes[i], piece.name, piece.name_len) != 0)
				continue;
			add_attribute(out, &piece);
			has[i] = true;
		}
	}
	closed = *at == '>' && at[-1] == '/';
	buf_add_str(out, closed ? "/>" : ">");
	at += *at == '>';
	return closed ? at : skip_raw_content(at, name, len);
}

/* Returns a copy that libxml2 parses in linear time and as intended: without the directives of
 * word processors (`<![if mso]>`), which it would take for text. */
static char *simplify_html(const char *html)
{
	struct buf out = BUF_INIT;

	buf_reserve(&out, strlen(html));
	while (*html) {
		size_t len = strcspn(html, "<");
		const char *end;

		buf_add(&out, html, len);
		html += len;
		if (*html == '\0')
			break;
		if (g_ascii_isalpha(html[1])) {
			html = add_tag(&out, html);
		} else if (str_starts(html, "<!--")) {
			end = strstr(html + strlen("<!--"), "-->");
			html = end ? end + strlen("-->") : html + strlen(html);
		} else if (str_starts(html, "<![") &&
			   (end = memchr(html, '>', strnlen(html, DIRECTIVE_MAX))) != NULL &&
			   end[-1] == ']') {
			html = end + 1; /* not the `]-->` of a directive inside a comment */
		} else {
			buf_add_char(&out, *html++);
		}
	}
	return buf_take(&out);
}

char *html_text(const char *html)
{
	const int options = HTML_PARSE_NONET | HTML_PARSE_RECOVER | HTML_PARSE_NOWARNING |
			    HTML_PARSE_IGNORE_ENC;
	struct reader reader = {
		.render = html_render_new(TEXT_MIN + HTML_TEXT_GROWTH * strlen(html))};
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	_cleanup_free_ char *copy = NULL;
	char *valid = NULL;
	size_t len;

	if (!str_utf8_valid(html, strlen(html)))
		valid = g_utf8_make_valid(html, -1);
	copy = simplify_html(valid ? valid : html);
	g_free(valid);
	pthread_once(&once, xmlInitParser);
	len = strnlen(copy, INT_MAX);
	reader.search_max = SEARCH_BASE + SEARCH_PER_BYTE * len;
	reader.parser = htmlNewParserCtxt();
	if (reader.parser) {
		*reader.parser->sax = handler;
		reader.parser->userData = &reader;
		/* There is no tree, so there is no result. */
		htmlCtxtReadMemory(reader.parser, copy, (int)len, NULL, "UTF-8", options);
		htmlFreeParserCtxt(reader.parser);
	}
	return html_render_finish(reader.render);
}
