/*
 * html_text: converts an HTML body to plain text, for the text part.
 */
#ifndef POSTERN_HTML_HTML_TEXT_H
#define POSTERN_HTML_HTML_TEXT_H

/* The text is at most this many times as long as its HTML, plus 8 KiB. Text beyond that is cut,
 * for example if the HTML consists of rules (<hr>) only. */
enum { HTML_TEXT_GROWTH = 2 };

/* Returns the text in UTF-8 with LF line ends: paragraphs separated, list items with a dash,
 * links as `text (url)` if the two differ, images by their alt text; without scripts, styles,
 * head and hidden preheaders. Never fails: what cannot be parsed is left out, and invalid UTF-8
 * becomes U+FFFD. Nothing is fetched. Time is linear in the length for any HTML: if a document
 * is nested too deeply, the rest is left out. Threads: any. The caller frees it. */
char *html_text(const char *html);

#endif
