/*
 * sender_right: may a key send as a domain, by what the store says now?
 */
#ifndef POSTERN_HTTPD_SENDER_RIGHT_H
#define POSTERN_HTTPD_SENDER_RIGHT_H

#include "core/policy/send_rules.h"
#include "core/store/store_key.h"

/* Collects the facts for the sending rules and has them decide. The domain is in
 * the form that addr_domain_normalize() makes. 0, or -1 when the store cannot
 * tell. */
int sender_right_find(struct db *db, const struct key *key,
	const char *domain, enum send_decision *decision_r, struct err *err);

#endif
