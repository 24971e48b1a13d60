/* budget: how many requests there may be, and what they may hold, from one thread and from many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>

#include "core/base/mem.h"
#include "httpd/admission/budget.h"

enum { MB = 1024 * 1024, LIMIT = 30 * MB };

/* The share is of a company that is called like it. */
#define ENTER(limit, n, share)                                                                     \
	(slots_take(&budget.requests, limit, #share, n, &share.requests) == SLOTS_TAKEN)

/* Small ones go on when large ones have all, and are counted. */
static void test_small_have_a_reserve(void **state)
{
	struct budget budget = {0};
	struct budget_share large = {0}, small[3] = {0};

	(void)state;
	assert_int_equal(
		budget_reserve_body(&budget, LIMIT, "large", 10 * MB, &large), BUDGET_TAKEN);
	assert_int_equal(
		budget_reserve_body(&budget, LIMIT, "small", 2 * MB, &small[0]), BUDGET_FULL);
	assert_int_equal(budget_reserve_body(&budget, LIMIT, "small", MB, &small[0]), BUDGET_TAKEN);
	assert_int_equal(budget_reserve_body(&budget, LIMIT, "small", MB, &small[1]), BUDGET_TAKEN);
	assert_int_equal(budget_used(&budget), LIMIT + 2 * BUDGET_FACTOR * MB);
	assert_int_equal(
		budget_reserve_body(&budget, LIMIT, "small", MB, &small[2]), BUDGET_COMPANY_FULL);
	budget_give_back(&large);
	assert_int_equal(budget_reserve_body(&budget, LIMIT, "small", MB, &small[2]), BUDGET_TAKEN);
	for (size_t i = 0; i < ARRAY_SIZE(small); i++)
		budget_give_back(&small[i]);
	assert_int_equal(budget_used(&budget), 0);
}

/* What is held is covered by what was taken in advance, until it is more. */
static void test_what_is_held(void **state)
{
	struct budget budget = {0};
	struct budget_share a = {0}, b = {0};

	(void)state;
	assert_int_equal(budget_reserve_body(&budget, LIMIT, "a", 5 * MB, &a), BUDGET_TAKEN);
	assert_int_equal(budget_count_bytes(&budget, LIMIT, "a", 10 * MB, &a), BUDGET_TAKEN);
	assert_int_equal(budget_used(&budget), 15 * MB);
	assert_int_equal(budget_count_bytes(&budget, LIMIT, "a", 10 * MB, &a), BUDGET_TAKEN);
	assert_int_equal(budget_used(&budget), 20 * MB);
	assert_int_equal(budget_count_bytes(&budget, LIMIT, "a", 11 * MB, &a), BUDGET_FULL);
	assert_int_equal(budget_count_bytes(&budget, LIMIT, "a", UINT64_MAX, &a), BUDGET_FULL);
	assert_int_equal(budget_count_bytes(&budget, LIMIT, "b", 11 * MB, &b), BUDGET_FULL);
	assert_int_equal(budget_used(&budget), 20 * MB);
	budget_uncount_bytes(&a, 18 * MB);
	assert_int_equal(budget_count_bytes(&budget, LIMIT, "a", MB, &a), BUDGET_TAKEN);
	assert_int_equal(budget_used(&budget), 20 * MB);
	budget_trim(&a, 2 * MB);
	assert_int_equal(budget_used(&budget), 6 * MB);
	budget_trim(&a, 5 * MB);
	assert_int_equal(budget_used(&budget), 6 * MB);
	budget_trim(&a, 0);
	assert_int_equal(budget_used(&budget), 3 * MB);
	budget_trim(&b, 0);
	budget_give_back(&a);
	assert_int_equal(budget_used(&budget), 0);
}

static void test_large_counts_several_times(void **state)
{
	struct budget budget = {0};
	struct budget_share a = {0}, b = {0}, c = {0};

	(void)state;
	assert_int_equal(budget_reserve_body(&budget, LIMIT, "a", 5 * MB, &a), BUDGET_TAKEN);
	assert_int_equal(budget_used(&budget), 5 * MB * BUDGET_FACTOR);
	/* Half of the limit is left, and b would leave nothing. */
	assert_int_equal(budget_reserve_body(&budget, LIMIT, "b", 5 * MB, &b), BUDGET_FULL);
	assert_int_equal(budget_reserve_body(&budget, LIMIT, "b", 2 * MB, &b), BUDGET_TAKEN);
	assert_int_equal(budget_reserve_body(&budget, LIMIT, "c", 3 * MB + 1, &c), BUDGET_FULL);
	assert_int_equal(c.bytes, 0);
	budget_give_back(&a);
	assert_int_equal(budget_reserve_body(&budget, LIMIT, "c", 2 * MB, &c), BUDGET_TAKEN);
	budget_give_back(&b);
	budget_give_back(&c);
	budget_give_back(&c);
	assert_int_equal(budget_used(&budget), 0);
}

/* Who asks in this order for bodies of so many MB, of 256 MB, and what
 * comes of the last one. */
static const struct {
	const char *company;
	size_t n;
	uint64_t body_bytes;
	enum budget_result last;
} uploads[] = {
	{"greedy", 6, 10 * MB, BUDGET_TAKEN},
	{"greedy", 1, 10 * MB, BUDGET_COMPANY_FULL},
	{"greedy", 1, MB, BUDGET_TAKEN}, /* its own small ones go on */
	{"other", 1, 1024, BUDGET_TAKEN},
	{"other", 1, 5 * MB, BUDGET_TAKEN},
	{"other", 1, 20 * MB, BUDGET_FULL},
	{"greedy", 30, MB, BUDGET_COMPANY_FULL},
	{"third", 1, 5 * MB, BUDGET_TAKEN},
	{"third", 1, MB, BUDGET_TAKEN},
	{"fourth", 1, 1024, BUDGET_TAKEN},
};

static void test_memory_is_left_to_others(void **state)
{
	struct budget *budget = mem_new(struct budget);
	struct budget_share shares[64] = {0};
	size_t used = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(uploads); i++) {
		enum budget_result last = BUDGET_FULL;

		for (size_t n = 0; n < uploads[i].n; n++)
			last = budget_reserve_body(budget, 256 * MB, uploads[i].company,
				uploads[i].body_bytes, &shares[used++]);
		if (last != uploads[i].last)
			fail_msg("%zu: %d", i, (int)last);
	}
	assert_true(budget_used(budget) <= 256 * MB + 256 * MB / BUDGET_RESERVE);
	for (size_t i = 0; i < used; i++) {
		budget_trim(&shares[i], 1);
		budget_give_back(&shares[i]);
	}
	assert_int_equal(budget_used(budget), 0);
	for (size_t i = 0; i < BUDGET_COMPANIES; i++)
		assert_true(budget->of_company[i][BUDGET_SMALL] == 0 &&
			    budget->of_company[i][BUDGET_LARGE] == 0);
	free(budget);
}

static void test_answers_count_once(void **state)
{
	struct budget budget = {0};
	struct budget_share a = {0}, b = {0};

	(void)state;
	assert_int_equal(budget_used(&budget), 0);
	assert_int_equal(budget_reserve_answer(&budget, LIMIT, "a", 20 * MB, &a), BUDGET_TAKEN);
	assert_int_equal(budget_reserve_answer(&budget, LIMIT, "a", 5 * MB, &a), BUDGET_TAKEN);
	assert_int_equal(budget_used(&budget), 20 * MB);
	assert_int_equal(budget_reserve_answer(&budget, LIMIT, "b", 11 * MB, &b), BUDGET_FULL);
	assert_int_equal(budget_reserve_answer(&budget, LIMIT, "b", 2 * LIMIT, &b), BUDGET_FULL);
	budget_give_back(&a);
	assert_int_equal(budget_reserve_answer(&budget, LIMIT, "b", 2 * LIMIT, &b), BUDGET_TAKEN);
	assert_int_equal(budget_used(&budget), LIMIT);
	budget_give_back(&b);
	assert_int_equal(budget_used(&budget), 0);
}

static void test_a_share_grows(void **state)
{
	struct budget budget = {0};
	struct budget_share share = {0};

	(void)state;
	for (uint64_t bytes = 0; bytes <= 10 * MB; bytes += MB / 2)
		assert_int_equal(
			budget_reserve_body(&budget, LIMIT, "share", bytes, &share), BUDGET_TAKEN);
	assert_int_equal(budget_used(&budget), 10 * MB * BUDGET_FACTOR);
	assert_int_equal(
		budget_reserve_body(&budget, LIMIT, "share", 2 * MB, &share), BUDGET_TAKEN);
	assert_int_equal(budget_used(&budget), 10 * MB * BUDGET_FACTOR);
	assert_int_equal(
		budget_reserve_body(&budget, LIMIT, "share", 10 * MB + 1, &share), BUDGET_FULL);
	assert_int_equal(
		budget_reserve_body(&budget, LIMIT, "share", UINT64_MAX, &share), BUDGET_FULL);
	budget_give_back(&share);
	assert_int_equal(budget_used(&budget), 0);
}

static void test_requests_are_counted(void **state)
{
	struct budget budget = {0};
	struct budget_share a = {0}, b = {0}, c = {0};

	(void)state;
	assert_true(ENTER(2, 1, a));
	assert_true(ENTER(2, 1, a));
	assert_int_equal(budget.requests.taken, 1);
	assert_true(ENTER(2, 1, b));
	assert_false(ENTER(2, 1, c));
	assert_int_equal(budget_reserve_body(&budget, LIMIT, "a", 5 * MB, &a), BUDGET_TAKEN);
	assert_int_equal(budget.requests.taken, 2);
	budget_give_back(&a);
	budget_give_back(&a);
	assert_int_equal(budget.requests.taken, 1);
	assert_int_equal(budget_used(&budget), 0);
	assert_true(ENTER(2, 1, c));
	budget_give_back(&b);
	budget_give_back(&c);
	assert_int_equal(budget.requests.taken, 0);
	/* A limit that was lowered: nobody gets in before enough have left. */
	assert_true(ENTER(2, 1, a));
	assert_true(ENTER(2, 1, b));
	assert_false(ENTER(1, 1, c));
	budget_give_back(&a);
	assert_false(ENTER(1, 1, c));
	budget_give_back(&b);
	assert_true(ENTER(1, 1, c));
	budget_give_back(&c);
}

/* A request with several emails counts as many, up to what its company may
 * have. */
static void test_emails_are_counted(void **state)
{
	struct budget budget = {0};
	struct budget_share a = {0}, b = {0}, c = {0};

	(void)state;
	assert_true(ENTER(10, 1, a));
	assert_true(ENTER(10, 1, b));
	assert_true(ENTER(10, 3, a));
	assert_int_equal(budget.requests.taken, 4);
	assert_true(ENTER(10, 100, a)); /* 1 is b's: half of 9 */
	assert_int_equal(budget.requests.taken, 6);
	assert_true(ENTER(10, 100, a));
	assert_true(ENTER(10, 1, a));
	assert_int_equal(budget.requests.taken, 6);
	assert_true(ENTER(10, 100, b));
	assert_true(ENTER(10, 1, c));
	assert_int_equal(budget.requests.taken, 9);
	assert_false(ENTER(8, 2, c));
	budget_give_back(&a);
	budget_give_back(&b);
	assert_true(ENTER(1, 100, c));
	budget_give_back(&c);
	assert_int_equal(budget.requests.taken, 0);
}

/* Who asks in this order, of 12 places, and what comes of it. */
static const struct {
	const char *company;
	int64_t n; /* so often, one each */
	enum slots_result last;
} askers[] = {
	{"greedy", 6, SLOTS_TAKEN},
	{"greedy", 1, SLOTS_COMPANY_FULL},
	{"other", 3, SLOTS_TAKEN},
	{"other", 1, SLOTS_COMPANY_FULL},
	{"third", 2, SLOTS_TAKEN},
	{"third", 1, SLOTS_COMPANY_FULL},
	{"fourth", 1, SLOTS_TAKEN},
	{"fourth", 1, SLOTS_FULL},
	{"greedy", 1, SLOTS_FULL},
	{"fifth", 1, SLOTS_FULL},
};

static void test_slots_are_left_to_others(void **state)
{
	struct budget budget = {0};
	struct budget_share shares[64] = {0};
	size_t used = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
		enum slots_result entry = SLOTS_FULL;

		for (int64_t n = 0; n < askers[i].n; n++)
			entry = slots_take(&budget.requests, 12, askers[i].company, 1,
				&shares[used++].requests);
		if (entry != askers[i].last)
			fail_msg("%zu: %d", i, (int)entry);
	}
	for (size_t i = 0; i < used; i++)
		budget_give_back(&shares[i]);
	assert_int_equal(budget.requests.taken, 0);
	for (size_t i = 0; i < BUDGET_COMPANIES; i++)
		assert_int_equal(budget.requests.by_company[i], 0);
}

