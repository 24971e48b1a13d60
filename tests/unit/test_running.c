/* running: what is entered is found, until it leaves; from many threads too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "httpd/send/idempotency.h"

static struct running_entry entry_of(const char *company, uint8_t number, uint8_t payload)
{
	struct running_entry entry = {.key.hash = {1, 2, [31] = number}, .payload = {payload}};

	strcpy(entry.key.company_id, company);
	return entry;
}

static void test_enter(void **state)
{
	static const struct {
		const char *company;
		uint8_t number, payload;
		enum running_result result;
	} cases[] = {
		{"a", 1, 1, RUNNING_SAME},
		{"a", 1, 2, RUNNING_OTHER},
		{"a", 2, 1, RUNNING_ENTERED}, /* in the same list */
		{"b", 1, 1, RUNNING_ENTERED},
	};
	struct running *running = running_new();
	struct running_entry first = entry_of("a", 1, 1);

	(void)state;
	assert_int_equal(running_enter(running, &first), RUNNING_ENTERED);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct running_entry entry = entry_of(
			cases[i].company, cases[i].number, cases[i].payload);

		assert_int_equal(running_enter(running, &entry), cases[i].result);
		if (cases[i].result == RUNNING_ENTERED)
			running_leave(running, &entry);
	}
	running_leave(running, &first);
	assert_int_equal(running_enter(running, &first), RUNNING_ENTERED);
	running_leave(running, &first);
	running_free(running);
	running_free(NULL);
}

enum { THREADS = 4, TURNS = 20000 };

struct racer {
	struct running *running;
	int *inside; /* of all; the key guards it */
	int not_alone;
};

static void *race(void *arg)
{
	struct racer *racer = arg;

	for (int i = 0; i < TURNS; i++) {
		struct running_entry entry = entry_of("a", 1, 1);

		if (running_enter(racer->running, &entry) != RUNNING_ENTERED)
			continue;
		if ((*racer->inside)++ != 0)
			racer->not_alone++;
		(*racer->inside)--;
		running_leave(racer->running, &entry);
	}
	return NULL;
}

static void test_one_at_a_time(void **state)
{
	struct running *running = running_new();
	struct racer racers[THREADS];
	pthread_t threads[THREADS];
	int inside = 0;

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		racers[i] = (struct racer){running, &inside, 0};
		assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(racers[i].not_alone, 0);
	}
	assert_int_equal(inside, 0);
	running_free(running);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enter),
		cmocka_unit_test(test_one_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
