/* presented: which messages wait that Postfix presents again, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "milter/presented.h"

enum { SECOND = 1000 * 1000 };

static void test_wait(void **state)
{
	static const struct {
		int at_s;
		bool waits;
	} steps[] = {
		{0, true},
		{1, true},
		{PRESENTED_WAIT_S - 1, true},
		{PRESENTED_WAIT_S, false},
		{60, false},
		{PRESENTED_FORGET_S, true},
		{PRESENTED_FORGET_S + PRESENTED_WAIT_S, false},
	};
	struct presented *presented = presented_new();
	char email_id[ID_SIZE];

	(void)state;
	id_new(email_id);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		assert_int_equal(
			presented_again(presented, email_id, (1000LL + steps[i].at_s) * SECOND),
			steps[i].waits);
	presented_free(presented);
}

/* Each email has a time of its own. With one too many, the oldest is forgotten. */
static void test_many(void **state)
{
	const int64_t later_us = (int64_t)(PRESENTED_WAIT_S + 2) * SECOND;
	struct presented *presented = presented_new();
	char ids[PRESENTED_MAX + 1][ID_SIZE];

	(void)state;
	for (int i = 0; i <= PRESENTED_MAX; i++) {
		id_new(ids[i]);
		assert_true(presented_again(presented, ids[i], SECOND + i));
	}
	for (int i = 1; i <= PRESENTED_MAX; i++)
		assert_false(presented_again(presented, ids[i], later_us));
	assert_true(presented_again(presented, ids[0], later_us));
	presented_free(presented);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
