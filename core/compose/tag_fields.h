/*
 * tag_fields: what a finished message says of itself to us, in header fields: tags and
 * metadata, as the store keeps them of every email.
 */
#ifndef POSTERN_COMPOSE_TAG_FIELDS_H
#define POSTERN_COMPOSE_TAG_FIELDS_H

#include "core/base/err.h"
#include "core/base/strv.h"

/* Names of fields; they count in any letter case. */
#define TAG_FIELD       "X-Mailgun-Tag"       /* a tag of the form API */
#define TAG_NAMED_FIELD "Resend-Tag"          /* `name=value`, several with commas between them */
#define TAG_META_FIELD  "X-Mailgun-Variables" /* a JSON object, as h:X-Mailgun-Variables */

enum {
	TAG_FIELDS_MAX = 75,             /* tags of an email */
	TAG_FIELD_TEXT_MAX = 256,        /* bytes of one, or of its name and its value */
	TAG_FIELDS_META_MAX = 16 * 1024, /* of the variables */
};

/* The values of the fields as they came, folded and with encoded words. */
struct tag_fields {
	struct strv tags;
	struct strv named;
	struct strv variables; /* a later one replaces members of those before */
};

/* As struct email has them, NULL for none; the caller frees both. -1 with ERR_INVALID, in words
 * that name the field; they are ASCII without control characters. */
int tag_fields_read(
	const struct tag_fields *fields, char **tags_r, char **variables_r, struct err *err);
void tag_fields_clear(struct tag_fields *fields);

#endif
