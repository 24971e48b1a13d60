/*
 * store_suppression: whom a company sends nothing to.
 *
 * An entry is an address with a reason, for all that the company sends or for what it sends
 * as one domain. The milter looks it up when an email is about to go out, so it holds for
 * scheduled emails, too, and whatever changes here holds for the next message. It is the
 * company's own: an entry stays when the email that it came from is removed, or the domain.
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
	SUPPRESSION_MANUAL, /* somebody put it there by hand */
	SUPPRESSION_REASONS
};
extern const struct row_words store_suppression_reasons;
const char *store_suppression_reason_name(enum suppression_reason reason);
/* What the event of a suppressed recipient says, as its text; and the reason that such a
 * text stands for: SUPPRESSION_MANUAL for another one. */
const char *store_suppression_words(enum suppression_reason reason);
enum suppression_reason store_suppression_reason_of(const char *words);

struct suppression {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char *company_name; /* of lists */
	char *domain;       /* "": all that the company sends */
	char *address;      /* folded */
	enum suppression_reason reason;
	char *origin;           /* bounce, complaint, manual, as the JSON API calls it */
	char email_id[ID_SIZE]; /* "": none is known */
	char *code;             /* what the remote said, NULL; an SMTP code, or as given */
	char *text;
	char *tags; /* of an unsubscribe: a JSON array of tags; NULL: all */
	int64_t created_us;
};
extern const struct row_type store_suppression_type;
void store_suppression_clear(struct suppression *suppression);

/* Puts it in. What is not given of it is: id (a new one is made), company_name, origin.
 * An entry that is there for the same address, domain and reason stays, with its id; renew:
 * but takes over what is new. The entry as it stands then is *suppression_r, unless that is
 * NULL. 1 when it was added, 0 when it was there, -1. */
int store_suppression_put(struct db *db, const struct suppression *suppression, bool renew,
	struct suppression *suppression_r, struct err *err);

/* Of what the caller may see: all members may be left out. */
struct suppression_scope {
	const char *company_id; /* NULL: of all companies */
	const char *domain;     /* what holds for this domain: its own, and those for all */
};
/* 1, 0, -1. By address: of several the first of complaint, bounce, unsubscribe, manual; all
 * that is asked for must fit, NULL and SUPPRESSION_REASONS fit all. */
int store_suppression_get(struct db *db, const struct suppression_scope *scope, const char *id,
	struct suppression *suppression_r, struct err *err);
int store_suppression_find(struct db *db, const struct suppression_scope *scope,
	const char *address, enum suppression_reason reason, struct suppression *suppression_r,
	struct err *err);
/* All with the address, newest first, SUPPRESSION_ENTRIES_MAX at most. 0 or -1. */
enum { SUPPRESSION_ENTRIES_MAX = 1000 };
struct suppression_list;
int store_suppression_entries(struct db *db, const struct suppression_scope *scope,
	const char *address, struct suppression_list *list_r, struct err *err);
/* Which companies have max entries or more: how many they are, and the name of one, a new string,
 * NULL for none. company_id: whether this one has; NULL: any. 0 or -1. */
int store_suppression_full(struct db *db, const char *company_id, int64_t max, int64_t *n_r,
	char **name_r, struct err *err);
/* How many entries have the address, of any company: that number, -1. */
int store_suppression_count(struct db *db, const char *address, struct err *err);

struct suppression_list {
	struct suppression *items;
	size_t n;
};
void store_suppression_list_free(struct suppression_list *list);

/* A page, newest first. origin: NULL for all. 1, 0 when the page refers to none of them, -1. */
int store_suppression_page(struct db *db, const struct suppression_scope *scope, const char *origin,
	const struct page *page, struct suppression_list *list_r, struct page_end *end_r,
	struct err *err);

