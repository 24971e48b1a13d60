/*
 * form_variables: `recipient-variables`, one individual message for each
 * recipient.
 *
 * The form that has them asks for memory twice: form_variables_cost() bytes to
 * read them, form_variables_size() to expand the email by them.
 */
#ifndef POSTERN_HTTPD_FORM_VARIABLES_H
#define POSTERN_HTTPD_FORM_VARIABLES_H

#include <jansson.h>
#include <stdint.h>

#include "core/mail/form.h"
#include "httpd/http/problem.h"
#include "httpd/send/outgoing.h"

/* Starts zeroed, which stands for a form without any. */
struct form_variables {
	json_t *of;    /* by address; NULL: one message for all */
	uint64_t cost; /* bytes that they hold */
};

/* How many bytes reading them takes; 0 without any. */
uint64_t form_variables_cost(const struct form *form);

/* Reads them. The caller clears the result. */
int form_variables_read(const struct form *form,
	struct form_variables *variables_r, struct problem *problem);
void form_variables_clear(struct form_variables *variables);
#define _cleanup_form_variables_ __attribute__((cleanup(form_variables_clear)))

/* How many bytes the variables and all emails have together. */
uint64_t form_variables_size(
	const struct form_variables *variables, const struct outgoing *base);

/* Turns the email into those that are sent, n of them, which the caller clears
 * and frees, also after a problem: one for each `to` when there are recipient
 * variables, else the email itself. base is left empty. */
int form_variables_expand(const struct form_variables *variables,
	struct outgoing *base, struct outgoing **emails_r, size_t *n_r,
	struct problem *problem);

#endif
