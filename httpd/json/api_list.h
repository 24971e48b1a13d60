/*
 * api_list: what the routes that answer with a list have in common.
 */
#ifndef POSTERN_HTTPD_API_LIST_H
#define POSTERN_HTTPD_API_LIST_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/store/row.h"

struct request;

/* Appends the items of the page, as the key of the request may see them: 1; 0
 * when the cursor is no item of the list; -1. */
typedef int api_list_find(struct request *request, const struct page *page,
	json_t *data, bool *more_r, struct err *err);

/* Answers with the page that the query asks for. event is what the log calls
 * it when find fails. */
void api_list(struct request *request, api_list_find *find, const char *event);

#endif
