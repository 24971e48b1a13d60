/*
 * Errors: their texts, and the table of what they mean outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <sysexits.h>

#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/base/str.h"

static void test_set(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(err.code, ERR_NONE);
	assert_int_equal(err_set(&err, ERR_EXISTS, "%s has %d", "x", 3), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_string_equal(err.text, "x has 3");
	assert_int_equal(err_set(NULL, ERR_EXISTS, "%s", "x"), -1);
}

static void test_prefix(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_set(&err, ERR_TEMPORARY, "disk full");
	assert_int_equal(err_prefix(&err, "commit %d", 7), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_string_equal(err.text, "commit 7: disk full");
	assert_int_equal(err_prefix(NULL, "commit"), -1);
}

/* A long text is cut, between characters, and stays a text. */
static void test_long_texts(void **state)
{
	(void)state;
	for (size_t len = ERR_TEXT_MAX - 10; len < ERR_TEXT_MAX + 10; len++) {
		_cleanup_free_ char *text = mem_alloc(len * 3 + 1, 1);
		struct err err = ERR_INIT;

		for (size_t i = 0; i < len; i++)
			memcpy(text + i * 3, "\xe2\x82\xac", 3);
		err_set(&err, ERR_INVALID, "%s", text + len * 3 - len / 3 * 3);
		assert_true(strlen(err.text) < ERR_TEXT_MAX);
		err_set(&err, ERR_INVALID, "%.*s%s", (int)(len % 3), "ab", text);
		assert_true(strlen(err.text) < ERR_TEXT_MAX);
		assert_true(strlen(err.text) > ERR_TEXT_MAX - 8);
		assert_true(str_utf8_valid(err.text, strlen(err.text)));
	}
}

static void test_long_prefixes(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_set(&err, ERR_INVALID, "\xe2\x82\xac");
	for (int i = 0; i < 300; i++) {
		err_prefix(&err, "%s", i % 2 ? "ab\xe2\x82\xac" : "a");
		assert_true(strlen(err.text) < ERR_TEXT_MAX);
		assert_true(str_utf8_valid(err.text, strlen(err.text)));
	}
	assert_true(str_starts(err.text, "ab\xe2\x82\xac: a: ab"));
}

static void test_copy(void **state)
{
	struct err from = ERR_INIT, err = ERR_INIT;

	(void)state;
	err_set(&from, ERR_EXISTS, "100%%s there");
	assert_int_equal(err_copy(&err, &from), -1);
	assert_int_equal(err.code, ERR_EXISTS);
	assert_string_equal(err.text, "100%s there");
	assert_int_equal(err_copy(NULL, &from), -1);
}

/* Permanent and temporary never share a code; all codes have their row. */
static void test_table(void **state)
{
	static const struct {
		enum err_code code;
		int http;
		int exit;
	} cases[] = {
		{ERR_NONE, 200, EX_OK},
		{ERR_INVALID, 422, EX_DATAERR},
		{ERR_NOT_FOUND, 500, EX_NOINPUT},
		{ERR_EXISTS, 500, EX_DATAERR},
		{ERR_DENIED, 403, EX_NOPERM},
		{ERR_TOO_LARGE, 413, EX_DATAERR},
		{ERR_TEMPORARY, 503, EX_TEMPFAIL},
		{ERR_SHARE, 503, EX_TEMPFAIL},
		{ERR_CONFIG, 503, EX_CONFIG},
		{ERR_INTERNAL, 500, EX_SOFTWARE},
	};

	(void)state;
	assert_int_equal(ARRAY_SIZE(cases), ERR_CODES);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct err_info *info = err_info(cases[i].code);

		assert_int_equal(cases[i].code, i);
		assert_int_equal(info->http_status, cases[i].http);
		assert_int_equal(info->exit_status, cases[i].exit);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_prefix),
		cmocka_unit_test(test_long_texts),
		cmocka_unit_test(test_long_prefixes),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
