/*
 * store_domain: sending domains. A name is registered to at most one company.
 *
 *   (none) ──add──> pending ──register──> active <──change──> inactive
 *      └───────────────────add──────────────┴───────────────────┘
 *
 * A company may request any name. A pending domain reserves nothing: several companies may request
 * the same name, and each sees only its own request. Active and inactive domains are registered:
 * nobody else sends as them.
 */
#ifndef POSTERN_STORE_STORE_DOMAIN_H
#define POSTERN_STORE_STORE_DOMAIN_H

#include "core/base/id.h"
#include "core/base/strv.h"
#include "core/db/db.h"
#include "core/store/row.h"

/* Who may send as the domain besides the company's keys, from strict to lax. */
enum domain_policy {
	POLICY_EXCLUSIVE, /* exempt senders */
	POLICY_LEARN,     /* everybody; what `exclusive` would stop is recorded */
	POLICY_SHARED,    /* everybody */
	POLICIES
};

struct domain {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char *name; /* A-labels (RFC 5890), lower case, no dot at the end */
	bool active;
	enum domain_policy policy;
	bool covers_subdomains; /* its rules also apply to names below it */
	bool pending;           /* requested, not registered; never active */
	char *return_path; /* the domain that bounces return to; NULL: bounces go to the senders */
	bool unsubscribe;  /* its emails name a way to unsubscribe */
	int64_t created_us;
};

extern const struct row_type store_domain_type;

struct domain_list {
	struct domain *items;
	size_t n;
};

/* The words of columns, for other files of the store. */
extern const struct row_words store_domain_policies, store_domain_subdomains,
	store_domain_unsubscribe;

/* Adds an active or pending domain, with the rules in `wanted`. The name is normalized as by
 * addr_domain_normalize(). ERR_EXISTS if it is registered; for a pending domain only if the company
 * itself has the name, so that it learns nothing about other companies. ERR_NOT_FOUND if there is
 * no such company. */
int store_domain_add(struct db *db, const char *company_id, const char *name,
	const struct domain *wanted, int64_t now_us, struct domain *domain_r, struct err *err);

/* Look-ups: 1 found, 0 none, -1 on error. */

/* The registered domain with this name, of any company. */
int store_domain_find(struct db *db, const char *name, struct domain *domain_r, struct err *err);
/* Finds a domain by name if this company owns it (NULL: any). */
int store_domain_find_of(struct db *db, const char *company_id, const char *name,
	struct domain *domain_r, struct err *err);
/* A domain of the company (NULL: of any), by name or by id, including pending ones. */
int store_domain_find_own(struct db *db, const char *company_id, const char *name,
	struct domain *domain_r, struct err *err);
/* What an admin means by a name: a domain of the company, including pending ones; without a company
 * (NULL) the registered one. */
int store_domain_find_named(struct db *db, const char *company_id, const char *name,
	struct domain *domain_r, struct err *err);
int store_domain_get(struct db *db, const char *company_id, const char *id, struct domain *domain_r,
	struct err *err);

/* Reads a page by name; of one company, or of all (NULL); active ones alone, or all, including
 * pending ones. Returns 1, 0 if the cursor is not in the list, -1 on error. */
int store_domain_list(struct db *db, const char *company_id, bool active_only,
	const struct page *page, struct domain_list *list_r, struct page_end *end_r,
	struct err *err);
/* Adds the names of all registered domains to the list, and of those that cover their subdomains to
 * covering, too. Returns 0 or -1. */
int store_domain_names(struct db *db, struct strv *names, struct strv *covering, struct err *err);
/* Lists domains that need an admin's attention, up to limit. Returns 0 or -1. */
enum domain_mark { DOMAIN_PENDING, DOMAIN_LEARNING };
int store_domain_list_marked(struct db *db, const char *company_id, enum domain_mark mark,
	int limit, struct domain_list *list_r, struct err *err);
/* The domains that a key may see. */
struct domain_scope {
	const char *company_id;
	const char *domain; /* NULL: all of the company */
};
/* Reads a page, newest first. *more_r is true if there are more after it, or, for a page `before`,
 * in front of it. Returns 1, 0 if the cursor is not in the list, -1 on error. */
int store_domain_page(struct db *db, const struct domain_scope *scope, const struct page *page,
	struct domain_list *list_r, bool *more_r, struct err *err);
/* Sets active, policy, covers_subdomains, return_path and unsubscribe of the domain with this id,
 * as one change. It registers a pending domain: ERR_EXISTS if the name is registered to another
 * company. Returns 1, 0 if there is no such domain, -1 on error. */
int store_domain_change(struct db *db, const struct domain *domain, struct err *err);
/* Returns 1 if the nearest registered domain above this one that covers its subdomains belongs to
 * another company, 0 if not, -1 on error. */
int store_domain_is_covered(struct db *db, const struct domain *domain, struct err *err);
/* Removes the domain, with its exemptions and the keys restricted to it. Returns 1, 0 if there is
 * none, -1 on error; or STORE_MORE (store_audit.h). */
int store_domain_remove(struct db *db, const char *id, struct err *err);
/* For store_company: removes up to *left domains of the company and their exemptions, and subtracts
 * their number from *left. Returns 0 or -1. */
int store_domain_remove_some(struct db *db, const char *company_id, int *left, struct err *err);
/* Counts the domains of the company, by reading all of their rows. Returns 0 or -1. */
int store_domain_count(struct db *db, const char *company_id, int64_t *count_r, struct err *err);

/* Such as `exclusive`. Parsing returns false for an unknown word. */
const char *store_domain_policy_name(enum domain_policy policy);
bool store_domain_policy_parse(const char *word, enum domain_policy *policy_r);

/* The words for covers_subdomains: `own` (false), or `covered` (true). */
bool store_domain_subdomains_parse(const char *word, bool *covered_r);
bool store_domain_unsubscribe_parse(const char *word, bool *unsubscribe_r);

void store_domain_clear(struct domain *domain);
void store_domain_list_free(struct domain_list *list);

/* The results of the last DNS check of a domain. They are not audited, because nobody changes
 * anything by them. */
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
