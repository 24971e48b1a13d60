/*
 * tag_fields: reads tags and metadata from the header fields of a finished message, in the form
 * in which the store keeps them for every email.
 */
#ifndef POSTERN_COMPOSE_TAG_FIELDS_H
#define POSTERN_COMPOSE_TAG_FIELDS_H

#include "core/base/err.h"
#include "core/base/strv.h"

/* Field names, ignoring case. */
#define TAG_FIELD       "X-Mailgun-Tag"       /* a tag of the form API */
#define TAG_NAMED_FIELD "Resend-Tag"          /* `name=value`, several separated by commas */
#define TAG_META_FIELD  "X-Mailgun-Variables" /* a JSON object, as h:X-Mailgun-Variables */

enum {
	TAG_FIELDS_MAX = 75,             /* tags of an email */
	TAG_FIELD_TEXT_MAX = 256,        /* bytes of a tag, or of its name and of its value */
	TAG_FIELDS_META_MAX = 16 * 1024, /* of the variables */
};

/* The field values as received, folded and with encoded words. */
struct tag_fields {
	struct strv tags;
	struct strv named;
	struct strv variables; /* a later object replaces members of earlier ones */
};

/* Reads the fields. The results are in the form of struct email, NULL if there are none; the
 * caller frees both. Returns 0, or -1 with ERR_INVALID that names the field; its text is ASCII
 * without control characters. */
int tag_fields_read(
	const struct tag_fields *fields, char **tags_r, char **variables_r, struct err *err);
void tag_fields_clear(struct tag_fields *fields);

#endif
