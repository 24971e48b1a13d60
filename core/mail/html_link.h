/*
 * html_link: the target of a link, for people to read.
 */
#ifndef POSTERN_MAIL_HTML_LINK_H
#define POSTERN_MAIL_HTML_LINK_H

#include <stdbool.h>
#include <stddef.h>

/* The target in href without blanks and controls; a new string, or NULL when it
 * is none that text can use: http, https and mailto are. */
char *html_link_target(const char *href);

/* Whether len bytes of text say the same as the target. */
bool html_link_is_shown(const char *target, const char *text, size_t len);

#endif
