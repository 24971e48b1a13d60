/* inject_line: whose turn it is, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/inject/inject.h"

enum { N = 3 };

struct rig {
	struct event_base *base;
	struct inject_line *line;
	struct submission submissions[N];
	int turns;
	char done[N + 1]; /* numbers of those that were given up, in order */
};

static struct rig *current;

static void on_turn(void *arg)
{
	((struct rig *)arg)->turns++;
}

static void on_done(struct submission *submission, enum inject_result result,
	const struct err *err)
{
	assert_int_equal(result, INJECT_TEMPORARY);
	assert_int_equal(err->code, ERR_TEMPORARY);
	current->done[strlen(current->done)] =
		(char)('0' + (submission - current->submissions));
}

static int set_up(void **state)
{
	struct rig *rig = mem_new(struct rig);

	rig->base = event_base_new();
	rig->line = inject_line_new(rig->base, on_turn, rig);
	for (int i = 0; i < N; i++)
		rig->submissions[i].done = on_done;
	*state = current = rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	inject_line_free(rig->line);
	event_base_free(rig->base);
	free(rig);
	return 0;
}

static void add(struct rig *rig, int i, int64_t timeout_ms)
{
	inject_line_add(rig->line, &rig->submissions[i], timeout_ms);
}

static void assert_next(struct rig *rig, int i)
{
	assert_ptr_equal(inject_line_next(rig->line), &rig->submissions[i]);
	assert_ptr_equal(inject_line_take(rig->line), &rig->submissions[i]);
}

static void test_order(void **state)
{
	struct rig *rig = *state;

	assert_null(inject_line_next(rig->line));
	assert_null(inject_line_take(rig->line));
	add(rig, 0, 1000);
	add(rig, 1, 1000);
	assert_int_equal(rig->turns, 0);
	event_base_loop(rig->base, EVLOOP_NONBLOCK);
	assert_int_equal(rig->turns, 1);
	assert_next(rig, 0);
	add(rig, 2, 1000);
	inject_line_add_again(rig->line, &rig->submissions[0]);
	assert_true(rig->submissions[0].again);
	assert_next(rig, 0);
	assert_next(rig, 1);
	assert_next(rig, 2);
	inject_line_add_again(rig->line, &rig->submissions[0]);
	add(rig, 1, 1000);
	assert_next(rig, 0);
	assert_next(rig, 1);
	assert_null(inject_line_take(rig->line));
}

static void test_deadline(void **state)
{
	struct rig *rig = *state;

	add(rig, 0, 10);
	add(rig, 1, 20);
	assert_true(inject_line_left_ms(&rig->submissions[0]) <= 10);
	event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "01");
	assert_int_equal(inject_line_left_ms(&rig->submissions[0]), 1);
}

static void test_stop(void **state)
{
	struct rig *rig = *state;

	add(rig, 0, 1000);
	add(rig, 1, 1000);
	inject_line_stop(rig->line);
	assert_string_equal(rig->done, "");
	event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "01");
	add(rig, 2, 1000);
	event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "012");
	assert_int_equal(rig->turns, 0);
}

int main(void)
{
#define test(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(test_order),
		test(test_deadline),
		test(test_stop),
	};
	int failed;

	failed = cmocka_run_group_tests_name("inject_line", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
