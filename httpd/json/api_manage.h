/*
 * api_manage: what the managing routes of the JSON dialect share: each runs an
 * operation, and a struct manage says how this dialect reads its input and
 * shows its result.
 */
#ifndef POSTERN_HTTPD_JSON_API_MANAGE_H
#define POSTERN_HTTPD_JSON_API_MANAGE_H

#include <jansson.h>

#include "core/ops/op.h"
#include "httpd/http/problem.h"

struct request;

struct manage {
	/* Parses the body into the input, whose strings the body owns. NULL if
	 * the route has no body. Returns 0, or -1 with the problem. */
	int (*parse)(const json_t *body, void *input, struct problem *problem);
	json_t *(*render)(const struct op *op); /* the answer from the operation's result, */
	json_t *(*item)(const void *item);      /* renders an item of a list */
	const char *missing;                    /* text of the 404 */
	enum problem_kind denied;               /* the problem for ERR_DENIED */
};

/* Handlers that run the operation of the route and answer by its column
 * `manage`: a change, a read of one object, a list. The path may have an id (or an
 * address, with operation->by_address), and another one for the first field of
 * the input. */
void manage_change(struct request *request);
void manage_read(struct request *request);
void manage_list(struct request *request);
/* Sets the problem of an operation that lists something; found is what it
 * returned, see list_json_check(). Returns 0, or -1 with the problem. */
int manage_list_check(const struct request *request, int found, const struct op *op,
	const struct err *err, struct problem *problem);
/* For .render: the type and the id of the item that was changed, and, when it was removed,
 * `deleted`. New references. */
json_t *manage_render_id(const struct op *op);
json_t *manage_render_removed(const struct op *op);
/* The same for any item of the result. */
json_t *manage_render_item_id(const struct op *op, size_t i, bool removed);
/* Returns the answer with the rows of the operation's result, each rendered by item; a new
 * reference. */
json_t *manage_list_render(const struct op *op, json_t *(*item)(const void *item));

#endif
