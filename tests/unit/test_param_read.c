/*
 * param_read: parameters as browsers, libraries and mail programs write them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/mime/mime_param.h"

static void test_is(void **state)
{
	static const struct {
		const char *header, *word;
		bool is;
	} cases[] = {
		{"form-data", "form-data", true},
		{"Form-DATA; name=a", "form-data", true},
		{"form-data ; name=a", "form-data", true},
		{"form-data\t;name=a", "form-data", true},
		{"form-datax", "form-data", false},
		{"form", "form-data", false},
		{"", "form-data", false},
		{" form-data", "form-data", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (param_read_is(cases[i].header, cases[i].word) != cases[i].is)
			fail_msg("%s", cases[i].header);
}

/* Of `x` with the parameter a in it; plain is what param_read() finds, name
 * what param_read_name() does, NULL: the same. */
static const struct {
	const char *header;
	int found;
	const char *plain, *name;
} cases[] = {
	{"x", 0, NULL, NULL},
	{"a=1", 0, NULL, NULL}, /* that is the value itself */
	{"x; a=1", 1, "1", NULL},
	{"x;a=1;b=2", 1, "1", NULL},
	{"x; A = 1 ; b=2", 1, "1", NULL},
	{"x; b=2; a=1; a=3", 1, "1", NULL},
	{"x; ab=1", 0, NULL, NULL},
	{"x; a", 0, NULL, NULL},
	{"x; a; a=1", 1, "1", NULL},
	{"x;;; ;a=1", 1, "1", NULL},
	{"x; a=", 1, "", NULL},
	{"x; a=\"\"", 1, "", NULL},
	{"x; a=\"1; b=2\"", 1, "1; b=2", NULL},
	{"x; b=\"; a=2\"; a=1", 1, "1", NULL},
	{"x; b=\"1\"; a=1", 1, "1", NULL},
	{"x; a=\"1\" ; b=2", 1, "1", NULL},
	{"x; a=two words ; b=2", 1, "two words", NULL},
	/* Quotes that are escaped, or are not. */
	{"x; a=\"say \\\"hi\\\"\"", 1, "say \"hi\"", NULL},
	{"x; a=\"say \"hi\" now\"; b=1", 1, "say \"hi\" now", NULL},
	{"x; a=\"say %22hi%22\"", 1, "say %22hi%22", "say \"hi\""},
	{"x; a=\"100%\"", 1, "100%", NULL},
	{"x; a=\"%0d%0A%2e\"", 1, "%0d%0A%2e", "\r\n%2e"},
	/* Paths of another system. */
	{"x; a=\"C:\\dir\\file\"", 1, "C:\\dir\\file", NULL},
	{"x; a=\"C:\\\\dir\"", 1, "C:\\dir", NULL},
	{"x; a=\"C:\\dir\\\"", 1, "C:\\dir\\", NULL},
	{"x; a=C:\\dir\\", 1, "C:\\dir\\", NULL},
	/* Without an end. */
	{"x; a=\"1", -1, NULL, NULL},
	{"x; a=\"", -1, NULL, NULL},
	{"x; b=\"1; a=1", -1, NULL, NULL},
	/* RFC 8187; what is wrong with it counts as not there. */
	{"x; a=1; a*=UTF-8''%C3%A9", 1, "1", "é"},
	{"x; a*=utf-8'en'a%20b; a=1", 1, "1", "a b"},
	{"x; a*=ISO-8859-1''%E9; a=1", 1, "1", "é"},
	{"x; a*=ISO-8859-1''%80; a=1", 1, "1", "€"},
	{"x; a*=bogus''%E9; a=1", 1, "1", "1"},
	{"x; a*=UTF-8''%C; a=1", 1, "1", "1"},
	{"x; a*=UTF-8''%00; a=1", 1, "1", "1"},
	{"x; a*=nothing; a=1", 1, "1", "1"},
};

typedef int reader(const char *header, const char *name, char **value_r);

static void check(reader *read, size_t i, const char *wanted)
{
	char untouched[] = "untouched", *value = untouched;
	int found = read(cases[i].header, "a", &value);

	if (found != cases[i].found)
		fail_msg("%s: %d", cases[i].header, found);
	assert_string_equal(value, found > 0 ? wanted : untouched);
	if (found > 0)
		free(value);
}

static void test_values(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check(param_read, i, cases[i].plain);
		check(param_read_name, i, cases[i].name ? cases[i].name : cases[i].plain);
	}
}

/* A name that is given in the extended form alone. */
static void test_extended_alone(void **state)
{
	_cleanup_free_ char *value = NULL;

	(void)state;
	assert_int_equal(param_read("x; a*=UTF-8''b", "a", &value), 0);
	assert_int_equal(param_read_name("x; a*=UTF-8''b", "a", &value), 1);
	assert_string_equal(value, "b");
}

/* Pieces of a name do not make a look-up slow, and what is malformed has none. */
static void test_pieces(void **state)
{
	_cleanup_buf_ struct buf header = BUF_INIT;
	_cleanup_free_ char *value = NULL;
	char *none = NULL;

	(void)state;
	buf_add_str(&header, "x");
	for (int i = 0; i < 20000; i++)
		buf_printf(&header, "; a*%d=%d", i, i % 10);
	assert_int_equal(param_read_text(header.data, "a", &value), 1);
	assert_int_equal(strlen(value), 20000);
	free(value);
	/* What cannot be decoded is there as it stands. */
	assert_int_equal(param_read_text("x; a*0=\"report\"; a*1*=%00", "a", &value), 1);
	assert_string_equal(value, "report%00");
	free(value);
	assert_int_equal(param_read_text("x; a*0*=abc; a*1=def", "a", &value), 1);
	assert_string_equal(value, "abcdef");
	assert_int_equal(param_read_text("x; a*1=b; ab*0=c; a*0=\"d", "a", &none), -1);
	assert_null(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_extended_alone),
		cmocka_unit_test(test_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
