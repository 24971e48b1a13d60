/*
 * op_suppression: whom a company sends nothing to (store_suppression).
 */
#ifndef POSTERN_OPS_OP_SUPPRESSION_H
#define POSTERN_OPS_OP_SUPPRESSION_H

#include "core/ops/op.h"

struct op_suppression {
	const char *company_id; /* of operators and the command */
	const char *domain;     /* only what is sent as this one; NULL: all */
	const char *address;
	const char *reason; /* NULL: manual; of a list any */
	const char *origin; /* of a list: bounce, complaint or manual */
	const char *text;   /* what is known of it */
	const char *code;
	/* Of those that read a file, not of a body. */
	const char *tags;             /* a JSON array */
	int64_t created_us;           /* 0: now */
	bool renews;                  /* an entry that is there takes over what is new */
	struct op_items suppressions; /* several: each with an address, or to be removed an id */
	const char *id;
};

enum { OP_SUPPRESSIONS_MAX = 1000 };

/* Gives the entry, a new one or the one that is there. With no reason, one for the address that
 * is there for another reason will do. */
extern const struct operation op_suppression_add;
/* The same of several, or of none. Gives them, each once, and how many were new, as `added`. */
extern const struct operation op_suppression_add_all;
/* Gives one, by its id or its address. */
extern const struct operation op_suppression_get;
/* Gives them, the newest first. With an address the entry that counts for it; users get all of
 * its entries, and may narrow the list by domain and reason without naming a company. */
extern const struct operation op_suppression_list;
/* Removes one by its id, or all for an address that its input and whoever asks may see. Gives
 * one of them. */
extern const struct operation op_suppression_remove;
/* The same of several; what is not there is passed over. Gives what was removed. */
extern const struct operation op_suppression_remove_all;
/* Removes those of a reason that hold for a domain, in steps. */
extern const struct operation op_suppression_clear;

/* The same as add_all of any number of entries, each of which may name a domain, in steps: those
 * that a step has added stay when a later one is refused. Gives `added` and `rows`. */
extern const struct operation op_suppression_import;
/* Adds addresses and domains for which no bounce is put in, and removes the one that is named, or
 * all. For a domain. */
extern const struct operation op_suppression_allow, op_suppression_disallow;

#endif
