/* postfix_queue: when Postfix tries a deferred message again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "core/postfix/postfix_queue.h"
#include "tests/unit/temp_folder.h"

static void test_next_attempt(void **state)
{
	static const struct queue_times times = {300, 4000, 432000, 432000};
	static const struct {
		int64_t arrival_s, last_s, next_s;
	} cases[] = {
		{1000, 1001, 1301},   /* young: the shortest */
		{1000, 1300, 1600},   /* as old as it is */
		{1000, 2600, 4200},   /* as old as it is */
		{1000, 90000, 94000}, /* old: the longest */
		{1000, 900, 1200},    /* a clock that went back */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(queue_next_attempt(&times, cases[i].arrival_s, cases[i].last_s),
			cases[i].next_s);
}

/* 0 when Postfix has these settings and they can be read. */
static int read_times(const char *settings, struct queue_times *times_r)
{
	char *folder = temp_folder_new();
	_cleanup_(conf) struct conf *conf = conf_default();
	int result;

	temp_folder_write(folder, "main.cf", "compatibility_level = 3.6\n%s", settings);
	free(conf->submission.postfix_config);
	conf->submission.postfix_config = mem_strdup(folder);
	result = postfix_queue_times(conf, times_r, NULL);
	temp_folder_free(folder);
	return result;
}

static void test_times(void **state)
{
	struct queue_times times;

	(void)state;
	assert_int_equal(read_times("", &times), 0);
	assert_int_equal(times.shortest_s, 300);
	assert_int_equal(times.longest_s, 4000);
	assert_int_equal(times.lifetime_s, 5 * 86400);
	assert_int_equal(times.bounce_lifetime_s, 5 * 86400);
	assert_int_equal(read_times("minimal_backoff_time = 2m\n"
				    "maximal_backoff_time = $x\nx = 90\n"
				    "maximal_queue_lifetime = 2\n"
				    "bounce_queue_lifetime = 1w\n",
				 &times),
		0);
	assert_int_equal(times.shortest_s, 120);
	assert_int_equal(times.longest_s, 90);
	assert_int_equal(times.lifetime_s, 2 * 86400);
	assert_int_equal(times.bounce_lifetime_s, 7 * 86400);
	assert_int_equal(read_times("maximal_queue_lifetime = ever\n", &times), -1);
	assert_int_equal(read_times("maximal_queue_lifetime = 5dd\n", &times), -1);
	/* More than Postfix itself can keep. */
	assert_int_equal(read_times("maximal_queue_lifetime = 24856d\n", &times), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next_attempt),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
