/*
 * form_variables: `recipient-variables`, one individual message for each
 * recipient.
 */
#ifndef POSTERN_HTTPD_FORM_VARIABLES_H
#define POSTERN_HTTPD_FORM_VARIABLES_H

#include <jansson.h>
#include <stdint.h>

#include "core/mail/form.h"
#include "httpd/http/problem.h"
#include "httpd/send/send.h"

struct form_variables {
	struct send_personal personal; /* first */
	json_t *of;                    /* by address */
};

/* How large a body would be that takes as much memory as they do; 0 without
 * any. */
uint64_t form_variables_cost(const struct form *form);

/* Reads them; NULL when the form has none. Free the result with
 * form_variables_free(). */
int form_variables_read(const struct form *form,
	struct form_variables **variables_r, struct problem *problem);
void form_variables_free(struct form_variables *variables);

/* What is done to an email without them: macros that stand for nothing go. */
int form_variables_none(struct outgoing *email, struct problem *problem);

#endif
