/*
 * list_json: paged lists of the JSON dialect.
 */
#ifndef POSTERN_HTTPD_JSON_LIST_JSON_H
#define POSTERN_HTTPD_JSON_LIST_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/store/row.h"
#include "httpd/http/problem.h"

struct request;

/* Parses `limit`, `after` and `before` of a query, and ignores the rest.
 * Returns 0, or -1 with the problem. */
int list_json_parse(const char *query, struct page *page_r, struct problem *problem);

/* Checks the result of reading a page. Returns 0, or -1 with the problem. found
 * is 1 if the page was found; 0 if its cursor is not an item of the list, or
 * one that the caller may not see, which get the same text, so that nothing is
 * revealed about other companies; -1 with err, which is logged as the event. */
int list_json_check(const struct request *request, int found, const struct page *page,
	const char *event, const struct err *err, struct problem *problem);

/* Makes the answer. Takes ownership of data, an array. A new reference. */
json_t *list_json_render(json_t *data, bool has_more);

#endif
