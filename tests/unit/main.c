/*
 * main: the unit tests, one program for all. Each tests/unit/test_NAME.c has a
 * main() of its own, which the build renames to test_NAME_main(); each runs in
 * a process of its own, so none sees what another left behind.
 *
 * usage: unit         lists the tests
 *        unit NAME    runs one, with cmocka's exit status
 */
#include <stdio.h>
#include <string.h>

#define UNIT_TEST(name) int name##_main(void);
#include "gen/unit_tests.h"
#undef UNIT_TEST

static const struct {
	const char *name;
	int (*run)(void);
} unit_tests[] = {
#define UNIT_TEST(name) {#name, name##_main},
#include "gen/unit_tests.h"
};

int main(int argc, char **argv)
{
	size_t n = sizeof(unit_tests) / sizeof(unit_tests[0]);

	for (size_t i = 0; i < n; i++) {
		if (argc < 2)
			puts(unit_tests[i].name);
		else if (strcmp(argv[1], unit_tests[i].name) == 0)
			return unit_tests[i].run();
	}
	if (argc < 2)
		return 0;
	fprintf(stderr, "unit: no test %s\n", argv[1]);
	return 64;
}
