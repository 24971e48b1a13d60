/*
 * form_variables: `recipient-variables`, one individual message for each
 * recipient.
 */
#ifndef POSTERN_HTTPD_FORM_FORM_VARIABLES_H
#define POSTERN_HTTPD_FORM_FORM_VARIABLES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "httpd/form/form.h"
#include "httpd/http/problem.h"
#include "httpd/send/send_request.h"

struct form_variables {
	struct send_personal personal; /* first */
	json_t *of;                    /* by address */
};

/* How large a body would be that takes as much memory as they do; 0 without
 * any. */
uint64_t form_variables_cost(const struct form *form);

/* Reads them; NULL when the form has none. Free the result with
 * form_variables_free(). */
int form_variables_read(
	const struct form *form, struct form_variables **variables_r, struct problem *problem);
void form_variables_free(struct form_variables *variables);

/* What is done to an email without them: macros that stand for nothing go. */
int form_variables_none(struct draft *email, struct problem *problem);

/* What is put into the texts of an email for its recipient: `%recipient.KEY%`
 * stands for the recipient's value of KEY, `%recipient%` for the address. What
 * names no known value stays as it is. The macros of list management have
 * nothing behind them here and are removed always.
 *
 * Borrowed. All NULL: macros are removed and nothing is put in. */
struct form_recipient {
	const char *address;
	/* An object whose values are strings or null; NULL: none. */
	const json_t *variables;
};

/* How long the text will be; 0 for NULL. */
uint64_t form_macros_size(const struct form_recipient *recipient, const char *text);

/* Replaces the text, which may be NULL, by one with everything put in. */
void form_macros_apply(const struct form_recipient *recipient, char **text);

/* Whether a macro that is removed stands in the text. */
bool form_macros_removed_in(const char *text);

#endif
