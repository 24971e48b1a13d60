/*
 * html_render: renders elements and text to lines.
 *
 * Invariants: the table of elements is sorted by name. The output is empty or ends with text;
 * breaks and blanks are held back until text follows. frames holds the open elements, outermost
 * first. It is on the heap, so that deep nesting needs no stack. Every step takes constant
 * time, whatever the depth.
 */
#include "core/html/html_render.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"

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

static int compare_element(const void *name, const void *element)
{
	return strcmp(name, ((const struct html_element *)element)->name);
}

#define MAILTO "mailto:"

/* Returns the target of href without blanks and control characters; NULL if it is not http,
 * https or mailto. The caller frees it. */
static char *link_target(const char *href)
{
	_cleanup_free_ char *trimmed = str_trim(href, strlen(href));
	struct buf target = BUF_INIT;

	if (!str_starts_nocase(trimmed, "http://") && !str_starts_nocase(trimmed, "https://") &&
		!str_starts_nocase(trimmed, MAILTO))
		return NULL;
	for (const char *p = trimmed; *p; p++) {
		if (*p == ' ')
			buf_add_str(&target, "%20");
		else if ((unsigned char)*p > ' ' && *p != 0x7f)
			buf_add_char(&target, *p);
	}
	return buf_take(&target);
}

/* True if the text of the link is its target, which is then not shown a second time. */
static bool is_target_text(const char *target, const char *text, size_t len)
{
	size_t target_len = strlen(target);

	if (str_starts_nocase(target, MAILTO)) {
		target += strlen(MAILTO);
		target_len = strcspn(target, "?");
	}
	if (target_len > len && target[target_len - 1] == '/')
		target_len--;
	return len == target_len && memcmp(text, target, len) == 0;
}

enum { MARKER_SIZE = 16, TAB_WIDTH = 8, INDENT_MAX = 40 };

struct lines {
	struct buf out;
	unsigned breaks;          /* line breaks held back; 2 make an empty line */
	bool blank;               /* a blank is held back */
	size_t kept;              /* blanks of preformatted text held back */
	size_t indent;            /* of the following lines */
	char marker[MARKER_SIZE]; /* such as "- ", written within the indent of the next text */
	size_t max;               /* limit of out; text beyond it is dropped */
	/* How many blanks may still follow another blank. Tabs and indents could make the text
	 * many times as long as the HTML; when this is used up, each run becomes one blank. */
	size_t room;
};

/* Adds n blanks, fewer if `room` is used up, but at least one. */
static void add_blanks(struct lines *lines, size_t n)
{
	if (n > 1 && n - 1 > lines->room)
		n = 1 + lines->room;
	if (n > 1)
		lines->room -= n - 1;
	while (n-- > 0)
		buf_add_char(&lines->out, ' ');
}

/* Writes what was held back before the next text: breaks, the indent with its marker, blanks. */
static void write_held_back(struct lines *lines)
{
	struct buf *out = &lines->out;

	if (lines->breaks > 0 || out->len == 0) {
		size_t marker_len = strlen(lines->marker);

		for (; out->len > 0 && lines->breaks > 0; lines->breaks--)
			buf_add_char(out, '\n');
		if (lines->indent > marker_len)
			add_blanks(lines, lines->indent - marker_len);
		buf_add_str(out, lines->marker);
		lines->marker[0] = '\0';
		lines->breaks = 0;
		lines->blank = false;
	}
	add_blanks(lines, lines->kept + (lines->blank ? 1 : 0));
	lines->kept = 0;
	lines->blank = false;
}

/* Returns the length of the blank at text, 0 if none: ASCII blanks, and the no-break space,
 * which emails use for layout. */
static size_t blank_len(const char *text, size_t len)
{
	if (*text && strchr(" \t\r\n\f", *text))
		return 1;
	return len >= 2 && memcmp(text, "\xc2\xa0", 2) == 0 ? 2 : 0;
}

/* Returns the length of an invisible character at text, 0 if none: control characters and the
 * zero-width ones with which emails pad their preview. */
