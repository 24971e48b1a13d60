/* form_macros: what is put into texts, and how long they become. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/form/form_variables.h"

#define VALUES "{\"a\": \"x\", \"long\": \"0123456789\", \"\": \"e\", \"no\": null}"

static const struct {
	const char *text;
	const char *expected;
	const char *without; /* recipient */
} cases[] = {
	{"", "", ""},
	{"plain", "plain", "plain"},
	{"%", "%", "%"},
	{"100%", "100%", "100%"},
	{"%recipient%", "b@dst.test", "%recipient%"},
	{"%recipient.a%", "x", "%recipient.a%"},
	{"%recipient.a%%recipient.long%", "x0123456789", "%recipient.a%%recipient.long%"},
	{"%recipient.b%", "%recipient.b%", "%recipient.b%"},
	{"%recipient.no%", "%recipient.no%", "%recipient.no%"},
	{"%recipient.%", "e", "%recipient.%"},
	{"%recipient.a", "%recipient.a", "%recipient.a"},
	{"%%recipient.a%%", "%x%", "%%recipient.a%%"},
	{"50%recipient.a%", "50x", "50%recipient.a%"},
	{"%unsubscribe_url%", "", ""},
	{"<%unsubscribe_url%>, %tag_unsubscribe_email%", "<>, ", "<>, "},
	{"%unsubscribe_url", "%unsubscribe_url", "%unsubscribe_url"},
};

static void check(const struct form_recipient *recipient, const char *given, const char *expected)
{
	char *text = mem_strdup(given);

	assert_int_equal(form_macros_size(recipient, text), strlen(expected));
	form_macros_apply(recipient, &text);
	assert_string_equal(text, expected);
	free(text);
}

static void test_apply(void **state)
{
	const struct form_recipient nobody = {NULL, NULL};
	json_t *values = json_loads(VALUES, 0, NULL);
	const struct form_recipient recipient = {"b@dst.test", values};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		check(&recipient, cases[i].text, cases[i].expected);
		check(&nobody, cases[i].text, cases[i].without);
	}
	json_decref(values);
}

static void test_nothing(void **state)
{
	const struct form_recipient nobody = {NULL, NULL};
	char *text = NULL;

	(void)state;
	assert_int_equal(form_macros_size(&nobody, NULL), 0);
	form_macros_apply(&nobody, &text);
	assert_null(text);
}

static void test_removed(void **state)
{
	(void)state;
	assert_true(form_macros_removed_in("<%unsubscribe_url%>"));
	assert_true(form_macros_removed_in("%%unsubscribe_email%"));
	assert_false(form_macros_removed_in("%recipient.a% 100%"));
	assert_false(form_macros_removed_in(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apply),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
