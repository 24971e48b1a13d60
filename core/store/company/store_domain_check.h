/*
 * store_domain_check: the results of the last DNS check of a domain.
 */
#ifndef POSTERN_STORE_STORE_DOMAIN_CHECK_H
#define POSTERN_STORE_STORE_DOMAIN_CHECK_H

#include "core/base/id.h"
#include "core/db/db.h"

struct domain_check {
	char domain_id[ID_SIZE];
	int64_t checked_us;
	char *records; /* JSON: an array of objects */
};

/* Returns 1, 0 if it was never checked, -1 on error. */
int store_domain_check_get(
	struct db *db, const char *domain_id, struct domain_check *check_r, struct err *err);
/* Replaces the previous results. Returns 0 or -1. */
int store_domain_check_put(struct db *db, const struct domain_check *check, struct err *err);
void store_domain_check_clear(struct domain_check *check);

#endif
