/*
 * op: what an admin, or a managing key, can do and see: each is one operation.
 *
 * The command, the admin API and the JSON API read arguments into the input of an operation, run
 * it, and show its result; none of them knows a rule. An operation checks its input, whatever came
 * in by its type, and does all in the transaction that its caller has begun, the entry in the audit
 * log included.
 *
 * A noun has a file: the structs of its inputs, with the table of their fields, and its operations.
 * A new one is that, and a row in each table of those who offer it: cli/verbs.c,
 * httpd/admin/admin.c, httpd/routes.c.
 *
 * Threads: any; a struct op belongs to one.
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
#include "core/store/store_limit.h"

struct conf;
struct dns_view;
struct session;

/* Who acts. In whose name a change is written down, the database handle knows, see
 * db_set_actor(). */
enum op_actor {
	OP_COMMAND, /* whoever may run `postern`: no limit holds, and what is meant is named */
	OP_USER,    /* of the admin API: an operator, or a member of a company */
	OP_KEY,     /* that may manage */
};

/* What check() has made for run(). */
struct op_ready {
	void *data;
	void (*free)(void *data);
};

/* One call of an operation. Strings are the caller's. */
struct op {
	struct db *db;
	const struct conf *conf;
	int64_t now_us;
	enum op_actor actor;
	const char *company_id;        /* they see what is of this company; NULL: everything */
	const char *domain;            /* and of that what is of this domain; NULL: all */
	const struct session *session; /* of a user */
	const char *client;            /* the address that a user is at */
	/* Of the program that has the outbox open: how many bytes of messages are there, and of
	 * these the company's, but for what joined and was not taken yet. NULL: the store is asked,
	 * which looks at all of them. */
	void (*outbox_bytes)(void *outbox, const char *company_id, int64_t *all_r, int64_t *own_r);
	void *outbox;
	const char *object; /* what it is about, see op_about() */
	char id[ID_SIZE];
	struct page page; /* of a list */
	int64_t mark;     /* where the next step of one in steps goes on; 0: it is the first */
	/* What the check has found out for the run. */
	struct dns_view *view; /* who this host is; NULL: it is not needed, or not there yet */
	json_t *looked_up;     /* NULL: nothing */
	struct op_ready ready; /* another thing that it has made */

	/* What it gives; op_clear() frees it. */
	struct op_result {
		const struct row_type *type; /* NULL: there are no items */
		struct rows rows;            /* one, or a page of them */
		json_t *more;                /* what else the answer has, as a token that is
					      * shown once; NULL: nothing */
	} result;
};

/* The input of an operation: a struct, of which a table names the members. */
enum op_type {
	OP_TEXT,   /* const char *: NULL when it is not given */
	OP_LIST,   /* the same, items with commas between them; in a body an array of them, too */
	OP_WORDS,  /* the same; in a query a + is a blank */
	OP_ID,     /* the same; the command says which noun's id it expects */
	OP_FLAG,   /* enum op_flag */
	OP_NUMBER, /* int64_t from 1 to max, 0 when it is not given */
	OP_TIME,   /* int64_t, see clock_parse(); 0 when it is not given */
	OP_ITEMS,  /* struct op_items, of inputs that have fields of their own */
};
enum op_flag { OP_NOT_GIVEN, OP_NO, OP_YES };
struct op_items {
	void *items;
	size_t n;
};
struct op_field {
	const char
		*name; /* of a member of a body, or a parameter of a query; NULL ends the table */
	enum op_type type;
	bool required;
	bool operators; /* members of a company have no such field */
	bool command;   /* nor has anybody but the command */
	bool removed;   /* of an id: what it names may be gone by now */
	size_t offset;
	int64_t max;                   /* of a number, or of how many items */
	const struct op_field *fields; /* of each item, */
	size_t size;                   /* which is so large */
};
#define OP_FIELD(struct_, member_, type_)                                                          \
	.name = #member_, .type = (type_), .offset = offsetof(struct struct_, member_)

struct operation {
	const struct op_field *fields; /* NULL: there is no input */
	size_t size;                   /* of the input; 0: it gets NULL */
	enum op_list {
		OP_ONE,
		OP_WHOLE,     /* a list that is short */
		OP_SEARCH,    /* a list in pages, by `after` and `search` */
		OP_BACKWARDS, /* a list in pages, by `after` and `before` */
		OP_ONWARD,    /* a list in pages, by `after` */
	} list;
	/* What may take long, as to ask Postfix: reads, before the transaction, outside of the
	 * committer and of any event loop, and makes `ready`. 0 or -1; NULL: nothing does. */
	int (*check)(struct op *op, const void *input, struct err *err);
	bool by_address; /* an address names what it is about, too, not its id alone */
	bool asks_dns;   /* the check waits for the DNS, which may be slow for long */
	/* 1 done; 0 what it is about is not there, or is not seen; STORE_MORE: to be called again,
	 * in another transaction (store_audit.h); -1: with ERR_INVALID, ERR_EXISTS, ERR_NOT_FOUND
	 * and ERR_DENIED whoever asked is told the text. */
	int (*run)(struct op *op, const void *input, struct err *err);
};

/* What it is about: an id, or for the command a name. The text stays the caller's, op where it is.
 */
void op_about(struct op *op, const char *text);
/* Frees what the operation gave, and what its check has made. */
void op_clear(struct op *op);
void op_ready_clear(struct op_ready *ready);

/* An item as answers have it, and the one of an operation that gives no list, with what else there
 * is; null when there is nothing. New references. */
json_t *op_item_json(const struct op *op, size_t i);
json_t *op_json(const struct op *op);
/* A list: an object with the items as `data`, and what else there is. */
json_t *op_list_json(const struct op *op);

/* For operations. */

/* Gives one item, which is moved, or a page of them. */
void op_give(struct op *op, const struct row_type *type, const void *item);
void op_give_page(struct op *op, const struct row_type *type, void *items, size_t n,
	const struct page_end *end);
/* What else the answer has: an object. */
json_t *op_more(struct op *op);

/* ERR_INVALID: `the FIELD `, as whoever asks calls it, and the words. -1. */
int op_refuse(const struct op *op, struct err *err, const char *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* After one was added for the owner, the id of a company or a user: 0, or -1 when these are more
 * than they may have. */
int op_check_limit(const struct op *op, enum store_limit limit, const char *owner, struct err *err);

/* Whose it is to be: the company of the actor, else the given one. NULL for none. */
const char *op_company_of(const struct op *op, const char *given);

#endif
