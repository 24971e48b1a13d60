/*
 * store_company: those who own domains, keys and emails.
 */
#ifndef POSTERN_STORE_STORE_COMPANY_H
#define POSTERN_STORE_STORE_COMPANY_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

struct company {
	char id[ID_SIZE];
	char *name;
	int64_t created_us;
	int64_t domains; /* filled by who has counted them */
	int64_t keys;
};

extern const struct row_type store_company_type;
extern const struct row_type store_company_counted_type; /* with domains and keys */

struct company_list {
	struct company *items;
	size_t n;
};

/* ERR_INVALID for an empty name, one of over 200 bytes, or one that is not
 * UTF-8 or has control characters, ERR_EXISTS for one that is taken. The caller
 * frees with store_company_clear(). */
int store_company_add(struct db *db, const char *name, int64_t now_us, struct company *company_r,
	struct err *err);
/* 1 found, 0 none, -1 cannot tell. */
int store_company_get(struct db *db, const char *id, struct company *company_r, struct err *err);
/* A page of all, by name; end_r may be NULL. 1, 0 when the cursor is none of
 * them, -1. */
int store_company_list(struct db *db, const struct page *page, struct company_list *list_r,
	struct page_end *end_r, struct err *err);
/* How many domains and valid keys it has, COMPANY_COUNT_MAX at most: who has
 * that many has as many or more. 0 or -1. */
enum { COMPANY_COUNT_MAX = 1000 };
int store_company_count(
	struct db *db, const char *id, int64_t *domains_r, int64_t *keys_r, struct err *err);
/* Removes the company with its domains, keys and users. Its emails stay on
 * record. 1 removed, 0 none, -1; or STORE_MORE (store_audit.h). */
int store_company_remove(struct db *db, const char *id, struct err *err);

void store_company_clear(struct company *company);

#endif
