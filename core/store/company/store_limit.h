/*
 * store_limit: how many objects of a kind a company may have (the settings [limits]).
 *
 * Companies add keys, domains and users themselves over HTTP. The transaction that adds an object
 * counts them afterwards, and fails if there are too many. The command `postern` has no limits: its
 * user can change the settings anyway.
 */
#ifndef POSTERN_STORE_STORE_LIMIT_H
#define POSTERN_STORE_STORE_LIMIT_H

#include <stdint.h>

#include "core/db/db.h"

enum store_limit {
	LIMIT_KEYS,            /* valid keys of a company */
	LIMIT_DOMAINS,         /* registered domains of a company */
	LIMIT_PENDING_DOMAINS, /* of a company */
	LIMIT_EXEMPTIONS,      /* exemptions of all domains of a company */
	LIMIT_USERS,           /* of a company */
	LIMIT_TOKENS,          /* of a user */
	LIMIT_WEBHOOKS,        /* of a company */
	LIMIT_SUPPRESSIONS,    /* suppressions of a company, with its allowed addresses */
	LIMITS
};

/* Call after adding one for the owner, the id of a company or a user. Returns 0, or -1 with
 * ERR_INVALID and a text for the client if there are now more than max. */
int store_limit_check(
	struct db *db, enum store_limit limit, const char *owner, int64_t max, struct err *err);

#endif
