/* program: output, ends of every kind, and the time limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/program.h"

static int run(const char *script, int64_t timeout_ms, struct buf *output, struct err *err)
{
	_cleanup_free_ char *text = mem_strdup(script);
	char shell[] = "sh", option[] = "-c";
	char *argv[] = {shell, option, text, NULL};

	*err = ERR_INIT;
	return program_output(argv, timeout_ms, output, err);
}

static const struct {
	const char *script;
	int64_t timeout_ms;
	enum err_code code;
	const char *output; /* NULL: whatever it came to */
	const char *text;
} cases[] = {
	{"echo hi", 10000, ERR_NONE, "hi\n", NULL},
	{"true", 10000, ERR_NONE, "", NULL},
	{"echo no >&2", 10000, ERR_NONE, "", NULL},
	{"echo a; exit 3", 10000, ERR_CONFIG, "a\n", "sh failed (exit status 3)"},
	{"cat", 10000, ERR_NONE, "", NULL},
	{"exit 1", 10000, ERR_NOT_FOUND, "", "sh found nothing"},
	{"echo a; exit 1", 10000, ERR_CONFIG, "a\n", "sh failed (exit status 1)"},
	{"echo no >&2; exit 1", 10000, ERR_CONFIG, "", "sh failed (exit status 1): no"},
	{"echo hm >&2; echo no >&2; echo >&2; exit 2", 10000, ERR_CONFIG, "",
		"sh failed (exit status 2): no"},
	{"head -c 300000 /dev/zero >&2; echo a", 10000, ERR_NONE, "a\n", NULL},
	{"kill -9 $$", 10000, ERR_CONFIG, "", "sh failed (signal 9)"},
	{"echo a; exec sleep 60", 100, ERR_TEMPORARY, NULL, "sh takes too long"},
	{"exec >&-; exec sleep 60", 100, ERR_TEMPORARY, "", "sh takes too long"},
};

static void test_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf output = BUF_INIT;
		struct err err;
		int result = run(cases[i].script, cases[i].timeout_ms, &output, &err);

		assert_int_equal(result, cases[i].code == ERR_NONE ? 0 : -1);
		assert_int_equal(err.code, cases[i].code);
		if (cases[i].output)
			assert_string_equal(buf_str(&output), cases[i].output);
		if (cases[i].text)
			assert_string_equal(err.text, cases[i].text);
	}
}

static void test_large_output(void **state)
{
	_cleanup_buf_ struct buf output = BUF_INIT;
	struct err err;

	(void)state;
	assert_int_equal(run("head -c 300000 /dev/zero", 10000, &output, &err), 0);
	assert_int_equal(output.len, 300000);
	assert_int_equal(run("exec cat /dev/zero", 10000, &output, &err), -1);
	assert_int_equal(err.code, ERR_TOO_LARGE);
}

/* Of a program that complains without end, memory gets a bounded part. */
static void test_bounded_complaints(void **state)
{
	_cleanup_buf_ struct buf output = BUF_INIT;
	struct err err;

	(void)state;
	assert_int_equal(
		run("head -c 40000000 /dev/zero >&2 2>/dev/null; stat -L -c %s /dev/stderr", 10000,
			&output, &err),
		0);
	assert_true(strtoll(buf_str(&output), NULL, 10) <= PROGRAM_COMPLAINTS_MAX);
	/* What it said before that is told, as ever. */
	assert_int_equal(
		run("echo no >&2; head -c 40000000 /dev/zero >&2; exit 3", 10000, &output, &err),
		-1);
	assert_int_equal(err.code, ERR_CONFIG);
}

static void test_no_program(void **state)
{
	char name[] = "/nonexistent/program";
	char *argv[] = {name, NULL};
	_cleanup_buf_ struct buf output = BUF_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(program_output(argv, 10000, &output, &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_large_output),
		cmocka_unit_test(test_bounded_complaints),
		cmocka_unit_test(test_no_program),
	};

	return cmocka_run_group_tests_name("program", tests, NULL, NULL);
}
