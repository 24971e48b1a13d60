/*
 * form_variables: `recipient-variables`, one individual message for each
 * recipient, and the macros that have nothing behind them here.
 */
#ifndef POSTERN_HTTPD_FORM_VARIABLES_H
#define POSTERN_HTTPD_FORM_VARIABLES_H

#include <stdint.h>

#include "core/mail/form.h"
#include "httpd/send/outgoing.h"
#include "httpd/http/problem.h"

/* Turns the email into those that are sent, n of them, which the caller clears
 * and frees: one for each `to` when the form has recipient variables, else the
 * email itself. base is left empty. */
int form_variables_expand(const struct form *form, struct outgoing *base,
	struct outgoing **emails_r, size_t *n_r, struct problem *problem);

/* How many bytes the emails will have together. */
uint64_t form_variables_size(
	const struct form *form, const struct outgoing *base);

#endif
