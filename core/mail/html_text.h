/*
 * html_text: the plain text of an HTML body, for the text part.
 */
#ifndef POSTERN_MAIL_HTML_TEXT_H
#define POSTERN_MAIL_HTML_TEXT_H

/* A new string, UTF-8, lines ended by LF: paragraphs apart, list items with a
 * dash, links as `text (url)` when the two differ, images by their alt text,
 * no script, style, head or hidden preheader. Never fails: what cannot be
 * parsed is left out, and what is not UTF-8 becomes U+FFFD. Nothing is ever
 * fetched. What would take too long to read, because of
 * endless attributes or nesting, is left out. */
char *html_text(const char *html);

#endif
