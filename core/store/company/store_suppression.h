/*
 * store_suppression: the addresses to which a company sends nothing.
 *
 * An entry is an address with a reason. It applies to all emails of the company, or to those from
 * one domain. The milter looks it up when an email goes out, so it also applies to scheduled
 * emails, and a change takes effect with the next message. Entries stay when the email that caused
 * them, or their domain, is removed.
 *
 * Addresses are compared folded, see addr_folded().
 */
#ifndef POSTERN_STORE_STORE_SUPPRESSION_H
#define POSTERN_STORE_STORE_SUPPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

enum suppression_reason {
	SUPPRESSION_BOUNCE,
	SUPPRESSION_COMPLAINT,
	SUPPRESSION_UNSUBSCRIBE,
	SUPPRESSION_MANUAL, /* added by hand */
	SUPPRESSION_REASONS
};
extern const struct row_words store_suppression_reasons;
const char *store_suppression_reason_name(enum suppression_reason reason);
/* Return the text of the event of a suppressed recipient, and the reason for such a text;
 * SUPPRESSION_MANUAL for an unknown one. */
const char *store_suppression_reason_text(enum suppression_reason reason);
enum suppression_reason store_suppression_reason_of(const char *text);

struct suppression {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char *company_name; /* in lists */
	char *domain;       /* "": all domains of the company */
	char *address;      /* folded */
	enum suppression_reason reason;
	char *origin;           /* bounce, complaint, manual, as the JSON API calls it */
	char email_id[ID_SIZE]; /* that caused it; "": not known */
	char *code;             /* the remote's SMTP code, or as given; NULL */
	char *text;
	char *tags; /* of an unsubscribe: a JSON array of tags; NULL: all */
	int64_t created_us;
};
extern const struct row_type store_suppression_type;
void store_suppression_clear(struct suppression *suppression);

/* Adds an entry; id, company_name and origin are ignored, and it gets a new id. An existing entry
 * with the same address, domain and reason keeps its id; with renew its other members are updated.
 * *suppression_r is the resulting entry; it may be NULL. 1 when added, 0 when it existed, -1. */
int store_suppression_put(struct db *db, const struct suppression *suppression, bool renew,
	struct suppression *suppression_r, struct err *err);

/* What the caller may see; NULL stands for no restriction. */
struct suppression_scope {
	const char *company_id;
	const char *domain; /* entries that apply to it: its own, and those for all domains */
};
/* Find an entry by id, or by address: of several entries the first of complaint, bounce,
 * unsubscribe, manual. reason: SUPPRESSION_REASONS for any. Return 1, 0 if there is none, -1 on
 * error. */
int store_suppression_get(struct db *db, const struct suppression_scope *scope, const char *id,
	struct suppression *suppression_r, struct err *err);
int store_suppression_find(struct db *db, const struct suppression_scope *scope,
	const char *address, enum suppression_reason reason, struct suppression *suppression_r,
	struct err *err);
/* Lists all entries of the address, newest first, up to SUPPRESSION_ENTRIES_MAX. Returns 0 or
 * -1. */
enum { SUPPRESSION_ENTRIES_MAX = 1000 };
struct suppression_list;
int store_suppression_entries(struct db *db, const struct suppression_scope *scope,
	const char *address, struct suppression_list *list_r, struct err *err);
/* Counts the companies with max entries or more, and gets the name of one of them, which the caller
 * frees; NULL: there is none. company_id: only this one; NULL: all. Returns 0 or -1. */
int store_suppression_full(struct db *db, const char *company_id, int64_t max, int64_t *n_r,
	char **name_r, struct err *err);
/* Returns the number of entries with the address, of all companies, or -1. */
int store_suppression_count(struct db *db, const char *address, struct err *err);

struct suppression_list {
	struct suppression *items;
	size_t n;
};
void store_suppression_list_free(struct suppression_list *list);

/* Reads a page, newest first. origin: NULL for all. Returns 1, 0 if the cursor is not in the list,
 * -1 on error. */
