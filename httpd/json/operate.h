/*
 * operate: how requests run the operations of core/ops: how their input is read
 * from a body or a query, on which thread each part runs, and how the result
 * comes back.
 *
 *   the worker's thread   reads the input; answers
 *   the pool's            runs checks that may take long; reads lists
 *   the committer's       runs a change, and renders its answer
 */
#ifndef POSTERN_HTTPD_JSON_OPERATE_H
#define POSTERN_HTTPD_JSON_OPERATE_H

#include <jansson.h>

#include "core/ops/op.h"
#include "httpd/admission/change.h"
#include "httpd/json/json_query.h"
#include "httpd/worker/work_pool.h"

/* Sets the actor, what it may see, and the subject from the path. Zeroes the
 * rest. */
void operate_init(struct request *request, struct op *op);

/* Reads the fields of a body into a zeroed input. The body owns the strings.
 * ERR_INVALID names a field that is missing, of the wrong type, out of bounds,
 * or unknown; ERR_NOT_FOUND is a company that is not the member's. */
int operate_read_body(const struct op *op, json_t *body, const struct op_field *fields, void *input,
	struct err *err);
void operate_free_input(const struct op_field *fields, void *input);

/* Reads the query of a reading operation: the page of a list, and the fields of
 * its input. query_r owns the strings. Returns 0, or -1 with the problem. */
int operate_read_query(const struct request *request, const struct operation *operation,
	struct op *op, void *input, struct json_query *query_r, struct problem *problem);

/* An operation that changes something. Embed it as the first member of what
 * else the request needs. */
struct operate {
	struct change change; /* first */
	struct work work;     /* for the check */
	const struct operation *operation;
	struct op op;
	void *input;       /* freed by operate_end(), or NULL */
	json_t *body;      /* owns the strings of input; the caller's */
	struct conf *conf; /* a copy */
	/* Runs in the transaction before the operation, unless NULL. Returns 0
	 * or -1. */
	int (*before)(struct operate *operate, struct db *db, struct err *err);
	/* Renders the answer from the result; NULL for none. On the committer's
	 * thread. */
	json_t *(*render)(const struct op *op);
	json_t *answer; /* NULL before, or without render */
};

/* Initializes it, with op, input and conf. */
void operate_begin(
	struct request *request, struct operate *operate, const struct operation *operation);
/* Has the operation checked and run. Then done runs on the worker's thread and
 * ends it. change.result is 1, 0 if the subject of the path does not exist, or
 * -1 with err or refused as in struct change. */
void operate_submit(struct operate *operate, void (*done)(struct change *change));
/* Frees what it owns; neither itself nor the body. */
void operate_end(struct operate *operate);

#endif
