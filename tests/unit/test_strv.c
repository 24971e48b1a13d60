/*
 * A list of strings that it owns.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/strv.h"

static void test_add(void **state)
{
	_cleanup_strv_ struct strv list = STRV_INIT;

	(void)state;
	assert_int_equal(list.n, 0);
	for (int i = 0; i < 100; i++) {
		_cleanup_free_ char *text = mem_printf("%d", i);

		strv_add(&list, text);
		assert_int_equal(list.n, i + 1);
		assert_null(list.items[list.n]);
	}
	assert_string_equal(list.items[0], "0");
	assert_string_equal(list.items[99], "99");
}

static void test_take(void **state)
{
	_cleanup_strv_ struct strv list = STRV_INIT;
	char *text = mem_strdup("mine");

	(void)state;
	strv_take(&list, text);
	assert_ptr_equal(list.items[0], text);
}

static void test_add_all_copies(void **state)
{
	_cleanup_strv_ struct strv from = STRV_INIT;
	_cleanup_strv_ struct strv to = STRV_INIT;

	(void)state;
	strv_add_all(&to, &from);
	assert_int_equal(to.n, 0);
	strv_add(&from, "a");
	strv_add(&from, "b");
	strv_add(&to, "x");
	strv_add_all(&to, &from);
	assert_int_equal(to.n, 3);
	assert_string_equal(to.items[2], "b");
	assert_ptr_not_equal(to.items[2], from.items[1]);
}

static void test_has(void **state)
{
	_cleanup_strv_ struct strv list = STRV_INIT;

	(void)state;
	assert_false(strv_has(&list, ""));
	strv_add(&list, "One");
	strv_add(&list, "two");
	assert_true(strv_has(&list, "One"));
	assert_true(strv_has(&list, "two"));
	assert_false(strv_has(&list, "one"));
	assert_false(strv_has(&list, "On"));
}

static void test_split_and_join(void **state)
{
	static const struct {
		const char *text;
		size_t n;
		const char *joined; /* with `; ` */
	} cases[] = {
		{NULL, 0, ""},
		{"", 0, ""},
		{"a", 1, "a"},
		{"a,b", 2, "a; b"},
		{"a,,b", 3, "a; ; b"},
		{",", 2, "; "},
		{" a , b ", 2, " a ;  b "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strv_ struct strv list = STRV_INIT;
		_cleanup_free_ char *joined = NULL;

		strv_split(&list, cases[i].text, ',');
		assert_int_equal(list.n, cases[i].n);
		joined = strv_join(&list, "; ");
		assert_string_equal(joined, cases[i].joined);
	}
}

static void test_split_adds(void **state)
{
	_cleanup_strv_ struct strv list = STRV_INIT;

	(void)state;
	strv_add(&list, "x");
	strv_split(&list, "a b", ' ');
	assert_int_equal(list.n, 3);
	assert_string_equal(list.items[0], "x");
}

static void test_free_starts_anew(void **state)
{
	struct strv list = STRV_INIT;

	(void)state;
	strv_free(&list);
	strv_add(&list, "a");
	strv_free(&list);
	assert_int_equal(list.n, 0);
	assert_null(list.items);
	strv_add(&list, "b");
	assert_string_equal(list.items[0], "b");
	strv_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_add_all_copies),
		cmocka_unit_test(test_has),
		cmocka_unit_test(test_split_and_join),
		cmocka_unit_test(test_split_adds),
		cmocka_unit_test(test_free_starts_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
