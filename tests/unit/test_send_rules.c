/*
 * The sending rules: every combination of facts against the table of what the
 * interface says, row by row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/policy/send_rules.h"

/* How the restriction of the key relates to the domain of the header From. */
enum bound { FREE, SAME, OTHER };

static const char *const key_domains[] = {
	[FREE] = NULL,
	[SAME] = "a.example",
	[OTHER] = "b.example",
};

/* All 18 combinations: scope, restriction, status. */
static const struct {
	bool may_send;
	enum bound bound;
	enum domain_status status;
	enum send_decision decision;
} cases[] = {
	{false, FREE, DOMAIN_NOT_OWN, RULES_NOT_OWN},
	{false, FREE, DOMAIN_INACTIVE, RULES_NO_SCOPE},
	{false, FREE, DOMAIN_ACTIVE, RULES_NO_SCOPE},
	{false, SAME, DOMAIN_NOT_OWN, RULES_NOT_OWN},
	{false, SAME, DOMAIN_INACTIVE, RULES_NO_SCOPE},
	{false, SAME, DOMAIN_ACTIVE, RULES_NO_SCOPE},
	{false, OTHER, DOMAIN_NOT_OWN, RULES_NOT_OWN},
	{false, OTHER, DOMAIN_INACTIVE, RULES_NO_SCOPE},
	{false, OTHER, DOMAIN_ACTIVE, RULES_NO_SCOPE},
	{true, FREE, DOMAIN_NOT_OWN, RULES_NOT_OWN},
	{true, FREE, DOMAIN_INACTIVE, RULES_INACTIVE},
	{true, FREE, DOMAIN_ACTIVE, RULES_ALLOWED},
	{true, SAME, DOMAIN_NOT_OWN, RULES_NOT_OWN},
	{true, SAME, DOMAIN_INACTIVE, RULES_INACTIVE},
	{true, SAME, DOMAIN_ACTIVE, RULES_ALLOWED},
	{true, OTHER, DOMAIN_NOT_OWN, RULES_NOT_OWN},
	{true, OTHER, DOMAIN_INACTIVE, RULES_KEY_RESTRICTED},
	{true, OTHER, DOMAIN_ACTIVE, RULES_KEY_RESTRICTED},
};

static void test_every_combination(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_SIZE(cases), 2 * 3 * 3);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct send_facts facts = {
			.key_may_send = cases[i].may_send,
			.key_domain = key_domains[cases[i].bound],
			.from_domain = "a.example",
			.status = cases[i].status,
		};

		if (send_rules_check(&facts) != cases[i].decision)
			fail_msg("case %zu: got %d, want %d", i, send_rules_check(&facts),
				cases[i].decision);
	}
}

/* A domain that merely begins or ends like the key's is another one. */
static void test_similar_domains_differ(void **state)
{
	static const char *const others[] = {
		"a.example.net", "a.exampl", "x.a.example", ".a.example", "a.example.", ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		const struct send_facts facts = {
			.key_may_send = true,
			.key_domain = "a.example",
			.from_domain = others[i],
			.status = DOMAIN_ACTIVE,
		};

		assert_int_equal(send_rules_check(&facts), RULES_KEY_RESTRICTED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_combination),
		cmocka_unit_test(test_similar_domains_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