static size_t invisible_len(const char *text, size_t len)
{
	static const char *const codes[] = {
		"\xc2\xad",     /* soft hyphen */
		"\xcd\x8f",     /* combining grapheme joiner */
		"\xe2\x80\x8b", /* zero width space */
		"\xef\xbb\xbf", /* byte order mark */
	};

	if (ascii_is_control(*text))
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		size_t n = strlen(codes[i]);

		if (len >= n && memcmp(text, codes[i], n) == 0)
			return n;
	}
	return 0;
}

/* True if len more bytes fit. */
static bool lines_fits(const struct lines *lines, size_t len)
{
	return lines->out.len < lines->max && len < lines->max - lines->out.len;
}

/* Ends the line; a second call in a row makes an empty line. */
static void lines_end_line(struct lines *lines)
{
	if (lines->breaks < 2)
		lines->breaks++;
	lines->kept = 0;
}

/* Adds UTF-8 text. Runs of blanks and line breaks become one blank. With pre they are kept,
 * except blanks at the end of a line. */
static void lines_text(struct lines *lines, const char *text, size_t len, bool pre)
{
	const char *end = text + len;

	if (!lines_fits(lines, len))
		return;
	while (text < end) {
		size_t left = (size_t)(end - text);
		size_t blank = blank_len(text, left);
		size_t skip = blank ? blank : invisible_len(text, left);

		if (skip == 0) {
			write_held_back(lines);
			buf_add_char(&lines->out, *text);
		} else if (blank && !pre) {
			lines->blank = true;
		} else if (*text == '\n') {
			lines_end_line(lines);
		} else if (blank) {
			lines->kept += *text == '\t' ? TAB_WIDTH : 1;
		}
		text += skip ? skip : 1;
	}
}

/* The next text starts on a new line (1), or after an empty line (2). */
static void lines_break(struct lines *lines, unsigned breaks)
{
	if (lines->breaks < breaks)
		lines->breaks = breaks;
	if (breaks > 0)
		lines->kept = 0;
}

/* An open element. */
struct frame {
	const struct html_element *element;
	bool hidden;       /* hidden itself, not by an outer element */
	unsigned breaks;   /* before and after */
	size_t indent;     /* of the text around it */
	size_t list;       /* innermost list: its index + 1; 0 if none */
	int64_t number;    /* of the next item of a numbered list */
	char *target;      /* of a link; NULL: not shown */
	size_t link_start; /* offset of the link's text */
};

struct html_render {
	struct lines lines;
	struct frame *frames;
	size_t frames_n;
	size_t frames_cap;
	size_t hidden_n; /* frames that are hidden */
	size_t pre_n;    /* frames that are pre */
};

/* Returns the value of the attribute; NULL if it is missing, "" if it has no value. */
static const char *attribute(html_attributes list, const char *name)
{
	for (; list && list[0]; list += 2)
		if (str_eq(list[0], name))
			return list[1] ? list[1] : "";
	return NULL;
}

/* True if the style has the declaration, which is given in lower case without blanks. */
static bool declares(const char *style, const char *declaration)
{
	_cleanup_buf_ struct buf text = BUF_INIT;

	buf_add_char(&text, ';');
	for (; *style; style++)
		if (strchr(" \t\r\n", *style) == NULL)
			buf_add_char(&text, *style);
	str_lower(text.data);
	return strstr(text.data, declaration) != NULL;
}

static bool is_list(const struct html_element *element)
{
	return element->role == HTML_LIST || element->role == HTML_NUMBERED;
}

static struct frame *push_frame(struct html_render *render, const struct html_element *element)
{
	size_t n = render->frames_n, list;
	struct frame *frame;

	if (n == render->frames_cap) {
		render->frames_cap = n ? n * 2 : 64;
		render->frames = mem_grow(
			render->frames, render->frames_cap, sizeof(*render->frames));
	}
	frame = &render->frames[render->frames_n++];
	list = n > 0 ? frame[-1].list : 0;
	*frame = (struct frame){
		.element = element,
		/* A nested list follows its item without an empty line. */
		.breaks = is_list(element) && list > 0 ? 1 : element->breaks,
		.indent = render->lines.indent,
		.list = is_list(element) ? n + 1 : list,
		.number = 1,
	};
	return frame;
}

