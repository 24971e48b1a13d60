/*
 * The verbs about who may do what, and who did: user, token, audit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <pwd.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/unit/cli_box.h"

static void test_audit(void **state)
{
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *other = add_company("B");

	(void)state;
	run_ok("domain add a.example --company %s", company);
	run_ok("domain set a.example --policy learn");
	run_ok("domain add b.example --company %s", other);

	run_ok("audit list");
	assert_says(at.out, "policy exclusive -> learn");
	assert_says(at.out, getpwuid(getuid())->pw_name);
	run_ok("audit list --json");
	assert_int_equal(rows_printed(), 5);
	assert_says(at.out, "\"actor\": \"command\"");
	assert_says(at.out, "\"before\": {\"id\": \"");
	assert_says(at.out, "\"before\": null");
	run_ok("audit list --json --limit 1");
	assert_int_equal(rows_printed(), 1);
	assert_says(at.out, "\"object_name\": \"b.example\"");
	run_ok("audit list --json --object a.example");
	assert_int_equal(rows_printed(), 2);
	run_ok("audit list --json --object %s", company);
	assert_int_equal(rows_printed(), 1);
	run_ok("audit list --json --company %s", company);
	assert_int_equal(rows_printed(), 3);
	run_ok("audit list --json --since 1h");
	assert_int_equal(rows_printed(), 5);
	run_ok("audit list --json --since 2100-01-01");
	assert_int_equal(rows_printed(), 0);

	run_ok("company remove %s", company);
	run_ok("audit list --json --company %s", company);
	assert_int_equal(rows_printed(), 5);
	run("audit list --since soon");
	assert_int_equal(at.status, EX_DATAERR);
	run("audit list --limit 0");
	assert_int_equal(at.status, EX_DATAERR);
}

/* What the command could not do is not told of. */
static void test_failed_change(void **state)
{
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *again = mem_printf("domain add a.example --company %s", company);

	(void)state;
	run_ok("domain add a.example --company %s", company);
	run(again);
	assert_int_equal(at.status, EX_DATAERR);
	assert_says(at.errors, "has been registered already");
	run("domain set a.example --policy learn --subdomains all");
	assert_int_not_equal(at.status, EX_OK);
	run_ok("audit list --json");
	assert_int_equal(rows_printed(), 2);
}

#define PASSWORD "correct horse battery"

/* The words, with a text to be read from standard input. */
static void run_with(const char *input, const char *text)
{
	int ends[2], old = dup(STDIN_FILENO);

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], input, strlen(input)), strlen(input));
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	run(text);
	dup2(old, STDIN_FILENO);
	close(old);
}

static void test_users(void **state)
{
	_cleanup_free_ char *company = add_company("A");
	_cleanup_free_ char *member = mem_printf(
		"user add bob --company %s --role viewer --json", company);

	(void)state;
	run_with(PASSWORD "\n", "user add ann --json");
	assert_int_equal(at.status, EX_OK);
	assert_says(at.out, "\"company_id\": null");
	assert_says(at.out, "\"role\": \"owner\"");
	assert_null(strstr(at.out, "argon2"));
	run_with(PASSWORD, member);
	assert_int_equal(at.status, EX_OK);
	assert_says(at.out, "\"role\": \"viewer\"");
	run_ok("user add robot --no-password --json");
	assert_says(at.out, "\"password_at\": null");
	run_ok("user list --json");
	assert_int_equal(rows_printed(), 3);
	run_ok("user list --company %s --json", company);
	assert_int_equal(rows_printed(), 1);
	run_ok("user set bob --role owner --json");
	assert_says(at.out, "\"role\": \"owner\"");
	run_with("another " PASSWORD "\n", "user passwd bob");
	assert_int_equal(at.status, EX_OK);

	run_ok("token create robot --name ci --days 3 --json");
	{
		_cleanup_free_ char *token = got("token");
		_cleanup_free_ char *id = got("id");

		assert_int_equal(strncmp(token, "pa_", 3), 0);
		run_ok("token list --json");
		assert_int_equal(rows_printed(), 1);
		assert_null(strstr(at.out, token));
		run_ok("audit list --json");
		assert_null(strstr(at.out, token));
		assert_null(strstr(at.out, "argon2"));
		run_ok("token revoke %s", id);
		run("token revoke " NO_ID);
		assert_int_equal(at.status, EX_NOINPUT);
	}
	run_ok("user link ann");
	assert_says(at.out, "http://127.0.0.1:8588/#/login?token=pa_");
	run_ok("user remove bob");
	run_ok("user remove robot");
	run_ok("user list --json");
	assert_int_equal(rows_printed(), 1);
}

/* A new password leaves tokens, which the command tells. */
static void test_password_and_tokens(void **state)
{
	(void)state;
	run_with(PASSWORD "\n", "user add ann");
	run_with(PASSWORD "\n", "user add bob");
	run_ok("token create bob --name other");
	run_with("another " PASSWORD "\n", "user passwd ann");
	assert_int_equal(at.status, EX_OK);
	assert_null(strstr(at.out, "token"));
	run_ok("token create ann --name one");
	run_ok("token create ann --name two --days 3");
	run_with(PASSWORD "\n", "user passwd ann");
	assert_int_equal(at.status, EX_OK);
	assert_says(at.out, "ann has a new password and is logged out");
	assert_says(at.out, "2 of their tokens stay good");
}

static void test_user_faults(void **state)
{
	static const struct {
		const char *words;
		const char *input;
		int status;
		const char *says;
	} cases[] = {
		{"user add ann", PASSWORD, EX_OK, ""},
		{"user add ann", PASSWORD, EX_DATAERR, "a user ann already"},
		{"user add bob", "short\n", EX_DATAERR, "shorter than 12"},
		{"user add bob", "", EX_DATAERR, "`postern user link`"},
		{"user add a~b", PASSWORD, EX_DATAERR, "blanks"},
		{"user add bob --role admin", "", EX_DATAERR, "owner, viewer"},
		{"user add bob --company " NO_ID, "", EX_NOINPUT, "no company"},
		{"user passwd bob", PASSWORD, EX_NOINPUT, "no user bob"},
		{"user set bob --role owner", "", EX_NOINPUT, "no user bob"},
		{"user remove bob", "", EX_NOINPUT, "no user bob"},
		{"user link bob", "", EX_NOINPUT, "no user bob"},
		{"token create bob --name x", "", EX_NOINPUT, "no user bob"},
		{"token create ann --name x --days 0", "", EX_DATAERR, "--days"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		run_with(cases[i].input, cases[i].words);
		if (at.status != cases[i].status)
			fail_msg("%s: %d, %s", cases[i].words, at.status, at.errors);
		assert_says(at.errors, cases[i].says);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, cli_box_setup, cli_box_teardown)
	const struct CMUnitTest tests[] = {
		TEST(audit),
		TEST(failed_change),
		TEST(users),
		TEST(password_and_tokens),
		TEST(user_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
