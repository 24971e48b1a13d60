/*
 * api_domain: the routes /domains of the JSON dialect. A company sees and
 * changes its own domains only, a key that is restricted to a domain only that
 * one; anything else is not there.
 */
#ifndef POSTERN_HTTPD_API_DOMAIN_H
#define POSTERN_HTTPD_API_DOMAIN_H

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

#endif
