/*
 * sender: decides whether a key may send as a domain, from the store.
 */
#ifndef POSTERN_HTTPD_ADMISSION_SENDER_H
#define POSTERN_HTTPD_ADMISSION_SENDER_H

#include "core/store/store_key.h"
#include "httpd/http/problem.h"

struct worker;

/* Where the request names the domain. The words of the problem depend on it. */
enum sender_field {
	SENDER_OF_PATH,  /* the path of a route of the form dialect */
	SENDER_OF_EMAIL, /* From, in either dialect */
	SENDER_FIELDS,
};

/* The domain is normalized by addr_domain_normalize(). Returns 0, or -1 with
 * the problem: the key may not send as it, or the store failed. request_id is
 * for the log; NULL if there is none yet. On the worker's thread. */
int sender_check(struct worker *worker, const struct key *key, const char *domain,
	enum sender_field field, const char *request_id, struct problem *problem);

#endif