static void begin_item(struct html_render *render, const struct frame *frame)
{
	struct frame *list = frame->list > 0 ? &render->frames[frame->list - 1] : NULL;
	char *marker = render->lines.marker;

	if (list && list->element->role == HTML_NUMBERED)
		snprintf(marker, MARKER_SIZE, "%lld. ", (long long)list->number++);
	else
		strcpy(marker, "- ");
	render->lines.indent += strlen(marker);
	if (render->lines.indent > INDENT_MAX)
		render->lines.indent = INDENT_MAX;
}

/* Adds the target after the text of a link. A link without text shows nothing. */
static void end_link(struct html_render *render, const struct frame *frame)
{
	struct buf *out = &render->lines.out;
	const char *text = buf_str(out) + frame->link_start;
	size_t blanks = strspn(text, " \n");
	size_t len = out->len - frame->link_start - blanks;

	if (frame->target && len > 0 && lines_fits(&render->lines, strlen(frame->target)) &&
		!is_target_text(frame->target, text + blanks, len))
		buf_printf(out, " (%s)", frame->target);
}

struct html_render *html_render_new(size_t max)
{
	struct html_render *render = mem_new(struct html_render);

	render->lines = (struct lines){.max = max, .room = max / 4};
	return render;
}

void html_render_open(struct html_render *render, const char *name, html_attributes list)
{
	static const struct html_element other = {"", HTML_INLINE, 0};
	const struct html_element *element = bsearch(
		name, elements, ARRAY_SIZE(elements), sizeof(*elements), compare_element);
	const char *style = attribute(list, "style"), *value;
	struct frame *frame = push_frame(render, element ? element : &other);

	frame->hidden = frame->element->role == HTML_HIDDEN || attribute(list, "hidden") ||
			(style && (declares(style, ";display:none") ||
					  declares(style, ";visibility:hidden")));
	if (frame->hidden || render->hidden_n > 0) {
		render->hidden_n += frame->hidden;
		return;
	}
	lines_break(&render->lines, frame->breaks);
	switch (frame->element->role) {
	case HTML_BREAK:
		lines_end_line(&render->lines);
		break;
	case HTML_RULE:
		lines_text(&render->lines, "----------", 10, false);
		break;
	case HTML_PRE:
		render->pre_n++;
		break;
	case HTML_NUMBERED:
		value = attribute(list, "start");
		if (value)
			str_int(value, 0, INT32_MAX, &frame->number);
		break;
	case HTML_ITEM:
		begin_item(render, frame);
		break;
	case HTML_LINK:
		value = attribute(list, "href");
		frame->target = value ? link_target(value) : NULL;
		frame->link_start = render->lines.out.len;
		break;
	case HTML_IMAGE:
		value = attribute(list, "alt");
		if (value)
			lines_text(&render->lines, value, strlen(value), false);
		break;
	default:
		break;
	}
}

void html_render_close(struct html_render *render)
{
	struct frame *frame;

	if (render->frames_n == 0)
		return;
	frame = &render->frames[--render->frames_n];
	if (render->hidden_n == 0) {
		switch (frame->element->role) {
		case HTML_PRE:
			render->pre_n--;
			break;
		case HTML_ITEM:
			render->lines.marker[0] = '\0';
			break;
		case HTML_CELL:
			render->lines.blank = true;
			break;
		case HTML_LINK:
			end_link(render, frame);
			break;
		default:
			break;
		}
		lines_break(&render->lines, frame->breaks);
	}
	render->hidden_n -= frame->hidden;
	render->lines.indent = frame->indent;
	free(frame->target);
}

void html_render_text(struct html_render *render, const char *text, size_t len)
{
	if (render->hidden_n == 0)
		lines_text(&render->lines, text, len, render->pre_n > 0);
}

size_t html_render_depth(const struct html_render *render)
{
	return render->frames_n;
}

char *html_render_finish(struct html_render *render)
{
	struct buf out = render->lines.out;

	for (size_t i = 0; i < render->frames_n; i++)
		free(render->frames[i].target);
	free(render->frames);
	free(render);
	if (out.len > 0)
		buf_add_char(&out, '\n');
	return buf_take(&out);
}
