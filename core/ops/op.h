/*
 * op: the operations of admins and managing keys.
 *
 * The command, the admin API and the JSON API convert their arguments to the input of an operation,
 * run it, and show its result; they contain no rules themselves. An operation checks its input,
 * whatever interface it came from, and does everything in the transaction that its caller has
 * begun, including the audit entry.
 *
 * Each noun has a file: the structs of its inputs, with the tables of their fields, and its
 * operations. A new operation also needs a row in the table of each interface that offers it:
 * cli/verbs.c, httpd/admin/admin.c, httpd/routes.c.
 *
 * Threads: any; a struct op belongs to one thread.
 */
#ifndef POSTERN_OPS_OP_H
#define POSTERN_OPS_OP_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/base/id.h"
#include "core/db/db.h"
#include "core/store/row.h"
#include "core/store/company/store_limit.h"

struct conf;
struct dns_view;
struct session;

/* Who acts. The actor of audit entries is set on the database handle, see db_set_actor(). */
enum op_actor {
	OP_COMMAND, /* the user of `postern`: no limits apply, and objects are given by name */
	OP_USER,    /* a user of the admin API: an operator, or a member of a company */
	OP_KEY,     /* a key with the scope managing */
};

/* Data that check() prepares for run(). */
struct op_ready {
	void *data;
	void (*free)(void *data);
};

/* One call of an operation. The caller owns the strings. */
struct op {
	struct db *db;
	const struct conf *conf;
	int64_t now_us;
	enum op_actor actor;
	const char *company_id;        /* the actor sees only this company; NULL: everything */
	const char *domain;            /* only this domain of the company; NULL: all */
	const struct session *session; /* for OP_USER */
	const char *client;            /* the address of a user's client */
	/* Set by the program that runs the outbox: gets the bytes of messages in the outbox, of all
	 * companies and of this one, without those that joined and were not counted yet. NULL: the
	 * store sums up all rows. */
	void (*outbox_bytes)(void *outbox, const char *company_id, int64_t *all_r, int64_t *own_r);
	void *outbox;
	const char *object;  /* the object of the operation, see op_about() */
	bool object_is_name; /* of a domain: it is a name, as it always is for the command */
	char id[ID_SIZE];
	struct page page; /* for a list */
	/* For an operation in steps: where the next step continues; 0: the first step. */
	int64_t mark;
	/* Results of check() for run(). */
	struct dns_view *view; /* this host; NULL: not needed, or not known yet */
	json_t *looked_up;     /* NULL: none */
	struct op_ready ready; /* other data */

	/* The result; op_clear() frees it. */
	struct op_result {
		const struct row_type *type; /* NULL: there are no items */
		struct rows rows;            /* one item, or a page */
		/* Further members of the answer, such as a token that is shown once; NULL: none. */
		json_t *more;
	} result;
};

/* The input of an operation is a struct; a table describes its members. */
enum op_type {
	OP_TEXT,   /* const char *, NULL if not given */
	OP_LIST,   /* a text with comma-separated items; a body may have an array */
	OP_WORDS,  /* a text; in a query, + means a blank */
	OP_ID,     /* a text; messages of the command name the noun of the id */
	OP_FLAG,   /* enum op_flag */
	OP_NUMBER, /* int64_t from 1 to max, 0 if not given */
	OP_TIME,   /* int64_t, see clock_parse(); 0 if not given */
	OP_ITEMS,  /* struct op_items: inputs with their own fields */
};
enum op_flag { OP_NOT_GIVEN, OP_NO, OP_YES };
struct op_items {
	void *items;
	size_t n;
};
struct op_field {
	const char *name; /* member of a body, or parameter of a query; NULL ends the table */
	enum op_type type;
	bool required;
	bool operators; /* only for operators, not for members of a company */
	bool command;   /* only for the command */
	bool admins;    /* not for keys */
	bool removed;   /* for an id: the object may have been removed */
	size_t offset;
	int64_t max;                   /* maximum of a number, or of the number of items */
	const struct op_field *fields; /* fields of each item, */
	size_t size;                   /* and its size */
};
#define OP_FIELD(struct_, member_, type_)                                                          \
	.name = #member_, .type = (type_), .offset = offsetof(struct struct_, member_)

struct operation {
	const struct op_field *fields; /* NULL: no input */
	size_t size;                   /* size of the input; 0: the input is NULL */
	enum op_list {
		OP_ONE,
		OP_WHOLE,     /* a short list, without pages */
		OP_SEARCH,    /* a list in pages, with `after` and `search` */
		OP_BACKWARDS, /* a list in pages, with `after` and `before` */
		OP_ONWARD,    /* a list in pages, with `after` */
	} list;
	/* For work that may take long, such as asking Postfix: only reads, runs before the
	 * transaction and outside of the committer and any event loop, and fills `ready`. Returns 0
	 * or -1. NULL: none. */
	int (*check)(struct op *op, const void *input, struct err *err);
	bool by_address; /* the object may be given by an address instead of an id */
	bool asks_dns;   /* check() waits for the DNS, which may be slow */
	/* Returns 1; 0 if the object does not exist or is not visible; STORE_MORE to be called
	 * again in another transaction (store_audit.h); -1 on error. The text of ERR_INVALID,
	 * ERR_EXISTS, ERR_NOT_FOUND and ERR_DENIED is shown to the client. */
	int (*run)(struct op *op, const void *input, struct err *err);
};

/* Sets the object: an id, or for the command a name. The caller keeps the text, and must not move
 * op. */
void op_about(struct op *op, const char *text);
/* op_clear() frees the result and the data of check(); op_ready_clear() frees `ready`. */
void op_clear(struct op *op);
void op_ready_clear(struct op_ready *ready);

/* op_item_json() returns an item as answers show it; op_json() the single item with the further
 * members; null if there is none. New references. */
json_t *op_item_json(const struct op *op, size_t i);
json_t *op_json(const struct op *op);
/* Returns a list: an object with the items as `data`, and the further members. A new reference. */
json_t *op_list_json(const struct op *op);

/* For operations. */

/* Set the result: one item, or a page. Ownership moves to op. */
void op_give(struct op *op, const struct row_type *type, const void *item);
void op_give_page(struct op *op, const struct row_type *type, void *items, size_t n,
	const struct page_end *end);
/* Returns the object with further members of the answer. op owns it. */
json_t *op_more(struct op *op);

/* Fills err with ERR_INVALID: `the FIELD `, with the name that the interface uses, then the
 * formatted text. Returns -1. */
int op_refuse(const struct op *op, struct err *err, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Call after adding one for the owner, the id of a company or a user. Returns 0, or -1 if there are
 * more than allowed. */
int op_check_limit(const struct op *op, enum store_limit limit, const char *owner, struct err *err);

/* Returns the owner of a new object: the company of the actor, else the given one. NULL for
 * none. */
const char *op_company_of(const struct op *op, const char *given);

#endif
