/*
 * stop: who gets a bounce, and who never.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/policy/verdict.h"

static void test_ways(void **state)
{
	static const struct {
		struct stop_facts facts;
		enum stop_way way;
	} cases[] = {
		/* SMTP has a reply. */
		{{ORIGIN_INTERNAL, false, false, STOP_HOLD}, STOP_REJECT},
		{{ORIGIN_INTERNAL, true, true, STOP_DISCARD}, STOP_REJECT},
		{{ORIGIN_LOGIN, false, true, STOP_DISCARD}, STOP_REJECT},
		{{ORIGIN_EXTERNAL, false, false, STOP_DISCARD}, STOP_REJECT},
		/* Our own email is answered by httpd. */
		{{ORIGIN_LOCAL, true, true, STOP_REJECT}, STOP_DISCARD},
		{{ORIGIN_LOCAL, true, false, STOP_HOLD}, STOP_DISCARD},
		/* A bounce goes to a mailbox of this host. */
		{{ORIGIN_LOCAL, false, true, STOP_REJECT}, STOP_REJECT},
		{{ORIGIN_LOCAL, false, false, STOP_REJECT}, STOP_HOLD},
		{{ORIGIN_LOCAL, false, true, STOP_HOLD}, STOP_HOLD},
		{{ORIGIN_LOCAL, false, false, STOP_HOLD}, STOP_HOLD},
		{{ORIGIN_LOCAL, false, true, STOP_DISCARD}, STOP_DISCARD},
		{{ORIGIN_LOCAL, false, false, STOP_DISCARD}, STOP_DISCARD},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (stop_decide(&cases[i].facts) != cases[i].way)
			fail_msg("%zu", i);
}

static void test_own(void **state)
{
	static const struct verdict_facts own = {
		.ticket_alone = true, .sender_matches = true, .content_matches = true};
	static const bool expected[REASONS] = {
		[REASON_OTHER_DOMAIN] = true,
		[REASON_KEY_INVALID] = true,
		[REASON_DOMAIN_NOT_OWNED] = true,
		[REASON_DOMAIN_INACTIVE] = true,
		[REASON_TICKET_REFUSED] = true,
		[REASON_TICKET_LOST] = true,
	};
	/* Whoever has its id as well as its ticket. */
	static const struct verdict_facts traced = {.trace_matches = true};
	static const bool also[REASONS] = {
		[REASON_TICKET_MISMATCH] = true,
		[REASON_TOO_MANY_FIELDS] = true,
	};

	(void)state;
	for (int i = 0; i < REASONS; i++) {
		struct verdict_facts facts[] = {own, own, own, own};

		facts[0].ticket_alone = false;
		facts[1].sender_matches = false;
		facts[2].content_matches = false;
		facts[3].ticket = TICKET_SENT;
		if (stop_is_own(&own, (enum verdict_reason)i) != expected[i])
			fail_msg("%d", i);
		assert_int_equal(
			stop_is_own(&traced, (enum verdict_reason)i), expected[i] || also[i]);
		for (size_t k = 0; k < ARRAY_SIZE(facts); k++)
			assert_int_equal(stop_is_own(&facts[k], (enum verdict_reason)i),
				k < 3 && i == REASON_TICKET_LOST);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
