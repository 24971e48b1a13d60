/*
 * store_company: the companies, which own domains, keys and emails.
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
	int64_t domains; /* set by the caller, see store_company_count() */
	int64_t keys;
};

extern const struct row_type store_company_type;
extern const struct row_type store_company_counted_type; /* with domains and keys */

struct company_list {
	struct company *items;
	size_t n;
};

/* Adds a company. ERR_INVALID for an empty name, and as in row_check_name(); ERR_EXISTS if the name
 * is taken. The caller frees company_r with store_company_clear(). */
int store_company_add(struct db *db, const char *name, int64_t now_us, struct company *company_r,
	struct err *err);
/* Returns 1, 0 if there is none, -1 on error. */
int store_company_get(struct db *db, const char *id, struct company *company_r, struct err *err);
/* Reads a page, by name; end_r may be NULL. Returns 1, 0 if the cursor is not in the list, -1 on
 * error. */
int store_company_list(struct db *db, const struct page *page, struct company_list *list_r,
	struct page_end *end_r, struct err *err);
/* Counts its domains and valid keys, up to COMPANY_COUNT_MAX. Returns 0 or -1. */
enum { COMPANY_COUNT_MAX = 1000 };
int store_company_count(
	struct db *db, const char *id, int64_t *domains_r, int64_t *keys_r, struct err *err);
/* Removes the company with its domains, keys and users. Its emails stay. Returns 1, 0 if there is
 * none, -1 on error; or STORE_MORE (store_audit.h). */
int store_company_remove(struct db *db, const char *id, struct err *err);

void store_company_clear(struct company *company);

#endif
