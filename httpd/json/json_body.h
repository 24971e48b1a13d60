/*
 * json_body: the body of a request that is a JSON object.
 */
#ifndef POSTERN_HTTPD_JSON_BODY_H
#define POSTERN_HTTPD_JSON_BODY_H

#include <jansson.h>

#include "httpd/http/problem.h"

struct request;

/* Reads the request's body, within the memory that is left for requests. The
 * caller drops the reference. 0, or -1 with the problem. */
int json_body_parse(
	struct request *request, json_t **object_r, struct problem *problem);

#endif
