/* addr_field: what Postfix would leave as it is, and what it would change.
 *
 * The rows are what cleanup(8) of Postfix 3.7 was seen to do: tests/daemon has
 * them sent through one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/address/addr_field.h"
#include "core/base/buf.h"
#include "core/base/mem.h"

static int check(const char *value, struct err *err)
{
	return addr_field_check((struct span){value, strlen(value)}, err);
}

static const char *const kept[] = {
	"",
	" \r\n\t",
	"a@x.test",
	"<a@x.test>",
	"John <a@x.test>",
	"\"Doe, John\" <a@x.test>",
	"\"Doe; a@b: <c>\" <a@x.test>",
	"A. B. Doe <a@x.test>",
	"Bang! a|b 5% <a@x.test>",
	"John\\, Doe <a@x.test>",
	"b@y.test <a@x.test>",
	"J [x] <a@x.test>",
	"J\xc3\xb6rg <a@x.test>",
	"J\xf6rg <a@x.test>",
	"=?utf-8?Q?Doe=2C_J!?= <a@x.test>",
	"a@x.test (Doe, John)",
	"(a (b, \\) c)) a@x.test",
	"John (x, y) <a(z)@x.test>",
	"a@(c)x.test",
	"a.b+c@x.test",
	"a!b@x.test",
	"a%b@x.test",
	"\"a b\"@x.test",
	"\"a,b\"@x.test",
	"\"a\"@x.test",
	"\"a\\\"b\"@x.test",
	"a@[192.0.2.1]",
	"John <a@[IPv6:2001:db8::1]>",
	"a@m\xc3\xbcnchen.test",
	"a@X_y.-test",
	"a @ x . test",
	"a@x.test, b@x.test",
	"a@x.test,, b@x.test,",
	"\"A\" <a@x.test>\r\n ,\"B\"\r\n\t<b@x.test>",
	"undisclosed-recipients:;",
	"Group: a@x.test, John <b@x.test>;",
	"Group: a@x.test;, c@x.test",
	"A: a@x.test;, B: b@x.test, c@x.test;",
	"<>",
	"\"\" <>",
};

/* value, what the text has */
static const char *const changed[][2] = {
	{"Doe, John <a@x.test>", "needs quotes: \"Doe, John\" <a@x.test>"},
	{"b@x.test, Doe, Dr. John <a@x.test>", "needs quotes: \"Doe, Dr. John\" <a@x.test>"},
	{"Doe; John <a@x.test>", "needs quotes: \"Doe; John\" <a@x.test>"},
	{"Info: Acme <a@x.test>", "needs quotes: \"Info: Acme\" <a@x.test>"},
	{"Acme \"X\", Inc. <a@x.test>", "\"Acme\""},
	{"=?utf-8?Q?Doe, J?= <a@x.test>", "a comma as =2C"},
	{"a", "\"a\" in it as an address, and would change it: it has no domain"},
	{"friends", "it has no domain"},
	{"undisclosed-recipients:", "it has no domain"},
	{"\"not closed <a@x.test>", "it has no domain"},
	{"a@x.test b", "it has no domain"},
	{"<a@x.test> John", "it has no domain"},
	{"a@x", "its domain has no dot"},
	{"a@x.test.", "its domain is none"},
	{"a@.x.test", "its domain is none"},
	{"a@x.test\\,", "its domain is none"},
	{"a@", "its domain is none"},
	{"a@x.test@y.test", "its domain is none"},
	{"a@x.\"y\".test", "its domain is none"},
	{"@x.test", "nothing stands before the @"},
	{"<@r.test:a@x.test>", "nothing stands before the @"},
	{"a..b@x.test", "needs quotes"},
	{".a@x.test", "needs quotes"},
	{"a.@x.test", "needs quotes"},
	{"a\\b@x.test", "needs quotes"},
	{"\"a\".b@x.test", "needs quotes"},
	{"mailto:a@x.test", "needs quotes"},
	{"[a]@x.test", "needs quotes"},
	{"<b@x.test", "needs quotes"},
	{"\"\"@x.test", "the part before the @ is none"},
	{"<John> <a@x.test>", "it has no domain"},
	{"Group: friends;", "it has no domain"},
	{"Group: a@x.test; b", "it has no domain"},
};

static void test_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		struct err err = ERR_INIT;

		if (check(kept[i], &err) < 0)
			fail_msg("%s: %s", kept[i], err.text);
	}
}

static void test_changed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changed); i++) {
		struct err err = ERR_INIT;

		if (check(changed[i][0], &err) == 0)
			fail_msg("%s: it is kept", changed[i][0]);
		assert_int_equal(err.code, ERR_INVALID);
		if (strstr(err.text, changed[i][1]) == NULL)
			fail_msg("%s: %s", changed[i][0], err.text);
	}
}

/* The first fault is told. */
static void test_first(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(check("a, b@x, <c>", &err), -1);
	assert_non_null(strstr(err.text, "reads \"a\""));
}

static void test_many_tokens(void **state)
{
	static const struct {
		const char *last;
		int result;
	} rows[] = {
		{"a@b.c", -1},
		{"(b, (c)) () (\\)) (d", 0},
		{"() () () () ()", -1},
		{"\"d, e\" <>,", 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_buf_ struct buf value = BUF_INIT;
		struct err err = ERR_INIT;

		for (int k = 0; k < 1706; k++) /* of six tokens */
			buf_add_str(&value, " a@b.c,\r\n");
		buf_add_str(&value, rows[i].last);
		assert_int_equal(check(value.data, &err), rows[i].result);
		if (rows[i].result < 0)
			assert_string_equal(err.text,
				"it has more than 10240 words and separators, which are all that "
				"Postfix reads");
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_true(addr_field_is("From"));
	assert_true(addr_field_is("resent-sender"));
	assert_true(addr_field_is("Disposition-Notification-To"));
	assert_false(addr_field_is("X-From"));
	assert_false(addr_field_is("Message-ID"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kept),
		cmocka_unit_test(test_changed),
		cmocka_unit_test(test_first),
		cmocka_unit_test(test_many_tokens),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
