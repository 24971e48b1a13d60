/*
 * api_domain_private: what the files of api_domain share.
 */
#ifndef POSTERN_HTTPD_API_DOMAIN_PRIVATE_H
#define POSTERN_HTTPD_API_DOMAIN_PRIVATE_H

#include "core/store/store_domain.h"
#include "core/store/store_key.h"
#include "httpd/http/problem.h"

struct request;

/* The id in the path. 0, or -1 with the problem. */
int api_domain_id(const struct request *request, char id[static ID_SIZE],
	struct problem *problem);

/* The domain that the key may see: 1, 0 or -1. */
int api_domain_find(struct db *db, const struct key *key, const char *id,
	struct domain *domain_r, struct err *err);

/* The answer to a domain that is not there. -1. */
int api_domain_missing(struct problem *problem);

#endif
