/*
 * domain_json: sending domains in the JSON dialect, in and out.
 */
#ifndef POSTERN_HTTPD_DOMAIN_JSON_H
#define POSTERN_HTTPD_DOMAIN_JSON_H

#include <jansson.h>

#include "core/store/store_domain.h"
#include "httpd/http/problem.h"

/* Reads the body of POST /domains: the name, normalized; the caller frees it.
 * 0, or -1 with a problem that names the field. */
int domain_json_parse_new(
	const json_t *body, char **name_r, struct problem *problem);

/* Checks the body of PATCH /domains/{id}: it may ask only for what is so
 * anyway. */
int domain_json_check_settings(const json_t *body, struct problem *problem);

/* The domain as GET /domains/{id} shows it, as an item of GET /domains, and in
 * an answer that only names it; new references. */
json_t *domain_json_render(const struct domain *domain);
json_t *domain_json_render_item(const struct domain *domain);
json_t *domain_json_render_id(const char *id);

#endif
