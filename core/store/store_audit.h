/*
 * store_audit: the audit log: who changed what, when and from where, with the values before and
 * after.
 *
 * The functions of the store that change a company, domain, key, exemption or user do it with
 * audit_change(), so the entry is written in the same transaction, whatever program calls them. The
 * handle knows the actor (db_set_actor()). Mail traffic is not audited: the emails, events and
 * refusals record it.
 */
#ifndef POSTERN_STORE_STORE_AUDIT_H
#define POSTERN_STORE_STORE_AUDIT_H

#include <limits.h>

#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"

struct audit {
	char id[ID_SIZE];
	int64_t at_us;
	char *actor; /* as in struct db_actor; "system": no actor was set */
	char *actor_id;
	char *actor_name;
	char *origin;     /* an address, a terminal; may be "" */
	char *company_id; /* owner of the object; NULL: none */
	char *action;     /* such as `domain.activate` */
	char *object_id;
	char *object_name;
	char *before; /* the row's columns as a JSON object; NULL: there was no row */
	char *after;  /* the same; NULL: the row was removed */
};

extern const struct row_type store_audit_type;

struct audit_list {
	struct audit *items;
	size_t n;
};

struct audit_scope {
	const char *company_id; /* NULL: everything */
	const char *object;     /* its id or name; NULL: any */
	const char *actor;      /* likewise */
	/* Such as `domain.activate`, or `domain` for all of its actions; NULL: any. */
	const char *action;
	int64_t since_us; /* 0: from the beginning */
	/* For members: entries of operators have "operator" as actor, and "" for who and from
	 * where. */
	bool of_member;
};
/* Reads a page, newest first. With a filter it looks at up to 20,000 entries; end_r->next is then
 * the last of these. Returns 1, 0 if the cursor is not in the list, -1 on error. */
int store_audit_page(struct db *db, const struct audit_scope *scope, const struct page *page,
	struct audit_list *list_r, struct page_end *end_r, struct err *err);

/* Records an action that changes no object. Returns 0 or -1. */
struct audit_action {
	const char *company_id; /* NULL: of no company */
	const char *action;
	const char *object_id;
	const char *object_name;
	json_t *after; /* details, NULL: none; the reference is taken, also after a failure */
};
int store_audit_add(struct db *db, const struct audit_action *action, struct err *err);

/* Removes entries from before old_us, among the max oldest ones. Returns how many it removed: max
 * if there may be more; or -1. */
int store_audit_clean(struct db *db, int64_t old_us, int max, struct err *err);

/* For the files of the store. */

/* A change of one object. Its type has the columns id and company_id; the latter is missing for a
 * company and an operator. */
struct audit_change {
	const char *action;
	const struct row_type *type;
	const char *name; /* the column with its display name */
	/* The statement that changes it, run by row_write() with the item to add, else by
	 * db_change(). */
	const char *sql;
	const struct db_param *params;
	const void *item; /* the item to add; NULL: an existing one is changed */
	/* Reads the object, before and after the change. */
	const char *sql_get;
	const struct db_param *key;
};
/* Makes the change and records it in one transaction. Returns the number of rows changed, 0 also if
 * the object does not exist, or -1. Nothing is recorded if no column changes. */
int audit_change(struct db *db, const struct audit_change *change, struct err *err);

/* Removes the objects that change->sql_get finds, up to *left of them (its `$limit`), subtracts
 * their number from *left, and records each one. change->sql removes the one with the id `$id`.
 * Returns 0 or -1. */
int audit_remove(struct db *db, const struct audit_change *change, int *left, struct err *err);

/* Removing an object also removes what belongs to it, which can be many rows. So each call removes
 * up to STORE_REMOVE_STEP rows and returns STORE_MORE if there may be more; then it must be called
 * again in another transaction. Steps are not undone: an interrupted removal is simply started
 * again. */
enum { STORE_REMOVE_STEP = 10, STORE_MORE = INT_MAX };

#endif
