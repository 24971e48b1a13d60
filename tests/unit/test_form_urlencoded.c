/* Bodies of application/x-www-form-urlencoded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "httpd/form/form.h"
#include "tests/unit/form_show.h"

#define BAD "!unable to parse request: invalid URL escape"

static const struct {
	const char *body;
	const char *shown;
} cases[] = {
	{"", ""},
	{"a=1", "a=1;"},
	{"to=a%40x.org&to=b%40x.org", "to=a@x.org;to=b@x.org;"},
	{"o%3Atag=x&to%5B0%5D=a&to%5B%5D=b&to[]=c", "o:tag=x;to=a;to=b;to=c;"},
	{"a=b+c%2Bd&e+f=g", "a=b c+d;e f=g;"},
	{"a=1=2==", "a=1=2==;"},
	{"a", "a=;"},
	{"a=", "a=;"},
	{"=1", "=1;"},
	{"&&a=1&&", "a=1;"},
	{"a=%C3%A9\xc3\xa9", "a=\\c3\\a9\\c3\\a9;"},
	{"a=%0d%0A%00\r\n", "a=\\0d\\0a\\00\\0d\\0a;"},
	{"a=1;b=2", "a=1;b=2;"},
	{"a=%", BAD},
	{"a=%4", BAD},
	{"a=1%4&b=2", BAD},
	{"a=%4g", BAD},
	{"a=%g4", BAD},
	{"a=%-1", BAD},
	{"a=%%41", BAD},
	{"%zz=1", BAD},
	{"a%00b=1", BAD},
	{"good=1&bad=%", BAD},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_form_ struct form form = FORM_INIT;
		_cleanup_free_ char *shown = NULL;
		struct err err = ERR_INIT;
		int result = form_parse_urlencoded(
			cases[i].body, strlen(cases[i].body), &form, &err);

		shown = form_show(&form, result, &err);
		if (strcmp(shown, cases[i].shown) != 0)
			fail_msg("%s: got\n%s\nwanted\n%s", cases[i].body, shown, cases[i].shown);
		if (result < 0)
			assert_int_equal(err.code, ERR_INVALID);
	}
}

/* Only len bytes are read. */
static void test_length(void **state)
{
	_cleanup_form_ struct form form = FORM_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(form_parse_urlencoded("a=%41", 4, &form, &err), -1);
	assert_int_equal(form_parse_urlencoded("a=12", 3, &form, &err), 0);
	assert_string_equal(buf_str(&form_next(&form, "a", NULL)->value), "1");
}

static int parse_many(size_t n, struct form *form, struct err *err)
{
	_cleanup_buf_ struct buf body = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		buf_add_str(&body, "a=1&");
	return form_parse_urlencoded(body.data, body.len, form, err);
}

static void test_too_many(void **state)
{
	_cleanup_form_ struct form form = FORM_INIT;
	_cleanup_form_ struct form none = FORM_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(parse_many(FORM_FIELDS_MAX, &form, &err), 0);
	assert_int_equal(form.n, FORM_FIELDS_MAX);
	assert_int_equal(parse_many(FORM_FIELDS_MAX + 1, &none, &err), -1);
	assert_string_equal(err.text, "too many form fields, max is 4000");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
