/*
 * store_domain_check: what the last look into the DNS has found for a domain.
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

/* 1 found, 0 nobody has looked, -1. */
int store_domain_check_get(
	struct db *db, const char *domain_id, struct domain_check *check_r, struct err *err);
/* In the place of what was found before: 0 or -1. */
int store_domain_check_put(struct db *db, const struct domain_check *check, struct err *err);
void store_domain_check_clear(struct domain_check *check);

#endif