static void *take_and_give(void *arg)
{
	struct budget *budget = arg;

	for (int i = 0; i < 20000; i++) {
		struct budget_share share = {0};

		slots_take(&budget->requests, 3, i % 2 ? "odd" : "even", i % 5, &share.requests);
		budget_reserve_body(budget, LIMIT, "share", 4 * MB, &share);
		budget_give_back(&share);
	}
	return NULL;
}

static void test_many_threads(void **state)
{
	struct budget budget = {0};
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_create(&threads[i], NULL, take_and_give, &budget);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(budget_used(&budget), 0);
	assert_int_equal(budget.requests.taken, 0);
	for (size_t i = 0; i < BUDGET_COMPANIES; i++)
		assert_int_equal(budget.requests.by_company[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_small_have_a_reserve),
		cmocka_unit_test(test_what_is_held),
		cmocka_unit_test(test_large_counts_several_times),
		cmocka_unit_test(test_memory_is_left_to_others),
		cmocka_unit_test(test_answers_count_once),
		cmocka_unit_test(test_a_share_grows),
		cmocka_unit_test(test_requests_are_counted),
		cmocka_unit_test(test_emails_are_counted),
		cmocka_unit_test(test_slots_are_left_to_others),
		cmocka_unit_test(test_many_threads),
	};

	return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
