/*
 * html_lines: text laid out in lines.
 *
 * Invariant: out is empty or ends with text; what is held back is not in it.
 * Threads: any; holds no state of its own.
 */
#include "core/mail/html_lines.h"

#include <stdio.h>
#include <string.h>

enum { TAB_WIDTH = 8 };

/* Adds blanks; one, when there has been too much room for a text of its
 * length. */
static void add_blanks(struct html_lines *lines, size_t n)
{
	if (n > 1 && n - 1 > lines->room)
		n = 1 + lines->room;
	if (n > 1)
		lines->room -= n - 1;
	while (n-- > 0)
		buf_add_char(&lines->out, ' ');
}

/* Starts the line that text is about to stand on. */
static void start_line(struct html_lines *lines)
{
	struct buf *out = &lines->out;
	size_t marker = strlen(lines->marker);

	for (; out->len > 0 && lines->breaks > 0; lines->breaks--)
		buf_add_char(out, '\n');
	if (lines->indent > marker)
		add_blanks(lines, lines->indent - marker);
	buf_add_str(out, lines->marker);
	lines->marker[0] = '\0';
	lines->breaks = 0;
	lines->blank = false;
}

/* Writes what was held back. */
static void flush(struct html_lines *lines)
{
	if (lines->breaks > 0 || lines->out.len == 0)
		start_line(lines);
	add_blanks(lines, lines->kept + (lines->blank ? 1 : 0));
	lines->kept = 0;
	lines->blank = false;
}

/* The length of the blank at text: ASCII ones and the no-break space, which
 * mail uses for layout; 0 when there is none. */
static size_t blank_at(const char *text, size_t len)
{
	if (*text && strchr(" \t\r\n\f", *text))
		return 1;
	return len >= 2 && memcmp(text, "\xc2\xa0", 2) == 0 ? 2 : 0;
}

/* The length of a character at text that shows nothing: controls, and the ones
 * of no width with which mail pads its preview; 0 when there is none. */
static size_t invisible_at(const char *text, size_t len)
{
	static const char *const codes[] = {
		"\xc2\xad",     /* soft hyphen */
		"\xcd\x8f",     /* combining grapheme joiner */
		"\xe2\x80\x8b", /* zero width space */
		"\xef\xbb\xbf", /* byte order mark */
	};

	if ((unsigned char)*text < 0x20 || *text == 0x7f)
		return 1;
	for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
		size_t n = strlen(codes[i]);

		if (len >= n && memcmp(text, codes[i], n) == 0)
			return n;
	}
	return 0;
}

bool html_lines_fits(const struct html_lines *lines, size_t len)
{
	return lines->out.len < lines->max && len < lines->max - lines->out.len;
}

void html_lines_text(struct html_lines *lines, const char *text, size_t len)
{
	const char *end = text + len;

	if (!html_lines_fits(lines, len))
		return;
	while (text < end) {
		size_t left = (size_t)(end - text);
		size_t blank = blank_at(text, left);
		size_t skip = blank ? blank : invisible_at(text, left);

		if (blank)
			lines->blank = true;
		if (skip) {
			text += skip;
			continue;
		}
		flush(lines);
		buf_add_char(&lines->out, *text++);
	}
}

void html_lines_pre(struct html_lines *lines, const char *text, size_t len)
{
	const char *end = text + len;

	if (!html_lines_fits(lines, len))
		return;
	while (text < end) {
		size_t left = (size_t)(end - text);
		size_t blank = blank_at(text, left);
		size_t skip = blank ? blank : invisible_at(text, left);

		if (*text == '\n')
			html_lines_end_line(lines);
		else if (blank)
			lines->kept += *text == '\t' ? TAB_WIDTH : 1;
		else if (skip == 0)
			flush(lines);
		if (skip == 0)
			buf_add_char(&lines->out, *text);
		text += skip ? skip : 1;
	}
}

void html_lines_blank(struct html_lines *lines)
{
	lines->blank = true;
}

void html_lines_break(struct html_lines *lines, unsigned breaks)
{
	if (lines->breaks < breaks)
		lines->breaks = breaks;
	if (breaks > 0)
		lines->kept = 0;
}

void html_lines_end_line(struct html_lines *lines)
{
	if (lines->breaks < 2)
		lines->breaks++;
	lines->kept = 0;
}

void html_lines_mark(struct html_lines *lines, const char *marker)
{
	snprintf(lines->marker, sizeof(lines->marker), "%s", marker);
}

char *html_lines_take(struct html_lines *lines)
{
	struct buf *out = &lines->out;

	if (out->len > 0)
		buf_add_char(out, '\n');
	return buf_take(out);
}
