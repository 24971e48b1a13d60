/*
 * The verbs about who may do what, and who did: audit.
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

static void assert_says(const char *text, const char *wanted)
{
	if (strstr(text, wanted) == NULL)
		fail_msg("no \"%s\" in \"%s\"", wanted, text);
}

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

	(void)state;
	run_ok("domain add a.example --company %s", company);
	run("domain add a.example --company %s");
	assert_int_not_equal(at.status, EX_OK);
	run("domain set a.example --policy learn --subdomains all");
	assert_int_not_equal(at.status, EX_OK);
	run_ok("audit list --json");
	assert_int_equal(rows_printed(), 2);
}

int main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(                                       \
		test_##name, cli_box_set_up, cli_box_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(audit),
		TEST(failed_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
