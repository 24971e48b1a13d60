/*
 * operate: how requests run the operations of core/ops: what they take of a body or a query, on
 * which thread each part runs, and what comes of it.
 *
 *   the worker's thread   reads the input; answers
 *   the pool's            checks what may take long, if the operation does; reads lists
 *   the committer's       runs what changes something, and makes the answer of it
 */
#ifndef POSTERN_HTTPD_JSON_OPERATE_H
#define POSTERN_HTTPD_JSON_OPERATE_H

#include <jansson.h>

#include "core/ops/op.h"
#include "httpd/admission/request.h"
#include "httpd/json/json_query.h"
#include "httpd/worker/work_pool.h"

/* Who the request is by, what they see, and what its path names. The rest is zero. */
void operate_init(struct request *request, struct op *op);

/* Reads the fields of a body, whose strings stay its own, into an input that is zero. ERR_INVALID
 * names a field that is missing, of another type, out of bounds, or none of these. */
int operate_read_body(const struct op *op, json_t *body, const struct op_field *fields, void *input,
	struct err *err);
void operate_free_input(const struct op_field *fields, void *input);

/* Reads the query of an operation that reads: the page of a list, and the fields of its input. The
 * strings are those of query_r. 0, or -1 with the problem. */
int operate_read_query(const struct request *request, const struct operation *operation,
	struct op *op, void *input, struct json_query *query_r, struct problem *problem);

/* An operation that changes something. Embed it first in what else the request needs. */
struct operate {
	struct change change; /* first */
	struct work work;     /* of the check */
	const struct operation *operation;
	struct op op;
	void *input;       /* freed with it, or NULL */
	json_t *body;      /* has the strings; the caller's */
	struct conf *conf; /* a copy */
	/* In the transaction, before it is run: 0 or -1. NULL: nothing. */
	int (*before)(struct operate *operate, struct db *db, struct err *err);
	/* Of what it gave; NULL: no answer is made. */
	json_t *(*render)(const struct op *op);
	json_t *answer; /* NULL until it is done */
};

/* Begins it: op, input and conf are there then. */
void operate_begin(
	struct request *request, struct operate *operate, const struct operation *operation);
/* Has it checked and run, then done called, on the worker's thread, which ends it:
 * change.result is 1, 0 when what the path names is not there, or -1, with err or refused as
 * struct change has them. */
void operate_submit(struct operate *operate, void (*done)(struct change *change));
/* Frees what it has, not itself nor the body. */
void operate_end(struct operate *operate);

#endif
