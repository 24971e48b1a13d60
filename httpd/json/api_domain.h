/*
 * api_domain: the routes /domains of the JSON dialect. A company sees and
 * changes its own domains only, a key that is restricted to a domain only that
 * one; anything else is not there.
 */
#ifndef POSTERN_HTTPD_JSON_API_DOMAIN_H
#define POSTERN_HTTPD_JSON_API_DOMAIN_H

#include <jansson.h>

#include "core/store/store_domain.h"
#include "httpd/http/problem.h"

struct request;

/* GET /domains and GET /domains/{id}. */
void api_domain_list(struct request *request);
void api_domain_get(struct request *request);

/* POST /domains: the company asks for a domain. */
void api_domain_create(struct request *request);

/* PATCH /domains/{id}: checks what it asks for, and changes nothing. */
void api_domain_update(struct request *request);

/* POST /domains/{id}/verify: activates the domain, where companies may. */
void api_domain_verify(struct request *request);

/* DELETE /domains/{id}, with the keys that are restricted to it. */
void api_domain_remove(struct request *request);

/* Bodies and answers. */

/* Reads the body of POST /domains: the name, normalized; the caller frees it.
 * 0, or -1 with a problem that names the field. */
int domain_json_parse_new(
	const json_t *body, char **name_r, struct problem *problem);

/* The domain as GET /domains/{id} shows it, as an item of GET /domains, and in
 * an answer that only names it; new references. */
json_t *domain_json_render(const struct domain *domain);
json_t *domain_json_render_item(const struct domain *domain);

#endif
