/*
 * key_json: API keys in the JSON dialect, in and out.
 */
#ifndef POSTERN_HTTPD_KEY_JSON_H
#define POSTERN_HTTPD_KEY_JSON_H

#include <jansson.h>

#include "core/store/store_key.h"
#include "httpd/http/problem.h"

enum { KEY_NAME_MAX = 50 }; /* characters */

/* What a client wants of a new key. */
struct key_wish {
	char *name; /* may be ""; the owner of the wish frees it */
	unsigned scopes;
	char domain_id[ID_SIZE]; /* "": to be restricted to none */
};

/* Reads the body of POST /api-keys. 0, or -1 with a problem that names the
 * field. */
int key_json_parse(
	const json_t *body, struct key_wish *wish_r, struct problem *problem);

/* Reads the body of PATCH /api-keys/{id}: the new name; the caller frees it. */
int key_json_parse_name(
	const json_t *body, char **name_r, struct problem *problem);

/* The key in an answer that only names it; a new reference. */
json_t *key_json_render_id(const char *id);

/* The key as an item of GET /api-keys; a new reference. */
json_t *key_json_render(const struct key *key);

#endif
