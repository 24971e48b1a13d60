/*
 * Fuzzes list_json_parse() and query_get(): a page that is accepted is one that
 * the store can read.
 */
#include <string.h>

#include "core/base/mem.h"
#include "httpd/http/uri.h"
#include "httpd/json/json_query.h"
#include "httpd/json/list_json.h"
#include "tests/fuzz/fuzz.h"

static void check_cursor(const char *id)
{
	char again[ID_SIZE];

	if (id[0] == '\0')
		return;
	CHECK(id_parse(id, again));
	CHECK(strcmp(id, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *query = mem_dup(data, size);
	struct problem problem = PROBLEM_INIT;
	char value[QUERY_VALUE_MAX];
	struct page page;

	if (query_get(query, "after", value, &problem) > 0)
		CHECK(strlen(value) < QUERY_VALUE_MAX);
	if (list_json_parse(query, &page, &problem) < 0) {
		CHECK(problem.kind == PROBLEM_PARAMETER && problem.text[0]);
		return 0;
	}
	CHECK(page.limit >= 1 && page.limit <= LIST_LIMIT_MAX);
	CHECK(page.after[0] == '\0' || page.before[0] == '\0');
	check_cursor(page.after);
	check_cursor(page.before);
	return 0;
}
