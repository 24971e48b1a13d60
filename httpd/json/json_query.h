/*
 * json_query: the query parameters of the JSON dialect.
 */
#ifndef POSTERN_HTTPD_JSON_JSON_QUERY_H
#define POSTERN_HTTPD_JSON_JSON_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "core/store/row.h"
#include "httpd/http/problem.h"
#include "httpd/http/uri.h"

struct request;

enum { LIST_LIMIT_MAX = 100, LIST_LIMIT_DEFAULT = 20 };

/* The decoded parameters of a query. The names are those that the route
 * accepts. */
struct json_query {
	const char *text; /* the request's */
	struct {
		const char *name; /* NULL after the last one */
		char value[QUERY_VALUE_MAX];
		bool given;
	} params[17];
};
/* Decodes the parameters. names ends with NULL; any other parameter is a
 * problem. Returns 0, or -1 with a problem that names the parameter, like all
 * functions here that return int. */
int json_query_read(const struct request *request, const char *const *names,
	struct json_query *query_r, struct problem *problem);
/* Reads a query that is given as text and may have other parameters. */
int json_query_read_text(const char *text, const char *const *names, struct json_query *query_r,
	struct problem *problem);
/* The value of a parameter, or NULL if it is not given. A + stays a +. */
const char *json_query_get(const struct json_query *query, const char *name);
/* Returns a text in which + stands for a blank, as in forms. */
const char *json_query_words(struct json_query *query, const char *name);
/* Typed parameters: a time, 0 if not given; a number from 1 to max, else
 * fallback; `true` or `false`, else false; `limit`, `after` and `before`. */
int json_query_time(const struct request *request, const struct json_query *query, const char *name,
	int64_t *time_us_r, struct problem *problem);
int json_query_number(const struct json_query *query, const char *name, int64_t max,
	int64_t fallback, int64_t *number_r, struct problem *problem);
int json_query_flag(
	const struct json_query *query, const char *name, bool *flag_r, struct problem *problem);
int json_query_page(const struct json_query *query, struct page *page_r, struct problem *problem);

#endif
