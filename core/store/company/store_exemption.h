/*
 * store_exemption: who may send as an exclusive domain without a key of its company: a login, an
 * address of a client, or an address of the domain. An exemption is removed with its domain.
 */
#ifndef POSTERN_STORE_STORE_EXEMPTION_H
#define POSTERN_STORE_STORE_EXEMPTION_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

enum exemption_kind {
	EXEMPT_LOGIN,   /* a SASL login, compared exactly */
	EXEMPT_CLIENT,  /* an IP address or network (RFC 4632) of SMTP clients */
	EXEMPT_SENDER,  /* an address of the domain, for any client */
	EXEMPTION_KINDS /* also: a kind unknown to this program */
};

struct exemption {
	char id[ID_SIZE];
	char company_id[ID_SIZE]; /* the owner of the domain */
	char *domain;
	enum exemption_kind kind;
	char *value;
	bool local; /* only for mail submitted on this host */
	int64_t created_us;
};

extern const struct row_type store_exemption_type;

struct exemption_list {
	struct exemption *items;
	size_t n;
};

struct exemption_spec {
	const char *domain;
	enum exemption_kind kind;
	/* A sender as written by addr_spec(), or a client in any form that cidr reads; stored as
	 * cidr writes it. */
	const char *value;
	bool local; /* only with a sender */
};

/* Adds an exemption. ERR_NOT_FOUND if there is no such domain. ERR_EXISTS if the value is exempt
 * already, local or not. ERR_INVALID for a login that is empty, longer than 200 bytes or has
 * control characters; for a client that is not one network; for a sender of another domain (names
 * below the domain count as the domain). */
int store_exemption_add(struct db *db, const struct exemption_spec *spec, int64_t now_us,
	struct exemption *exemption_r, struct err *err);
/* Reads a page, newest first; of one domain, or all (NULL), and of domains of one company, or any
 * (NULL). Returns 1, 0 if the cursor is not in the list, -1 on error. */
int store_exemption_list(struct db *db, const char *company_id, const char *domain,
	const struct page *page, struct exemption_list *list_r, struct page_end *end_r,
	struct err *err);
/* Finds the id of the matching exemption; ERR_INVALID as above. Returns 1, 0 if there is none, -1
 * on error. */
int store_exemption_find(
	struct db *db, const struct exemption_spec *spec, char id[static ID_SIZE], struct err *err);
/* Returns 1, 0 if there is none, -1 on error. */
int store_exemption_remove(struct db *db, const char *id, struct err *err);

/* For store_company and store_domain: removes up to *left exemptions of the company or of the
 * domain, and subtracts their number from *left. Returns 0 or -1. */
int store_exemption_remove_some(
	struct db *db, const char *company_id, const char *domain_id, int *left, struct err *err);

/* Such as `login`. */
extern const struct row_words store_exemption_kinds;
const char *store_exemption_kind_name(enum exemption_kind kind);

void store_exemption_clear(struct exemption *exemption);
void store_exemption_list_free(struct exemption_list *list);

#endif
