/*
 * store_limit: how many of a kind a company may have (the settings [limits]).
 *
 * Companies add keys, domains and users by themselves over HTTP; what they add
 * is counted in the transaction that adds it, which fails when it is too many.
 * The command `postern` is not bound: who may run it may change the settings.
 */
#ifndef POSTERN_STORE_STORE_LIMIT_H
#define POSTERN_STORE_STORE_LIMIT_H

#include <stdint.h>

#include "core/db/db.h"

enum store_limit {
	LIMIT_KEYS,            /* of a company, valid */
	LIMIT_DOMAINS,         /* of a company, registered */
	LIMIT_PENDING_DOMAINS, /* of a company */
	LIMIT_EXEMPTIONS,      /* for the domains of a company */
	LIMIT_USERS,           /* of a company */
	LIMIT_TOKENS,          /* of a user */
	LIMIT_WEBHOOKS,        /* of a company */
	LIMIT_SUPPRESSIONS,    /* of a company, with what is allowed */
	LIMITS
};

/* After one was added for the owner, the id of a company or a user: 0, or -1
 * with ERR_INVALID when there are now more than max, in words for whoever adds
 * them. */
int store_limit_check(
	struct db *db, enum store_limit limit, const char *owner, int64_t max, struct err *err);

#endif
