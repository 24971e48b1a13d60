/*
 * form_options: the parameters of the form dialect that begin with h:, o:, v:
 * or t:, and a few others that change what is sent.
 *
 * A parameter that changes what is sent is honoured or refused, never ignored
 * silently.
 */
#ifndef POSTERN_HTTPD_FORM_FORM_OPTIONS_H
#define POSTERN_HTTPD_FORM_FORM_OPTIONS_H

#include <stdint.h>

#include "httpd/form/form.h"
#include "httpd/send/draft.h"
#include "httpd/http/problem.h"

/* The maximum of bytes of all o:, h: and v: names and values together. */
enum { FORM_OPTIONS_MAX = 16 * 1024 };

/* Adds headers, Message-ID, tags and variables to the email. A finished
 * message's own fields take precedence, except those with options, which the
 * form's options add to or replace. Returns 0, or -1 with the problem. */
int form_options_parse(
	const struct form *form, int64_t now_us, struct draft *draft, struct problem *problem);

/* Moves h:Reply-To from the headers, where it is text, into reply_to, unless a
 * finished message has its own. form_options_parse() calls it, unless a
 * Reply-To has a `%` and so may contain a variable: reply_to then stays empty
 * until the variable is replaced. */
int form_options_read_reply_to(struct mime_message *message, struct problem *problem);

/* Says that FORM_OPTIONS_MAX is exceeded. Returns -1 with the problem. */
int form_options_too_large(struct problem *problem);

/* Refuses a form with `template` or a similar field, which would generate its
 * text: they are not supported. */
int form_options_check_template(const struct form *form, struct problem *problem);

#endif
