/*
 * Tags and metadata in header fields, and the words for those that are bad.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/compose/tag_fields.h"

enum field { TAG, NAMED, META };

static int read_one(
	enum field field, const char *value, char **tags, char **variables, struct err *err)
{
	struct tag_fields fields = {0};
	struct strv *lists[] = {&fields.tags, &fields.named, &fields.variables};
	int result;

	strv_add(lists[field], value);
	result = tag_fields_read(&fields, tags, variables, err);
	tag_fields_clear(&fields);
	return result;
}

static void test_good(void **state)
{
	static const struct {
		enum field field;
		const char *value, *tags, *variables;
	} cases[] = {
		{TAG, "welcome", "[{\"name\":\"tag\",\"value\":\"welcome\"}]", NULL},
		{TAG, " two  words\t", "[{\"name\":\"tag\",\"value\":\"two  words\"}]", NULL},
		{TAG, "=?utf-8?q?gr=C3=BC=C3=9Fe?=",
			"[{\"name\":\"tag\",\"value\":\"gr\xc3\xbc\xc3\x9f"
			"e\"}]",
			NULL},
		{NAMED, "kind=welcome", "[{\"name\":\"kind\",\"value\":\"welcome\"}]", NULL},
		{NAMED, "a=1,\n b = 2",
			"[{\"name\":\"a\",\"value\":\"1\"},{\"name\":\"b\",\"value\":\"2\"}]",
			NULL},
		{META, "{\"order\": 7,\n \"of\": \"x\"}", NULL, "{\"order\":7,\"of\":\"x\"}"},
		{META, "{}", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *tags = NULL, *variables = NULL;
		struct err err = ERR_INIT;

		assert_int_equal(
			read_one(cases[i].field, cases[i].value, &tags, &variables, &err), 0);
		assert_true(cases[i].tags ? tags && str_eq(tags, cases[i].tags) : tags == NULL);
		assert_true(cases[i].variables ? variables && str_eq(variables, cases[i].variables)
					       : variables == NULL);
	}
}

static void test_bad(void **state)
{
	static const struct {
		enum field field;
		const char *value;
	} cases[] = {
		{TAG, ""},
		{TAG, " \t"},
		{TAG, "a\x01"},
		{TAG, "=?utf-8?q?a=0Ab?="},
		{NAMED, ""},
		{NAMED, "kind"},
		{NAMED, "=x"},
		{NAMED, "kind="},
		{NAMED, "kind=a b"},
		{NAMED, "a=1,"},
		{NAMED, "a=1=2"},
		{META, ""},
		{META, "[]"},
		{META, "{\"a\":}"},
		{META, "7"},
	};
	static const char *const names[] = {TAG_FIELD, TAG_NAMED_FIELD, TAG_META_FIELD};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *tags = NULL, *variables = NULL;
		struct err err = ERR_INIT;

		assert_int_equal(
			read_one(cases[i].field, cases[i].value, &tags, &variables, &err), -1);
		assert_int_equal(err.code, ERR_INVALID);
		assert_non_null(strstr(err.text, names[cases[i].field]));
		assert_true(tags == NULL && variables == NULL);
	}
}

static void test_too_much(void **state)
{
	struct tag_fields fields = {0};
	char *tags = NULL, *variables = NULL;
	char long_tag[TAG_FIELD_TEXT_MAX + 2];
	_cleanup_free_ char *blanks = mem_printf("{\"a\":\"%*s\"}", (int)TAG_FIELDS_META_MAX, "");
	struct err err = ERR_INIT;

	(void)state;
	memset(long_tag, 'x', sizeof(long_tag) - 1);
	long_tag[sizeof(long_tag) - 1] = '\0';
	assert_int_equal(read_one(TAG, long_tag, &tags, &variables, &err), -1);
	assert_int_equal(read_one(META, blanks, &tags, &variables, &err), -1);
	for (int i = 0; i < TAG_FIELDS_MAX; i++)
		strv_add(&fields.tags, "x");
	assert_int_equal(tag_fields_read(&fields, &tags, &variables, &err), 0);
	free(tags);
	tags = NULL;
	strv_add(&fields.named, "a=b");
	assert_int_equal(tag_fields_read(&fields, &tags, &variables, &err), -1);
	assert_non_null(strstr(err.text, "limit is 75"));
	tag_fields_clear(&fields);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_too_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
