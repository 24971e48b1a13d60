/*
 * op_suppression: the suppressed addresses of a company (store_suppression).
 */
#ifndef POSTERN_OPS_OP_SUPPRESSION_H
#define POSTERN_OPS_OP_SUPPRESSION_H

#include "core/ops/op.h"

struct op_suppression {
	const char *company_id; /* only for operators and the command */
	const char *domain;     /* suppressed only for emails from this domain; NULL: for all */
	const char *address;
	const char *reason; /* NULL: manual; for a list: any */
	const char *origin; /* for a list: bounce, complaint or manual */
	const char *text;   /* the remote's answer, or a remark */
	const char *code;
	/* Only from files, not from a body: */
	const char *tags;             /* a JSON array */
	int64_t created_us;           /* 0: now */
	bool renews;                  /* update an existing entry */
	struct op_items suppressions; /* each has an address, or for a removal an id */
	const char *id;
};

enum { OP_SUPPRESSIONS_MAX = 1000 };

/* Gives the entry, new or existing. Without a reason, an existing entry of the address is kept,
 * whatever its reason. */
extern const struct operation op_suppression_add;
/* The same for several, all or none, in steps. Gives each once, and how many were new, as
 * `added`. */
extern const struct operation op_suppression_add_all;
/* Gives one entry, by its id or its address. */
extern const struct operation op_suppression_get;
/* Gives a page, newest first. With an address, it gives the entry that applies; users get all
 * entries of the address, and can filter by domain and reason without naming a company. */
extern const struct operation op_suppression_list;
/* Removes one by its id, or all of an address that the caller can see. Gives one of them. */
extern const struct operation op_suppression_remove;
/* The same for several, all or none, in steps; unknown ones are ignored. Gives what was removed. */
extern const struct operation op_suppression_remove_all;
/* Removes all of a reason that apply to a domain, in steps. */
extern const struct operation op_suppression_clear;

/* Like add_all for any number of entries, each of which may name a domain; in steps. What earlier
 * steps added stays when a later one is refused. Gives `added` and `rows`. */
extern const struct operation op_suppression_import;
/* Adds addresses and domains that no bounce suppresses, and removes one of them, or all; of a
 * domain. */
extern const struct operation op_suppression_allow, op_suppression_disallow;

#endif
