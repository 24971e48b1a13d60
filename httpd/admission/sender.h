/*
 * sender: may a key send as a domain, by what the store says now?
 */
#ifndef POSTERN_HTTPD_ADMISSION_SENDER_H
#define POSTERN_HTTPD_ADMISSION_SENDER_H

#include "core/store/store_key.h"
#include "httpd/http/problem.h"

struct worker;

/* Where the request names the domain: its interface words the problem. */
enum sender_field {
	SENDER_OF_PATH,  /* of the form dialect */
	SENDER_OF_EMAIL, /* the From of either dialect */
	SENDER_FIELDS,
};

/* The domain is in the form that addr_domain_normalize() makes. 0, or -1 with
 * the problem: the key may not, or the store cannot tell. request_id is for the
 * log; NULL: none yet. On the worker's thread. */
int sender_check(struct worker *worker, const struct key *key, const char *domain,
	enum sender_field field, const char *request_id, struct problem *problem);

#endif
