/*
 * api_key: the routes /api-keys of the JSON dialect. A company manages its own
 * keys only. A key that is restricted to a domain manages only those that are
 * restricted to it as well, so that it cannot get itself more than it has.
 */
#ifndef POSTERN_HTTPD_API_KEY_H
#define POSTERN_HTTPD_API_KEY_H

struct request;

/* GET /api-keys: the valid ones. */
void api_key_list(struct request *request);

/* POST /api-keys: the only answer that shows the token. */
void api_key_create(struct request *request);

/* PATCH /api-keys/{id}: renames it. */
void api_key_update(struct request *request);

/* DELETE /api-keys/{id}: revokes it; the key of the request, too. */
void api_key_remove(struct request *request);

#endif
