/*
 * form_options: parameters of the form dialect that begin with h:, o:, v: or
 * t:, and the few others that change what happens.
 *
 * What changes what happens is done or refused, never swallowed.
 */
#ifndef POSTERN_HTTPD_FORM_FORM_OPTIONS_H
#define POSTERN_HTTPD_FORM_FORM_OPTIONS_H

#include <stdint.h>

#include "httpd/form/form.h"
#include "httpd/send/draft.h"
#include "httpd/http/problem.h"

/* Bytes of all names and values that begin with o:, h: or v:. */
enum { FORM_OPTIONS_MAX = 16 * 1024 };

/* Adds headers, message id, tags and variables to the email. What a message
 * that its client finished has itself comes before them. */
int form_options_parse(
	const struct form *form, int64_t now_us, struct draft *draft, struct problem *problem);

/* Reads h:Reply-To, which stands among the headers as text, into reply_to, unless
 * a finished message says so itself.
 * form_options_parse() does it, unless one has a `%` and may hold a variable:
 * reply_to is empty until that is put in. */
int form_options_read_reply_to(struct mime_message *message, struct problem *problem);

/* Refuses a form with one of the fields that would make its text, `template`
 * and the like: they are not supported. */
int form_options_check_template(const struct form *form, struct problem *problem);

#endif
