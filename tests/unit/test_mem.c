/*
 * Allocation that cannot fail, and scoped ownership.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"

struct thing {
	int *freed;
};

static void thing_free(struct thing *thing)
{
	if (thing)
		(*thing->freed)++;
	free(thing);
}
DEFINE_CLEANUP(thing, thing_free)

static void test_alloc_is_zeroed(void **state)
{
	_cleanup_free_ char *block = mem_alloc(100, 10);
	_cleanup_free_ char *none = mem_alloc(0, 0);
	_cleanup_free_ struct thing *thing = mem_new(struct thing);

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(block[i], 0);
	assert_non_null(none);
	assert_null(thing->freed);
}

static void test_grow_keeps(void **state)
{
	_cleanup_free_ char *block = mem_grow(NULL, 4, 1);

	(void)state;
	memcpy(block, "abc", 4);
	block = mem_grow(block, 100000, 1);
	assert_string_equal(block, "abc");
}

static void test_copies(void **state)
{
	_cleanup_free_ char *dup = mem_dup("ab\0c", 4);
	_cleanup_free_ char *nothing = mem_dup(NULL, 0);
	_cleanup_free_ char *text = mem_strdup("text");
	_cleanup_free_ char *printed = mem_printf("%d%s", 7, "x");

	(void)state;
	assert_memory_equal(dup, "ab\0c\0", 5);
	assert_string_equal(nothing, "");
	assert_string_equal(text, "text");
	assert_string_equal(printed, "7x");
	assert_null(mem_strdup(NULL));
}

static struct thing *make(int *freed, bool hand_on)
{
	_cleanup_(thing) struct thing *thing = mem_new(struct thing);

	thing->freed = freed;
	return hand_on ? TAKE_PTR(thing) : NULL;
}

static void test_scopes(void **state)
{
	int freed = 0;
	struct thing *thing;

	(void)state;
	assert_null(make(&freed, false));
	assert_int_equal(freed, 1);
	thing = make(&freed, true);
	assert_int_equal(freed, 1);
	thing_free(thing);
	assert_int_equal(freed, 2);
}

/* More than there can be ends the process, with a word. */
static void run_out_of_memory(void)
{
	volatile size_t huge = SIZE_MAX / 2;

	if (freopen("/dev/null", "w", stderr) == NULL)
		_exit(0);
	free(mem_grow(NULL, huge, 4));
	_exit(0);
}

static void test_out_of_memory_aborts(void **state)
{
	int status;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		run_out_of_memory();
	assert_int_equal(waitpid(child, &status, 0), child);
	/* By abort(), or by the sanitizer that checks such sizes first. */
	assert_true(WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_is_zeroed),
		cmocka_unit_test(test_grow_keeps),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_out_of_memory_aborts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
