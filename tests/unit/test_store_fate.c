/* store_fate: every state with every fact, and the word for a whole email. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/mem.h"
#include "core/store/store_fate.h"

/* The state that follows, in the order of enum fact: accepted, deferred,
 * handed_on, delivered, bounced, expired, discarded, removed, lost, complained;
 * - for a fact that is no news. */
static const char *const steps[FATES] = {
	[FATE_QUEUED] = "queued deferred handed_on delivered bounced expired "
			"discarded removed unknown complained",
	[FATE_DEFERRED] = "deferred deferred handed_on delivered bounced "
			  "expired discarded removed unknown complained",
	[FATE_HANDED_ON] = "handed_on deferred handed_on delivered bounced "
			   "expired discarded removed unknown complained",
	[FATE_DELIVERED] = "- - - - bounced expired discarded - - complained",
	[FATE_BOUNCED] = "- - - - - - - - - -",
	[FATE_EXPIRED] = "- - - - - - - - - -",
	[FATE_DISCARDED] = "- - - - bounced expired - - - -",
	[FATE_REMOVED] = "- - - delivered bounced - - - - -",
	[FATE_UNKNOWN] = "unknown deferred handed_on delivered bounced expired "
			 "discarded removed - complained",
	[FATE_COMPLAINED] = "- - - - - - - - - -",
};

static void test_steps(void **state)
{
	(void)state;
	for (unsigned fate = 0; fate < FATES; fate++) {
		const char *at = steps[fate];

		for (unsigned fact = 0; fact < FACTS; fact++) {
			struct fate_step step = fate_next(
				(enum fate)fate, (enum fact)fact);
			size_t len = strcspn(at, " ");
			_cleanup_free_ char *word = mem_dup(at, len);

			assert_int_equal(step.news, strcmp(word, "-") != 0);
			assert_string_equal(fate_name(step.fate),
				step.news ? word : fate_name((enum fate)fate));
			at += len + (at[len] == ' ');
		}
		assert_string_equal(at, "");
	}
}

/* Behind an alias the last word does not depend on the order: no two facts that
 * end something lead to two ends. */
static void test_order(void **state)
{
	static const enum fact ends[] = {FACT_DELIVERED, FACT_BOUNCED,
		FACT_DISCARDED, FACT_DEFERRED, FACT_HANDED_ON};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		for (size_t k = 0; k < 3; k++) {
			enum fate one = fate_next(
				fate_next(FATE_QUEUED, ends[i]).fate, ends[k])
						.fate;
			enum fate other = fate_next(
				fate_next(FATE_QUEUED, ends[k]).fate, ends[i])
						  .fate;

			assert_int_equal(one, other);
		}
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
		assert_string_equal(
			fate_last_event(emails[i].counts), emails[i].event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_last_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
