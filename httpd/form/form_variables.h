/*
 * form_variables: `recipient-variables`: an individual message for each
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
	json_t *of;                    /* the variables by recipient address */
};

/* The memory that the parsed variables take, as the size of a body to reserve;
 * 0 if there are none. */
uint64_t form_variables_cost(const struct form *form);

/* Parses them; NULL if the form has none. Returns 0, or -1 with the problem.
 * Free the result with form_variables_free(). */
int form_variables_read(
	const struct form *form, struct form_variables **variables_r, struct problem *problem);
void form_variables_free(struct form_variables *variables);

/* For an email without them: removes macros that have no meaning here. */
int form_variables_none(struct draft *email, struct problem *problem);

/* The values for one recipient of an email. `%recipient.KEY%` stands for the
 * recipient's value of KEY, `%recipient%` for the address. An unknown KEY stays
 * as it is. The macros of list management have no meaning here and are always
 * removed.
 *
 * Borrowed. If all are NULL, those macros are removed and nothing is replaced. */
struct form_recipient {
	const char *address;
	/* An object whose values are strings or null; NULL for none. */
	const json_t *variables;
};

/* The length of the text after replacement; 0 for NULL. */
uint64_t form_macros_size(const struct form_recipient *recipient, const char *text);

/* Replaces the macros of the text, which may be NULL. */
void form_macros_apply(const struct form_recipient *recipient, char **text);

/* True if the text has a macro that is removed. */
bool form_macros_removed_in(const char *text);

#endif
