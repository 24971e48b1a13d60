/*
 * list_json: lists of the JSON dialect, in pages.
 */
#ifndef POSTERN_HTTPD_LIST_JSON_H
#define POSTERN_HTTPD_LIST_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "core/store/row.h"
#include "httpd/http/problem.h"

enum { LIST_LIMIT_MAX = 100, LIST_LIMIT_DEFAULT = 20 };

/* Reads the parameters `limit`, `after` and `before` of a query. 0, or -1 with
 * a problem that names the parameter. */
int list_json_parse(
	const char *query, struct page *page_r, struct problem *problem);

/* The cursor is no item of the list, or of one that the key may not see: the
 * answer is the same, so that nothing is told of other companies. -1. */
int list_json_bad_cursor(const struct page *page, struct problem *problem);

/* The answer; data, an array, is given away. A new reference. */
json_t *list_json_render(json_t *data, bool has_more);

#endif