/* Those of a reason that hold for a domain, in the order of addresses, each address once. */
struct suppression_walk {
	const char *company_id;
	const char *domain;
	enum suppression_reason reason;
	const char *address; /* behind, or in front of this one; NULL: from the end on */
	bool back;           /* towards the first; the rows still ascend */
	const char *prefix;  /* of addresses; NULL: all */
	int limit;
};
int store_suppression_walk(struct db *db, const struct suppression_walk *walk,
	struct suppression_list *list_r, struct err *err);

/* Removes entries with the address that the scope holds, of a reason or of all
 * (SUPPRESSION_REASONS); but_manual: but for what was put in by hand for all domains. How many, -1.
 * And one by its id. */
int store_suppression_remove(struct db *db, const struct suppression_scope *scope,
	const char *address, enum suppression_reason reason, bool but_manual, struct err *err);
int store_suppression_remove_id(struct db *db, const char *id, struct err *err);
/* Removes entries of a company, max at most; domain and reason as in a walk, domain NULL for
 * all of the company, of any reason, and then what it has allowed. How many, -1. */
int store_suppression_clear_some(struct db *db, const char *company_id, const char *domain,
	enum suppression_reason reason, int max, struct err *err);

/* Addresses and domains for which no bounce is put in. */
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
/* Adds it, or renews its reason and time. 0, -1. */
int store_suppression_allow(struct db *db, const char *company_id, const char *domain,
	const struct suppression_allowed *allowed, struct err *err);
/* Walks them in the order of values. */
int store_suppression_allowed_walk(struct db *db, const struct suppression_walk *walk,
	struct suppression_allowed_list *list_r, struct err *err);
int store_suppression_allowed_get(struct db *db, const char *company_id, const char *domain,
	const char *value, struct suppression_allowed *allowed_r, struct err *err);
/* One, or for NULL of all max at most: how many, -1. */
int store_suppression_disallow(struct db *db, const char *company_id, const char *domain,
	const char *value, int max, struct err *err);

/* For what mail itself tells. */

/* Whether a remote that answered so will never take mail for the recipient. The enhanced
 * status codes of RFC 3463 5.1.x but 5.1.7 and 5.1.8, which are about the sender, as is
 * what was said to MAIL; and 5.2.1; and those of more, a list of codes and of beginnings of
 * codes (`5.4.4 5.0`). Never 5.7.x and 5.2.2, which are about a policy or a full mailbox.
 * Pure. */
bool suppression_is_hard(const char *dsn, const char *text, const char *more);
/* What a recipient of an email brought: a hard bounce or a complaint, for all that the company
 * sends, or an unsubscribe, for what it sends as the domain. No bounce of what is allowed; and
 * nothing but an unsubscribe when the company has max entries already. 1 added, 0,
 * SUPPRESSION_FULL when there was no room for it, -1. */
enum { SUPPRESSION_FULL = 2 };
struct suppression_note {
	const char *company_id;
	const char *domain; /* as which it was sent */
	const char *address;
	enum suppression_reason reason;
	int64_t email; /* seq */
	const char *text;
	int64_t now_us;
	int64_t max;
};
int store_suppression_note(struct db *db, const struct suppression_note *note, struct err *err);

/* Recipients of an email that is about to go out. */
struct suppressed {
	int64_t n; /* of the recipient */
	char *address;
	enum suppression_reason reason;
};
struct suppressed_list {
	struct suppressed *items;
	size_t n;
};
void store_suppressed_free(struct suppressed_list *list);
/* Those of the email with this seq that are suppressed now, by what its company has. 0 or -1. */
int store_suppressed_read(struct db *db, int64_t email, const char *company_id, const char *domain,
	struct suppressed_list *list_r, struct err *err);
/* In the transaction that has recorded the email of the ticket as sent: what becomes of
 * these, with an event for each. 0 or -1. */
int store_suppressed_record(struct db *db, const char *ticket, const struct suppressed_list *list,
	int64_t now_us, struct err *err);

#endif
