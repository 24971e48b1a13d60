/* nearest: distances, and what is near enough to be named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/arguments.h"
#include "core/base/mem.h"

static void test_distances(void **state)
{
	static const struct {
		const char *a, *b;
		size_t distance;
	} cases[] = {
		{"", "", 0},
		{"list", "list", 0},
		{"", "add", 3},
		{"lst", "list", 1},
		{"listt", "list", 1},
		{"lisd", "list", 1},
		{"lsit", "list", 1},
		{"ilts", "list", 2},
		{"domain", "company", 4},
		{"kitten", "sitting", 3},
		{"0123456789012345678901234567890123", "list", 38},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(nearest_distance(cases[i].a, cases[i].b), cases[i].distance);
		assert_int_equal(nearest_distance(cases[i].b, cases[i].a), cases[i].distance);
	}
}

static void test_nearest(void **state)
{
	static const char *const words[] = {
		"add", "activate", "deactivate", "set", "list", "remove", "lint"};
	static const struct {
		const char *text, *word;
	} cases[] = {
		{"lsit", "list"},
		{"lit", "list"},
		{"actvate", "activate"},
		{"deactivate", "deactivate"},
		{"rmove", "remove"},
		{"ad", "add"},
		{"delete", NULL},
		{"", NULL},
		{"x", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct nearest nearest = {.text = cases[i].text};

		for (size_t k = 0; k < ARRAY_SIZE(words); k++)
			nearest_try(&nearest, words[k]);
		if (cases[i].word == NULL)
			assert_null(nearest.word);
		else
			assert_string_equal(nearest.word, cases[i].word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_nearest),
	};

	return cmocka_run_group_tests_name("nearest", tests, NULL, NULL);
}
