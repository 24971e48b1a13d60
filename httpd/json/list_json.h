/*
 * list_json: lists of the JSON dialect, in pages, and the parameters of queries.
 */
#ifndef POSTERN_HTTPD_JSON_LIST_JSON_H
#define POSTERN_HTTPD_JSON_LIST_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "core/base/err.h"
#include "core/store/row.h"
#include "httpd/http/problem.h"
#include "httpd/http/uri.h"

struct request;

enum { LIST_LIMIT_MAX = 100, LIST_LIMIT_DEFAULT = 20 };

/* The parameters of a query, decoded. Names are those that the route takes. */
struct json_query {
	const char *text; /* the request's */
	struct {
		const char *name; /* NULL behind the last one */
		char value[QUERY_VALUE_MAX];
		bool given;
	} params[15];
};
/* 0, or -1 with a problem that names the parameter, as have all of these. Names
 * are ended by NULL; another one is a problem. */
int json_query_read(const struct request *request, const char *const *names,
	struct json_query *query_r, struct problem *problem);
/* NULL when it is not given. A + is one, */
const char *json_query_get(const struct json_query *query, const char *name);
/* and in words it stands for a blank, as in forms. */
const char *json_query_words(struct json_query *query, const char *name);
/* A time, 0 when it is not given; a number in bounds, else fallback; `true` or
 * `false`, else false; `limit`, `after` and `before`. */
int json_query_time(const struct request *request, const struct json_query *query,
	const char *name, int64_t *time_us_r, struct problem *problem);
int json_query_number(const struct json_query *query, const char *name,
	int64_t max, int64_t fallback, int64_t *number_r,
	struct problem *problem);
int json_query_flag(const struct json_query *query, const char *name,
	bool *flag_r, struct problem *problem);
int json_query_page(const struct json_query *query, struct page *page_r,
	struct problem *problem);

/* The page that a query asks for, whatever else it has. */
int list_json_parse(
	const char *query, struct page *page_r, struct problem *problem);

/* Whether a page was found: 0, or -1 with the problem. found is 1; 0: its
 * cursor is no item of the list, or of one that the caller may not see: the
 * text is the same, so that nothing is told of other companies; or -1 and err,
 * which is logged as the event. */
int list_json_check(const struct request *request, int found,
	const struct page *page, const char *event, const struct err *err,
	struct problem *problem);

/* The answer; data, an array, is given away. A new reference. */
json_t *list_json_render(json_t *data, bool has_more);

/* Appends the items of the page, as the key of the request may see them: 1; 0
 * when the cursor is no item of the list; -1. */
typedef int list_json_find(struct request *request, const struct page *page,
	json_t *data, bool *more_r, struct err *err);

/* Answers with the page that the query asks for. event is what the log calls
 * it when find fails. */
void list_json_reply(
	struct request *request, list_json_find *find, const char *event);

#endif
