/*
 * list_json: lists of the JSON dialect, in pages.
 */
#ifndef POSTERN_HTTPD_JSON_LIST_JSON_H
#define POSTERN_HTTPD_JSON_LIST_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/store/row.h"
#include "httpd/http/problem.h"

struct request;

/* The page that a query asks for, whatever else it has. */
int list_json_parse(const char *query, struct page *page_r, struct problem *problem);

/* Whether a page was found: 0, or -1 with the problem. found is 1; 0: its
 * cursor is no item of the list, or of one that the caller may not see: the
 * text is the same, so that nothing is told of other companies; or -1 and err,
 * which is logged as the event. */
int list_json_check(const struct request *request, int found, const struct page *page,
	const char *event, const struct err *err, struct problem *problem);

/* The answer; data, an array, is given away. A new reference. */
json_t *list_json_render(json_t *data, bool has_more);

#endif
