/* route: which row of a table a request is for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/admission/route.h"

static const struct route table[] = {
	{.method = "POST", .pattern = "/emails"},
	{.method = "GET", .pattern = "/emails"},
	{.method = "POST", .pattern = "/emails/batch"},
	{.method = "GET", .pattern = "/emails/{}"},
	{.method = "POST", .pattern = "/v3/{}/messages"},
	{.method = NULL},
};

static const struct {
	const char *method, *path;
	int row; /* -1: none */
	const char *param, *allow;
} cases[] = {
	{"POST", "/emails", 0, "", NULL},
	{"GET", "/emails", 1, "", NULL},
	{"POST", "/emails/batch", 2, "", NULL},
	/* The first row that fits both. */
	{"GET", "/emails/batch", 3, "batch", NULL},
	{"GET", "/emails/7", 3, "7", NULL},
	{"GET", "/emails/a%2Fb", 3, "a/b", NULL},
	{"POST", "/v3/example.com/messages", 4, "example.com", NULL},
	{"PUT", "/emails", -1, NULL, "POST, GET"},
	{"get", "/emails", -1, NULL, "POST, GET"},
	{"DELETE", "/emails/7", -1, NULL, "GET"},
	{"GET", "/v3/example.com/messages", -1, NULL, "POST"},
	{"GET", "/", -1, NULL, ""},
	{"GET", "/emails/", -1, NULL, ""},
	{"GET", "/emails/7/8", -1, NULL, ""},
	{"GET", "/emails/%zz", -1, NULL, ""},
	{"POST", "/v3//messages", -1, NULL, ""},
	{"POST", "/v3/a/b/messages", -1, NULL, ""},
	{"POST", "/v3/messages", -1, NULL, ""},
	{"POST", "/Emails", -1, NULL, ""},
};

static struct span text_of(const char *text)
{
	return (struct span){text, strlen(text)};
}

static void test_routes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct http_head head = {
			.method = text_of(cases[i].method),
			.path = text_of(cases[i].path),
		};
		struct route_match match;

		route_find(table, &head, &match);
		if (cases[i].row < 0) {
			assert_null(match.route);
			assert_string_equal(match.allow, cases[i].allow);
			continue;
		}
		assert_ptr_equal(match.route, &table[cases[i].row]);
		assert_string_equal(match.param, cases[i].param);
	}
}

/* A segment is given as a whole or not at all. */
static void test_long_segment(void **state)
{
	char path[ROUTE_PARAM_MAX + 16] = "/emails/";
	const size_t before = strlen(path);

	(void)state;
	for (int more = 0; more < 2; more++) {
		struct http_head head = {.method = text_of("GET")};
		struct route_match match;

		memset(path + before, 'x', ROUTE_PARAM_MAX);
		path[before + ROUTE_PARAM_MAX - 1 + more] = '\0';
		head.path = text_of(path);
		route_find(table, &head, &match);
		assert_int_equal(match.route != NULL, more == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_long_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
