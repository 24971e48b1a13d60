/*
 * form_text: values of form fields as text, and the lists of addresses in
 * them.
 */
#ifndef POSTERN_HTTPD_FORM_TEXT_H
#define POSTERN_HTTPD_FORM_TEXT_H

#include "httpd/form/form_body.h"
#include "core/compose/mime_message.h"
#include "httpd/http/problem.h"

/* The first value of the name: UTF-8 without NUL. *value_r is NULL when it is
 * not given, and borrowed from form. */
int form_text(const struct form *form, const char *name, const char **value_r,
	struct problem *problem);

/* The same for what stands in a header field: no control characters. */
int form_text_line(const struct form *form, const char *name,
	const char **value_r, struct problem *problem);

/* Checks one value, as form_text() does. */
int form_text_check(const struct form_field *field, struct problem *problem);

/* Whether there is a value that is not blank. */
bool form_text_given(const struct form *form, const char *name);

/* A Message-ID that a client chose: puts brackets around it when there are
 * none. -1 with the problem when it is not valid. */
int form_text_message_id(char **id, struct problem *problem);

/* What a list of addresses may have. */
enum { FORM_TEXT_ADDRS_MAX = 1000 };

/* Appends all mailboxes of all fields of the name, comma lists and repeats,
 * each address once. Ends with one more than FORM_TEXT_ADDRS_MAX when there are
 * more, which the caller must refuse. */
int form_text_addrs(const struct form *form, const char *name,
	struct addr_list *list, struct problem *problem);

/* The same for one comma list; name is for the problem. */
int form_text_split(const char *value, const char *name, struct addr_list *list,
	struct problem *problem);

#endif
