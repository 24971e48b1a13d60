/* json_text: what a body of JSON is charged, and what it takes when parsed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <malloc.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "httpd/admission/budget.h"
#include "httpd/admission/json_text.h"

enum { ITEMS = 20000 };

static size_t allocated(void)
{
	struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

/* Sanitizers have an allocator of their own, which tells nothing. */
static void skip_unless_told(void)
{
	size_t before = allocated();
	char *block = mem_alloc(1000, 1);
	bool told = allocated() >= before + 1000;

	free(block);
	if (!told)
		skip();
}

/* %d, where there is one, is the number of the item. */
static const struct {
	const char *begin, *item, *end;
} cases[] = {
	{"[", "0,", "0]"},
	{"[", "1.5,", "0]"},
	{"[", "true,", "0]"},
	{"[", "\"\",", "0]"},
	{"[", "\"of sixteen bytes\",", "0]"},
	{"[", "[],", "0]"},
	{"[", "[1],", "0]"},
	{"[", "[[]],", "0]"},
	{"[", "[[[[]]]],", "0]"},
	{"[", "{},", "0]"},
	{"[", "[{}],", "0]"},
	{"[", "{\"a\":1},", "0]"},
	{"[", "{\"a\":\"\"},", "0]"},
	{"[", "{\"a\":[]},", "0]"},
	{"[", "{\"a\":{}},", "0]"},
	{"[", "{\"a\":{\"a\":{}}},", "0]"},
	{"[", "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6},", "0]"},
	{"{", "\"%d\":0,", "\"x\":0}"},
	{"{", "\"%d\":\"\",", "\"x\":0}"},
	{"{", "\"of sixteen %d\":[],", "\"x\":0}"},
	{"{", "\"%d\":{},", "\"x\":0}"},
};

static void make(size_t i, struct buf *text)
{
	buf_add_str(text, cases[i].begin);
	for (int k = 0; k < ITEMS; k++) {
		const char *number = strstr(cases[i].item, "%d");

		if (number == NULL) {
			buf_add_str(text, cases[i].item);
			continue;
		}
		buf_add(text, cases[i].item, (size_t)(number - cases[i].item));
		buf_printf(text, "%d%s", k, number + 2);
	}
	buf_add_str(text, cases[i].end);
}

static void test_charge(void **state)
{
	(void)state;
	skip_unless_told();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf text = BUF_INIT;
		size_t before, taken, charged;
		json_t *json;

		make(i, &text);
		charged = BUDGET_FACTOR * json_text_cost(text.data, text.len);
		before = allocated();
		json = json_loadb(text.data, text.len, 0, NULL);
		taken = allocated() - before + text.len;
		assert_non_null(json);
		json_decref(json);
		if (taken > charged)
			fail_msg("%s takes %zu bytes, charged are %zu", cases[i].item,
				taken / ITEMS, charged / ITEMS);
	}
}

/* Texts of the same length that cost the same: nothing counts in a string. */
static const struct {
	const char *text, *same;
} equal[] = {
	{"\"a,b,[{:\"", "\"abcdefg\""},
	{"[\"a,\\\",\",2]", "[\"abcde\",2]"},
	{"[\"\\\\\",2]", "[\"ab\",2]"},
	{"[\"a,b,c", "[\"abcde"},
	{"[1, 2]", "[1,2 ]"},
};

static void test_strings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(equal); i++) {
		size_t len = strlen(equal[i].text);

		assert_int_equal(strlen(equal[i].same), len);
		if (json_text_cost(equal[i].text, len) != json_text_cost(equal[i].same, len))
			fail_msg("%s, %s", equal[i].text, equal[i].same);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_charge),
		cmocka_unit_test(test_strings),
	};

	return cmocka_run_group_tests_name("json_text", tests, NULL, NULL);
}
