/*
 * json_query: the parameters of a query of the JSON dialect.
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

/* The parameters of a query, decoded. Names are those that the route takes. */
struct json_query {
	const char *text; /* the request's */
	struct {
		const char *name; /* NULL behind the last one */
		char value[QUERY_VALUE_MAX];
		bool given;
	} params[17];
};
/* 0, or -1 with a problem that names the parameter, as have all of these. Names
 * are ended by NULL; another one is a problem. */
int json_query_read(const struct request *request, const char *const *names,
	struct json_query *query_r, struct problem *problem);
/* The same of a query as text, which may have others. */
int json_query_read_text(const char *text, const char *const *names, struct json_query *query_r,
	struct problem *problem);
/* NULL when it is not given. A + is one, */
const char *json_query_get(const struct json_query *query, const char *name);
/* and in words it stands for a blank, as in forms. */
const char *json_query_words(struct json_query *query, const char *name);
/* A time, 0 when it is not given; a number in bounds, else fallback; `true` or
 * `false`, else false; `limit`, `after` and `before`. */
int json_query_time(const struct request *request, const struct json_query *query, const char *name,
	int64_t *time_us_r, struct problem *problem);
int json_query_number(const struct json_query *query, const char *name, int64_t max,
	int64_t fallback, int64_t *number_r, struct problem *problem);
int json_query_flag(
	const struct json_query *query, const char *name, bool *flag_r, struct problem *problem);
int json_query_page(const struct json_query *query, struct page *page_r, struct problem *problem);

#endif
