/* store_fate: pairs of facts in both orders, pairs of states, and the word for
 * a whole email. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/mem.h"
#include "core/store/store_fate.h"

/* What lines say of one address leads to the same state in any order, and
 * saying it again changes nothing. */
static void test_order(void **state)
{
	static const enum fact said[] = {FACT_DEFERRED, FACT_HANDED_ON, FACT_DELIVERED,
		FACT_BOUNCED, FACT_EXPIRED, FACT_DISCARDED, FACT_REMOVED};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		for (size_t k = 0; k < ARRAY_SIZE(said); k++) {
			enum fate one = fate_next(fate_next(FATE_QUEUED, said[i]), said[k]);
			enum fate other = fate_next(fate_next(FATE_QUEUED, said[k]), said[i]);

			assert_int_equal(one, other);
			assert_int_equal(one, fate_next(one, said[i]));
			assert_int_equal(one, fate_next(one, said[k]));
		}
	/* That the queue does not have it says nothing, once a line does. */
	for (size_t i = 0; i < ARRAY_SIZE(said); i++)
		assert_int_equal(fate_next(FATE_UNKNOWN, said[i]), fate_next(FATE_QUEUED, said[i]));
}

/* No two are equal, and `delivered` is the best. */
static void test_worse(void **state)
{
	(void)state;
	for (unsigned i = 0; i < FATES; i++)
		for (unsigned k = 0; k < FATES; k++) {
			enum fate a = (enum fate)i, b = (enum fate)k;

			assert_int_equal(fate_is_worse(a, b) + fate_is_worse(b, a), a != b);
			if (b == FATE_DELIVERED)
				assert_int_equal(fate_is_worse(a, b), a != b);
		}
}

/* The fact of a state leads to it. */
static void test_facts_of_fates(void **state)
{
	(void)state;
	for (enum fate fate = FATE_QUEUED; fate < FATES; fate++)
		assert_int_equal(fate_of_fact(fate_fact(fate)), fate);
}

static const struct {
	size_t counts[FATES];
	const char *event;
} emails[] = {
	{{[FATE_QUEUED] = 1}, "sent"},
	{{[FATE_QUEUED] = 1, [FATE_BOUNCED] = 1}, "sent"},
	{{[FATE_HANDED_ON] = 1, [FATE_DELIVERED] = 1}, "sent"},
	{{[FATE_QUEUED] = 1, [FATE_DEFERRED] = 1}, "delivery_delayed"},
	{{[FATE_DEFERRED] = 1, [FATE_BOUNCED] = 5}, "delivery_delayed"},
	{{[FATE_DELIVERED] = 3}, "delivered"},
	{{[FATE_DELIVERED] = 3, [FATE_UNKNOWN] = 1}, "sent"},
	{{[FATE_DELIVERED] = 3, [FATE_COMPLAINED] = 1}, "complained"},
	{{[FATE_COMPLAINED] = 3, [FATE_REMOVED] = 1}, "failed"},
	{{[FATE_DELIVERED] = 3, [FATE_DISCARDED] = 1}, "failed"},
	{{[FATE_DISCARDED] = 3, [FATE_EXPIRED] = 1}, "bounced"},
	{{[FATE_DELIVERED] = 3, [FATE_BOUNCED] = 1}, "bounced"},
	{{[FATE_UNKNOWN] = 1, [FATE_BOUNCED] = 1}, "bounced"},
	{{[FATE_UNKNOWN] = 1}, "sent"},
	{{0}, "sent"},
};

static void test_last_event(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(emails); i++)
		assert_string_equal(fate_last_event(emails[i].counts), emails[i].event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_worse),
		cmocka_unit_test(test_facts_of_fates),
		cmocka_unit_test(test_last_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
