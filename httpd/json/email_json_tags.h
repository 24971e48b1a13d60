/*
 * email_json_tags: `tags` of the JSON dialect.
 */
#ifndef POSTERN_HTTPD_EMAIL_JSON_TAGS_H
#define POSTERN_HTTPD_EMAIL_JSON_TAGS_H

#include <jansson.h>

#include "httpd/http/problem.h"

/* Reads the tags of the email into the JSON that the store keeps, NULL when
 * there are none; the caller frees it. A name may stand several times: all are
 * kept, in their order. */
int email_json_tags(const json_t *email, char **tags_r, struct problem *problem);

#endif