int store_suppression_page(struct db *db, const struct suppression_scope *scope, const char *origin,
	const struct page *page, struct suppression_list *list_r, struct page_end *end_r,
	struct err *err);

/* Entries of a reason that apply to a domain, in the order of addresses, each address once. */
struct suppression_walk {
	const char *company_id;
	const char *domain;
	enum suppression_reason reason;
	const char *address; /* after this one, or before it; NULL: from the first, or the last */
	bool back;           /* before it; the rows ascend all the same */
	const char *prefix;  /* of addresses; NULL: all */
	int limit;
};
int store_suppression_walk(struct db *db, const struct suppression_walk *walk,
	struct suppression_list *list_r, struct err *err);

/* Removes the entries of an address in the scope, with the reason, or with any
 * (SUPPRESSION_REASONS). but_manual: except those that were added by hand for all domains. Returns
 * how many, or -1. And one by its id. */
int store_suppression_remove(struct db *db, const struct suppression_scope *scope,
	const char *address, enum suppression_reason reason, bool but_manual, struct err *err);
int store_suppression_remove_id(struct db *db, const char *id, struct err *err);
/* Removes up to max entries of a company; domain and reason as in a walk. domain NULL: all of any
 * reason, and after them what the company allowed. Returns how many, or -1. */
int store_suppression_clear_some(struct db *db, const char *company_id, const char *domain,
	enum suppression_reason reason, int max, struct err *err);

/* Addresses and domains that no bounce suppresses. */
struct suppression_allowed {
	char *value; /* an address, folded, or a domain */
	char *reason;
	int64_t created_us;
};
extern const struct row_type store_suppression_allowed_type;
struct suppression_allowed_list {
	struct suppression_allowed *items;
	size_t n;
};
void store_suppression_allowed_list_free(struct suppression_allowed_list *list);
/* Adds it, or updates its reason and time. 0 or -1. */
int store_suppression_allow(struct db *db, const char *company_id, const char *domain,
	const struct suppression_allowed *allowed, struct err *err);
/* Walks them in the order of values. */
int store_suppression_allowed_walk(struct db *db, const struct suppression_walk *walk,
	struct suppression_allowed_list *list_r, struct err *err);
int store_suppression_allowed_get(struct db *db, const char *company_id, const char *domain,
	const char *value, struct suppression_allowed *allowed_r, struct err *err);
/* Removes one, or for NULL up to max of them. Returns how many, or -1. */
int store_suppression_disallow(struct db *db, const char *company_id, const char *domain,
	const char *value, int max, struct err *err);

/* Entries from bounces, complaints and unsubscribes. */

/* True if the answer means that the mailbox will never accept mail, by its enhanced status code
 * (RFC 3463): 5.1.x except 5.1.7 and 5.1.8, which are about the sender, like any answer to MAIL;
 * 5.2.1; and the codes or prefixes in `more` (`5.4.4 5.0`). Never 5.7.x and 5.2.2, which are about
 * a policy and a full mailbox. Pure. */
bool suppression_is_hard(const char *dsn, const char *text, const char *more);
/* Adds an entry for the recipient of an email: for a hard bounce or a complaint one for all
 * domains, for an unsubscribe one for the domain. A bounce of an allowed address adds none. When
 * the company has max entries already, only an unsubscribe is added. 1 added, 0 not,
 * SUPPRESSION_FULL when there was no room, -1. */
enum { SUPPRESSION_FULL = 2 };
struct suppression_note {
	const char *company_id;
	const char *domain; /* that it was sent from */
	const char *address;
	enum suppression_reason reason;
	int64_t email; /* seq */
	const char *text;
	int64_t now_us;
	int64_t max;
};
int store_suppression_note(struct db *db, const struct suppression_note *note, struct err *err);

/* Returns 1 with the reason if the address is suppressed for the email with this seq, which is of
 * the company and the domain; 0 if not; -1 on error. */
int store_suppression_applies(struct db *db, int64_t email, const char *company_id,
	const char *domain, const char *address, enum suppression_reason *reason_r,
	struct err *err);

#endif
