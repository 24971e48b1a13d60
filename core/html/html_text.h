/*
 * html_text: the plain text of an HTML body, for the text part.
 */
#ifndef POSTERN_HTML_HTML_TEXT_H
#define POSTERN_HTML_HTML_TEXT_H

/* No text is longer than its HTML so many times and 8 KiB; what would be, as of
 * nothing but rules (<hr>), ends there. */
enum { HTML_TEXT_GROWTH = 2 };

/* A new string, UTF-8, lines ended by LF: paragraphs apart, list items with a
 * dash, links as `text (url)` when the two differ, images by their alt text,
 * no script, style, head or hidden preheader. Never fails: what cannot be
 * parsed is left out, and what is not UTF-8 becomes U+FFFD. Nothing is ever
 * fetched. Time is linear in the length, whatever the HTML: of a document that
 * is nested without end, the rest is left out. Threads: any. */
char *html_text(const char *html);

#endif
