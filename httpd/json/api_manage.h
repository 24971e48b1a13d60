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
	json_t *(*render)(const struct op *op); /* of what the operation gives */
	const char *missing;                    /* to who names what is not there */
	enum problem_kind denied;               /* to who may not */
};

/* Runs the operation of the route, and answers: one that changes something, or that reads one
 * thing. What the path names is an id. */
void manage_change(struct request *request, const struct manage *manage);
void manage_read(struct request *request, const struct manage *manage);
/* The same for a list: item renders each. */
void manage_list(struct request *request, json_t *(*item)(const void *item));

#endif
