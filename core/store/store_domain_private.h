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

/* Reads a row of DOMAIN_COLUMNS. */
void store_domain_read_row(struct db_stmt *stmt, struct domain *domain);

#endif
