/*
 * sender: decides whether a key may send as a domain.
 */
#ifndef POSTERN_HTTPD_ADMISSION_SENDER_H
#define POSTERN_HTTPD_ADMISSION_SENDER_H

#include "core/policy/send_rules.h"
#include "core/store/company/store_key.h"
#include "httpd/http/problem.h"

/* Where the request names the domain. The words of the problem depend on it. */
enum sender_field {
	SENDER_OF_PATH,  /* the path of a route of the form dialect */
	SENDER_OF_EMAIL, /* From, in either dialect */
	SENDER_FIELDS,
};

/* Reads what the domain is to a company. It is normalized by addr_domain_normalize(). Returns 0, or
 * -1 with err: the store failed. Any thread. */
int sender_look_up(struct db *db, const char *company_id, const char *domain,
	enum domain_status *status_r, struct err *err);

/* Returns 0, or -1 with the problem: the key may not send as the domain. */
int sender_check(const struct key *key, const char *domain, enum domain_status status,
	enum sender_field field, struct problem *problem);

#endif
