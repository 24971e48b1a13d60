/*
 * api_key: the routes /api-keys of the JSON dialect. A company manages its own
 * keys only. A key that is restricted to a domain manages only those that are
 * restricted to it as well, so that it cannot get itself more than it has.
 */
#ifndef POSTERN_HTTPD_JSON_API_KEY_H
#define POSTERN_HTTPD_JSON_API_KEY_H

#include <jansson.h>

#include "core/store/store_key.h"
#include "httpd/http/problem.h"

struct request;

/* GET /api-keys: the valid ones. */
void api_key_list(struct request *request);

/* POST /api-keys: the only answer that shows the token. */
void api_key_create(struct request *request);

/* PATCH /api-keys/{id}: renames it. */
void api_key_update(struct request *request);

/* DELETE /api-keys/{id}: revokes it; the key of the request, too. */
void api_key_remove(struct request *request);

/* Bodies and answers. */

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

/* The key as an item of GET /api-keys; a new reference. */
json_t *key_json_render(const struct key *key);

#endif
