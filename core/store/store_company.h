/*
 * store_company: those who own domains, keys and emails.
 */
#ifndef POSTERN_STORE_STORE_COMPANY_H
#define POSTERN_STORE_STORE_COMPANY_H

#include "core/base/id.h"
#include "core/db/db.h"

struct company {
	char id[ID_SIZE];
	char *name;
	int64_t created_us;
};

struct company_list {
	struct company *items;
	size_t n;
};

/* ERR_INVALID for an empty name, one of over 200 bytes, or one that is not
 * UTF-8 or has control characters, ERR_EXISTS for one that is taken. The caller
 * frees with store_company_clear(). */
int store_company_add(struct db *db, const char *name, int64_t now_us,
	struct company *company_r, struct err *err);
/* 1 found, 0 none, -1 cannot tell. */
int store_company_get(struct db *db, const char *id, struct company *company_r,
	struct err *err);
/* By name; this one alone, or all for NULL. Freed with
 * store_company_list_free(). */
int store_company_list(struct db *db, const char *company_id,
	struct company_list *list_r, struct err *err);
/* Removes the company with its domains and keys. Its emails stay on record.
 * 1 removed, 0 none, -1. */
int store_company_remove(struct db *db, const char *id, struct err *err);

void store_company_clear(struct company *company);
void store_company_list_free(struct company_list *list);

#endif
