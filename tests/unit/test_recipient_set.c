/*
 * recipient_set: which recipients a set covers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/policy/recipient_set.h"

static void test_covers(void **state)
{
	static const struct {
		const char *whole, *seen; /* by blanks */
		bool covers;
	} cases[] = {
		{"a@x.test", "a@x.test", true},
		{"a@x.test", "<a@x.test>", true},
		{"a@x.test", "<a@X.TEST>", true},
		{"a@x.test", "A@x.test", false},
		{"a@x.test", "b@x.test", false},
		{"a@x.test", "a@x.test b@x.test", false},
		{"a@x.test b@x.test", "b@x.test", true},
		{"b@x.test c@x.test a@x.test", "c@x.test a@x.test b@x.test", true},
		{"a@x.test", "a@x.test <a@x.test>", true},
		{"\"q@u\"@x.test", "<\"q@u\"@x.test>", true},
		{"root", "<root>", true},
		{"a@x.test", "", false},
		{"", "a@x.test", false},
		{"", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strv_ struct strv whole = STRV_INIT;
		_cleanup_strv_ struct strv seen = STRV_INIT;
		_cleanup_buf_ struct buf set = BUF_INIT;
		_cleanup_free_ char *text = NULL;

		strv_split(&whole, cases[i].whole, ' ');
		strv_split(&seen, cases[i].seen, ' ');
		text = recipient_set_of(&whole);
		assert_int_equal(strlen(text), whole.n * RECIPIENT_DIGITS);
		for (size_t k = 0; k < seen.n; k++)
			recipient_set_add(&set, seen.items[k]);
		if (recipient_set_covers(text, &set) != cases[i].covers)
			fail_msg("%s, seen %s", cases[i].whole, cases[i].seen);
	}
}

static void test_many(void **state)
{
	_cleanup_strv_ struct strv whole = STRV_INIT;
	_cleanup_buf_ struct buf set = BUF_INIT;
	_cleanup_free_ char *text = NULL;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		strv_take(&whole, mem_printf("user%d@x.test", i));
		recipient_set_add(&set, whole.items[i]);
	}
	text = recipient_set_of(&whole);
	assert_true(recipient_set_covers(text, &set));
	recipient_set_add(&set, "user1000@x.test");
	assert_false(recipient_set_covers(text, &set));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_covers),
		cmocka_unit_test(test_many),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
