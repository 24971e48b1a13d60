/*
 * store_exemption: who sends as an exclusive domain without a key of its
 * company, named by the login, by the client's address, or by the one address
 * of the domain that is used. An exemption goes with its domain.
 */
#ifndef POSTERN_STORE_STORE_EXEMPTION_H
#define POSTERN_STORE_STORE_EXEMPTION_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

enum exemption_kind {
	EXEMPT_LOGIN,   /* a SASL login, to the letter */
	EXEMPT_CLIENT,  /* an IP address or network (RFC 4632) of SMTP clients */
	EXEMPT_SENDER,  /* an address of the domain, for whoever uses it */
	EXEMPTION_KINDS /* also: one that this program does not know */
};

struct exemption {
	char id[ID_SIZE];
	char company_id[ID_SIZE]; /* of the domain */
	char *domain;             /* its name */
	enum exemption_kind kind;
	char *value;
	bool local; /* for mail that is submitted on this host alone */
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
	const char *value; /* a sender as addr_spec() writes it, a client in
			    * any way that cidr reads; stored as it writes it */
	bool local;        /* only with a sender */
};

/* ERR_NOT_FOUND when there is no such domain, ERR_EXISTS when it is exempt
 * already, local or not. ERR_INVALID for a login that is empty, longer than 200
 * bytes or has control characters; for a client that is not one network; for a
 * sender of another domain, where a name below it counts as of it. */
int store_exemption_add(struct db *db, const struct exemption_spec *spec, int64_t now_us,
	struct exemption *exemption_r, struct err *err);
/* A page of them, newest first; of one domain, or all for NULL, and of domains
 * of one company, or any for NULL. 1, 0 when the cursor is none of them, -1. */
int store_exemption_list(struct db *db, const char *company_id, const char *domain,
	const struct page *page, struct exemption_list *list_r, struct page_end *end_r,
	struct err *err);
/* The id of the one that is for this; ERR_INVALID as above. 1, 0 or -1. */
int store_exemption_find(
	struct db *db, const struct exemption_spec *spec, char id[static ID_SIZE], struct err *err);
/* 1 removed, 0 none, -1. */
int store_exemption_remove(struct db *db, const char *id, struct err *err);

/* For store_company and store_domain: removes exemptions for the domains of the
 * one, or for the other, *left of them at most, which it counts down. 0, -1. */
int store_exemption_remove_some(
	struct db *db, const char *company_id, const char *domain_id, int *left, struct err *err);

/* As `login`. */
extern const struct row_words store_exemption_kinds;
const char *store_exemption_kind_name(enum exemption_kind kind);

void store_exemption_clear(struct exemption *exemption);
void store_exemption_list_free(struct exemption_list *list);

#endif
