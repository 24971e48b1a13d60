/*
 * html_lines: text laid out in lines, as the text of HTML is.
 *
 * Blanks and breaks are held back until something follows them, so that no
 * line ends with a blank, no two empty lines follow each other, and none stand
 * at the ends.
 */
#ifndef POSTERN_MAIL_HTML_LINES_H
#define POSTERN_MAIL_HTML_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"

enum { HTML_LINES_MARKER_SIZE = 16 };

struct html_lines {
	struct buf out;
	unsigned breaks; /* held back; 2 leave an empty line */
	bool blank;      /* held back */
	size_t kept;     /* blanks of preformatted text held back */
	size_t indent;   /* of the lines to come */
	char marker[HTML_LINES_MARKER_SIZE]; /* before the next text */
	size_t max;  /* of out; what comes behind it is left out */
	size_t room; /* for blanks that stand beside another */
};

/* For text of at most max bytes and a little more. Tabs and indents can make it
 * many times as long as the HTML: where they do, less of them is left. */
#define HTML_LINES_INIT(max_)                                                  \
	((struct html_lines){.max = (max_), .room = (max_) / 4})

/* Whether so much more fits. */
bool html_lines_fits(const struct html_lines *lines, size_t len);

/* Adds text in UTF-8: runs of blanks and line breaks become one blank. */
void html_lines_text(struct html_lines *lines, const char *text, size_t len);

/* Adds text whose blanks and line breaks are kept, but for those at the end of
 * a line. */
void html_lines_pre(struct html_lines *lines, const char *text, size_t len);

/* A blank before what comes next. */
void html_lines_blank(struct html_lines *lines);

/* What comes next starts a line (1), or stands after an empty one (2). */
void html_lines_break(struct html_lines *lines, unsigned breaks);

/* Ends the line; twice in a row leaves an empty one. */
void html_lines_end_line(struct html_lines *lines);

/* Puts a marker, such as "- ", before the next text, inside the indent. */
void html_lines_mark(struct html_lines *lines, const char *marker);

/* The text as a string of the caller's, ended by LF unless empty. */
char *html_lines_take(struct html_lines *lines);

#endif
