/*
 * api_manage: what the managing routes of the JSON dialect share: an operation, with the words of
 * this dialect for what it takes and gives.
 */
#ifndef POSTERN_HTTPD_JSON_API_MANAGE_H
#define POSTERN_HTTPD_JSON_API_MANAGE_H

#include <jansson.h>

#include "core/ops/op.h"
#include "httpd/http/problem.h"

struct request;

struct manage {
	/* What a body asks for, in the input, whose strings stay the body's; NULL: there is none.
	 * 0, or -1 with the problem. */
	int (*parse)(const json_t *body, void *input, struct problem *problem);
	json_t *(*render)(const struct op *op); /* of what the operation gives, */
	json_t *(*item)(const void *item);      /* or of each of a list */
	const char *missing;                    /* to who names what is not there */
	enum problem_kind denied;               /* to who may not */
};

/* Handlers: run the operation of the route, and answer in the words of its column `manage`: one
 * that changes something, that reads one thing, or a list. What the path names is an id. */
void manage_change(struct request *request);
void manage_read(struct request *request);
void manage_list(struct request *request);

#endif
