/*
 * store_domain_private: what the files of store_domain share.
 */
#ifndef POSTERN_STORE_STORE_DOMAIN_PRIVATE_H
#define POSTERN_STORE_STORE_DOMAIN_PRIVATE_H

#include "core/store/store_domain.h"

/* The columns of a row. */
#define DOMAIN_COLUMNS                                                         \
	"id, company_id, name, active, pending, created_us, policy,"           \
	" subdomains"

struct domain_rules {
	enum domain_policy policy;
	bool covers_subdomains;
};

/* Each gives 0; or -1, with the statement at its end, for a word that the table
 * rules out. */

/* Reads policy and subdomains, two columns next to each other. */
int store_domain_read_rules(struct db_stmt *stmt, int column,
	struct domain_rules *rules_r, struct err *err);
/* Reads a row of DOMAIN_COLUMNS. */
int store_domain_read_row(
	struct db_stmt *stmt, struct domain *domain, struct err *err);

#endif
