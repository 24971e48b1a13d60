/*
 * html_render: from elements and text to lines.
 *
 * Invariant: frames are the open elements, outermost first; they live on the
 * heap, so that deep nesting costs no stack. Every step takes constant time,
 * whatever the depth. Threads: any; one render belongs to one thread.
 */
#include "core/mail/html_render.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/html_elements.h"
#include "core/mail/html_lines.h"
#include "core/mail/html_link.h"

enum { INDENT_MAX = 40 };

/* An element that is open. */
struct frame {
	const struct html_element *element;
	bool hidden;       /* by itself, not by one around it */
	unsigned breaks;   /* before and after */
	size_t indent;     /* outside of it */
	size_t list;       /* innermost list: its index + 1, 0 for none */
	int64_t number;    /* of a numbered list's next item */
	char *target;      /* of a link; NULL: nothing to show */
	size_t link_start; /* where its text starts */
};

struct html_render {
	struct html_lines lines;
	struct frame *frames;
	size_t frames_n;
	size_t frames_cap;
	size_t hidden_n; /* frames that are hidden */
	size_t pre_n;    /* frames that are pre */
};

/* NULL when there is none; "" for one without a value. */
static const char *attribute(html_attributes list, const char *name)
{
	for (; list && list[0]; list += 2)
		if (str_eq(list[0], name))
			return list[1] ? list[1] : "";
	return NULL;
}

/* Whether a style has the declaration, given in lower case without blanks. */
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

static bool is_hidden(const struct html_element *element, html_attributes list)
{
	const char *style = attribute(list, "style");

	return element->role == HTML_HIDDEN || attribute(list, "hidden") ||
	       (style && (declares(style, ";display:none") ||
				 declares(style, ";visibility:hidden")));
}

static bool is_list(const struct html_element *element)
{
	return element->role == HTML_LIST || element->role == HTML_NUMBERED;
}

static struct frame *push(
	struct html_render *render, const struct html_element *element)
{
	size_t n = render->frames_n, list;
	struct frame *frame;

	if (n == render->frames_cap) {
		render->frames_cap = n ? n * 2 : 64;
		render->frames = mem_grow(render->frames, render->frames_cap,
			sizeof(*render->frames));
	}
	frame = &render->frames[render->frames_n++];
	list = n > 0 ? frame[-1].list : 0;
	*frame = (struct frame){
		.element = element,
		/* A list in a list stands close to its item. */
		.breaks = is_list(element) && list > 0 ? 1 : element->breaks,
		.indent = render->lines.indent,
		.list = is_list(element) ? n + 1 : list,
		.number = 1,
	};
	return frame;
}

static void begin_numbered(struct frame *frame, html_attributes list)
{
	const char *start = attribute(list, "start");

	if (start)
		str_int(start, 0, INT32_MAX, &frame->number);
}

static void begin_item(struct html_render *render, const struct frame *frame)
{
	char marker[HTML_LINES_MARKER_SIZE] = "- ";
	struct frame *list = frame->list > 0 ? &render->frames[frame->list - 1]
					     : NULL;

	if (list && list->element->role == HTML_NUMBERED)
		snprintf(marker, sizeof(marker), "%lld. ",
			(long long)list->number++);
	html_lines_mark(&render->lines, marker);
	render->lines.indent += strlen(marker);
	if (render->lines.indent > INDENT_MAX)
		render->lines.indent = INDENT_MAX;
}

static void begin_image(struct html_render *render, html_attributes list)
{
	const char *alt = attribute(list, "alt");

	if (alt)
		html_lines_text(&render->lines, alt, strlen(alt));
}

static void begin_link(
	struct html_render *render, struct frame *frame, html_attributes list)
{
	const char *href = attribute(list, "href");

	frame->target = href ? html_link_target(href) : NULL;
	frame->link_start = render->lines.out.len;
}

/* Adds the target behind the text of a link; a link without text shows
 * nothing. */
static void end_link(struct html_render *render, const struct frame *frame)
{
	struct buf *out = &render->lines.out;
	const char *text = buf_str(out) + frame->link_start;
	size_t blanks = strspn(text, " \n");
	size_t len = out->len - frame->link_start - blanks;

	if (frame->target && len > 0 &&
		html_lines_fits(&render->lines, strlen(frame->target)) &&
		!html_link_is_shown(frame->target, text + blanks, len))
		buf_printf(out, " (%s)", frame->target);
}

/* What an element does where it begins, besides its breaks. */
static void begin(
	struct html_render *render, struct frame *frame, html_attributes list)
{
	switch (frame->element->role) {
	case HTML_BREAK:
		html_lines_end_line(&render->lines);
		break;
	case HTML_RULE:
		html_lines_text(&render->lines, "----------", 10);
		break;
	case HTML_PRE:
		render->pre_n++;
		break;
	case HTML_NUMBERED:
		begin_numbered(frame, list);
		break;
	case HTML_ITEM:
		begin_item(render, frame);
		break;
	case HTML_LINK:
		begin_link(render, frame, list);
		break;
	case HTML_IMAGE:
		begin_image(render, list);
		break;
	default:
		break;
	}
}

static void end(struct html_render *render, const struct frame *frame)
{
	switch (frame->element->role) {
	case HTML_PRE:
		render->pre_n--;
		break;
	case HTML_ITEM:
		html_lines_mark(&render->lines, "");
		break;
	case HTML_CELL:
		html_lines_blank(&render->lines);
		break;
	case HTML_LINK:
		end_link(render, frame);
		break;
	default:
		break;
	}
}

struct html_render *html_render_new(size_t max)
{
	struct html_render *render = mem_new(struct html_render);

	render->lines = HTML_LINES_INIT(max);
	return render;
}

void html_render_open(
	struct html_render *render, const char *name, html_attributes list)
{
	const struct html_element *element = html_elements_find(name);
	struct frame *frame = push(render, element);

	frame->hidden = is_hidden(element, list);
	if (frame->hidden || render->hidden_n > 0) {
		render->hidden_n += frame->hidden;
		return;
	}
	html_lines_break(&render->lines, frame->breaks);
	begin(render, frame, list);
}

void html_render_close(struct html_render *render)
{
	struct frame *frame;

	if (render->frames_n == 0)
		return;
	frame = &render->frames[--render->frames_n];
	if (render->hidden_n == 0) {
		end(render, frame);
		html_lines_break(&render->lines, frame->breaks);
	}
	render->hidden_n -= frame->hidden;
	render->lines.indent = frame->indent;
	free(frame->target);
}

void html_render_text(struct html_render *render, const char *text, size_t len)
{
	if (render->hidden_n > 0)
		return;
	if (render->pre_n > 0)
		html_lines_pre(&render->lines, text, len);
	else
		html_lines_text(&render->lines, text, len);
}

size_t html_render_depth(const struct html_render *render)
{
	return render->frames_n;
}

char *html_render_finish(struct html_render *render)
{
	char *text;

	for (size_t i = 0; i < render->frames_n; i++)
		free(render->frames[i].target);
	free(render->frames);
	text = html_lines_take(&render->lines);
	free(render);
	return text;
}
