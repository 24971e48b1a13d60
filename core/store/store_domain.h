/*
 * store_domain: sending domains. A name is registered to one company at most.
 *
 *   (none) ──add──> pending ──register──> active <──change──> inactive
 *      └───────────────────add──────────────┴───────────────────┘
 *
 * A company may ask for any name; a pending domain reserves nothing, several
 * companies may have one of the same name, and only its own company ever sees
 * it. The others are registered: nobody else sends as that domain.
 */
#ifndef POSTERN_STORE_STORE_DOMAIN_H
#define POSTERN_STORE_STORE_DOMAIN_H

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

/* Who may send as the domain besides the company's keys, from strict to lax. */
enum domain_policy {
	POLICY_EXCLUSIVE, /* those who are exempt */
	POLICY_LEARN,     /* everybody; what exclusive would stop is recorded */
	POLICY_SHARED,    /* everybody */
	POLICIES
};

struct domain {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char *name; /* A-labels (RFC 5890), lower case, no dot at the end */
	bool active;
	enum domain_policy policy;
	bool covers_subdomains; /* what holds for it, holds for names below it */
	bool pending;           /* asked for, not registered; then it is not active */
	char *return_path;      /* the domain that bounces come back to; NULL: to the senders */
	bool unsubscribe;       /* its emails name a way to unsubscribe */
	int64_t created_us;
};

extern const struct row_type store_domain_type;

struct domain_list {
	struct domain *items;
	size_t n;
};

/* The words of the columns policy and subdomains, for other files of the store. */
extern const struct row_words store_domain_policies, store_domain_subdomains,
	store_domain_unsubscribe;

/* Adds one that is active, or pending, and has the rules as wanted. The name is given in the form
 * that addr_domain_normalize() makes. ERR_EXISTS when it is registered; of a pending one only when
 * the company itself has the name: whether another company does is not told. ERR_NOT_FOUND when
 * there is no such company. */
int store_domain_add(struct db *db, const char *company_id, const char *name,
	const struct domain *wanted, int64_t now_us, struct domain *domain_r, struct err *err);

/* Look-ups: 1 found, 0 none, -1 cannot tell. */

/* The registered domain of the name, whoever owns it. */
int store_domain_find(struct db *db, const char *name, struct domain *domain_r, struct err *err);
/* The same, if it is of this company (NULL: of any). */
int store_domain_find_of(struct db *db, const char *company_id, const char *name,
	struct domain *domain_r, struct err *err);
/* The company's own, by name or by id (for NULL anybody's); pending ones too. */
int store_domain_find_own(struct db *db, const char *company_id, const char *name,
	struct domain *domain_r, struct err *err);
/* What an admin means by a name: with a company its own, pending ones too; else (NULL) the
 * registered one. */
int store_domain_find_named(struct db *db, const char *company_id, const char *name,
	struct domain *domain_r, struct err *err);
int store_domain_get(struct db *db, const char *company_id, const char *id, struct domain *domain_r,
	struct err *err);

/* A page by name, pending ones too; of one company, or of all for NULL. 1, 0
 * when the cursor is none of them, -1. */
int store_domain_list(struct db *db, const char *company_id, const struct page *page,
	struct domain_list *list_r, struct page_end *end_r, struct err *err);
/* Those that an admin has to look at, limit at most: 0 or -1. */
enum domain_mark { DOMAIN_PENDING, DOMAIN_LEARNING };
int store_domain_list_marked(struct db *db, const char *company_id, enum domain_mark mark,
	int limit, struct domain_list *list_r, struct err *err);
/* What of the domains a key may see. */
struct domain_scope {
	const char *company_id;
	const char *domain; /* its name; NULL: all of the company */
};
/* A page of them, newest first; *more_r: whether there are more behind it, or
 * in front of it for a page `before`. 1, 0 when the cursor is none of them, -1. */
int store_domain_page(struct db *db, const struct domain_scope *scope, const struct page *page,
	struct domain_list *list_r, bool *more_r, struct err *err);
/* Makes active, policy, covers_subdomains, return_path and unsubscribe of the domain with the id
 * what they are here, as one change; a pending one is registered by it: ERR_EXISTS when the name is
 * registered to another company. 1 done, 0 none, -1. */
int store_domain_change(struct db *db, const struct domain *domain, struct err *err);
/* Whether the nearest registered domain above this one that covers its
 * subdomains is another company's. 1, 0 or -1. */
int store_domain_is_covered(struct db *db, const struct domain *domain, struct err *err);
/* Removes the domain, with its exemptions and the keys that are restricted to
 * it. 1, 0, -1; or STORE_MORE (store_audit.h). */
int store_domain_remove(struct db *db, const char *id, struct err *err);
/* For store_company: removes domains of the company, and their exemptions,
 * *left of them at most, which it counts down. 0, -1. */
int store_domain_remove_some(struct db *db, const char *company_id, int *left, struct err *err);
/* How many the company has; walks along all of them. 0 or -1. */
int store_domain_count(struct db *db, const char *company_id, int64_t *count_r, struct err *err);

/* As `exclusive`. Parsing gives false for any other word. */
const char *store_domain_policy_name(enum domain_policy policy);
bool store_domain_policy_parse(const char *word, enum domain_policy *policy_r);

/* The words for covers_subdomains: `own`, each name is for itself, or
 * `covered`. */
bool store_domain_subdomains_parse(const char *word, bool *covered_r);
bool store_domain_unsubscribe_parse(const char *word, bool *unsubscribe_r);

void store_domain_clear(struct domain *domain);
void store_domain_list_free(struct domain_list *list);

#endif
