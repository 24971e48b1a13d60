/*
 * form_macros: what is put into the texts of an email for its recipient.
 *
 * `%recipient.KEY%` stands for the recipient's value of KEY, `%recipient%` for
 * the address. What names no known value stays as it is. The macros of list
 * management have nothing behind them here and are removed always.
 */
#ifndef POSTERN_HTTPD_FORM_MACROS_H
#define POSTERN_HTTPD_FORM_MACROS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Borrowed. All NULL: macros are removed and nothing is put in. */
struct form_recipient {
	const char *address;
	/* An object whose values are strings or null; NULL: none. */
	const json_t *variables;
};

/* How long the text will be; 0 for NULL. */
uint64_t form_macros_size(
	const struct form_recipient *recipient, const char *text);

/* Replaces the text, which may be NULL, by one with everything put in. */
void form_macros_apply(const struct form_recipient *recipient, char **text);

/* Whether a macro that is removed stands in the text. */
bool form_macros_removed_in(const char *text);

#endif
