/*
 * store_audit: who changed what, when and from where, with what stood there
 * before and after.
 *
 * The functions of the store that change a company, domain, key, exemption or
 * user make the change by audit_change(), so that the entry is written in its
 * transaction, whatever program calls them. In whose name, the handle knows
 * (db_set_actor()). What mail itself does is no change: it is in the emails,
 * events and refusals.
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
	char *actor; /* as struct db_actor has it; "system": nobody was named */
	char *actor_id;
	char *actor_name;
	char *origin;     /* from where: an address, a terminal; may be "" */
	char *company_id; /* whose the object is; NULL: of no company */
	char *action;     /* as `domain.activate` */
	char *object_id;
	char *object_name;
	char *before; /* a JSON object of the row's columns; NULL: there was
		       * none */
	char *after;  /* the same; NULL: it is gone */
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
	const char *action;     /* `domain.activate`, or `domain` for all of
				 * them; NULL: any */
	int64_t since_us;       /* 0: from the beginning */
	bool of_member;         /* of operators it tells that it was one: actor is
				 * "operator", and who and from where are "" */
};
/* A page of them, newest first. Of a narrowed one 20,000 entries are looked at:
 * end_r->next is then the last of them. 1, 0 when the cursor is none of them, -1. */
int store_audit_page(struct db *db, const struct audit_scope *scope, const struct page *page,
	struct audit_list *list_r, struct page_end *end_r, struct err *err);

/* Writes down what somebody did that changes no object: after is a JSON object
 * that tells more. 0 or -1. */
struct audit_action {
	const char *company_id; /* NULL: of no company */
	const char *action;
	const char *object_id;
	const char *object_name;
	const char *after;
};
int store_audit_add(struct db *db, const struct audit_action *action, struct err *err);

/* For the files of the store. */

/* A change of one object. Its type has the columns id and, but for a company
 * and an operator, company_id. */
struct audit_change {
	const char *action;
	const struct row_type *type;
	const char *name; /* the column that people know it by */
	/* What changes it, by row_write() with the new item, or by
	 * db_change(). */
	const char *sql;
	const struct db_param *params;
	const void *item; /* what is new; NULL: it is there already */
	/* Reads the object that is there, before and after. */
	const char *sql_get;
	const struct db_param *key;
};
/* Makes the change and writes it down, as one: how many rows it changed, 0 also
 * when the object is not there, or -1. Nothing is written down when all columns
 * stay as they were. */
int audit_change(struct db *db, const struct audit_change *change, struct err *err);

/* Removes objects that change->sql_get finds, *left of them at most (its
 * `$limit`), which it counts down, and writes each down: change->sql removes the
 * one with the id `$id`. 0 or -1. */
int audit_remove(struct db *db, const struct audit_change *change, int *left, struct err *err);

/* What is removed takes along what belongs to it. That may be much: a step
 * removes so many rows, and gives STORE_MORE when there may be more, to be
 * called again in another transaction. What was removed until then stays so:
 * whoever is interrupted begins anew. */
enum { STORE_REMOVE_STEP = 10, STORE_MORE = INT_MAX };

#endif
