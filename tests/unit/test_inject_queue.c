/* inject_queue: which submission is next, and for how long. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <event2/event.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/inject/inject.h"

enum { N = 4 };

struct rig {
	struct inject inject; /* first */
	struct event_base *base;
	struct inject_queue *queue;
	struct submission submissions[N];
	int turns;
	const char *barred;            /* the company that may start nothing; NULL: none */
	enum inject_obstacle obstacle; /* of those that are given up */
	char done[N + 1];              /* numbers of those that were given up, in order */
};

static struct rig *current;

static const struct inject_ops ops = {.verdict_first = true};

static void on_serve(struct inject *inject)
{
	((struct rig *)inject)->turns++;
}

static bool on_may_start(const struct inject *inject, const char *company_id)
{
	const struct rig *rig = (const struct rig *)inject;

	return rig->barred == NULL || !str_eq(rig->barred, company_id);
}

static void on_done(struct submission *submission, const struct inject_answer *answer)
{
	assert_int_equal(answer->result, INJECT_TEMPORARY);
	assert_int_equal(answer->err->code, ERR_TEMPORARY);
	assert_int_equal(answer->obstacle, current->obstacle);
	assert_true(answer->verdict_first);
	current->done[strlen(current->done)] = (char)('0' + (submission - current->submissions));
}

static int setup(void **state)
{
	struct rig *rig = mem_new(struct rig);

	rig->inject.ops = &ops;
	rig->obstacle = INJECT_NO_TURN;
	rig->base = event_base_new();
	rig->queue = inject_queue_new(rig->base, &rig->inject, on_serve, on_may_start);
	for (int i = 0; i < N; i++)
		rig->submissions[i] = (struct submission){
			.company_id = i < N - 1 ? "one" : "other",
			.done = on_done,
		};
	*state = current = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	inject_queue_free(rig->queue);
	event_base_free(rig->base);
	free(rig);
	return 0;
}

static void add(struct rig *rig, int i, int64_t timeout_ms)
{
	inject_queue_add(rig->queue, &rig->submissions[i], timeout_ms);
}

static void assert_next(struct rig *rig, int i)
{
	assert_ptr_equal(inject_queue_next(rig->queue), &rig->submissions[i]);
	assert_ptr_equal(inject_queue_take(rig->queue), &rig->submissions[i]);
}

static void test_order(void **state)
{
	struct rig *rig = *state;

	assert_null(inject_queue_next(rig->queue));
	assert_null(inject_queue_take(rig->queue));
	add(rig, 0, 1000);
	add(rig, 1, 1000);
	assert_int_equal(rig->turns, 0);
	event_base_loop(rig->base, EVLOOP_NONBLOCK);
	assert_int_equal(rig->turns, 1);
	assert_next(rig, 0);
	add(rig, 2, 1000);
	inject_queue_add_again(rig->queue, &rig->submissions[0]);
	assert_next(rig, 0);
	assert_next(rig, 1);
	assert_next(rig, 2);
	inject_queue_add_again(rig->queue, &rig->submissions[0]);
	add(rig, 1, 1000);
	assert_next(rig, 0);
	assert_next(rig, 1);
	assert_null(inject_queue_take(rig->queue));
}

/* What came later of another company waits for one of the first. */
static void test_turns(void **state)
{
	struct rig *rig = *state;

	add(rig, 0, 1000);
	add(rig, 1, 1000);
	add(rig, 2, 1000);
	add(rig, 3, 1000);
	assert_next(rig, 0);
	assert_next(rig, 3);
	add(rig, 3, 1000);
	assert_next(rig, 1);
	inject_queue_add_again(rig->queue, &rig->submissions[1]);
	assert_next(rig, 1);
	assert_next(rig, 3);
	assert_next(rig, 2);
	assert_null(inject_queue_take(rig->queue));
}

/* A company that has its share is passed over, and keeps its turn. */
static void test_share(void **state)
{
	struct rig *rig = *state;

	add(rig, 0, 1000);
	add(rig, 1, 1000);
	add(rig, 3, 1000);
	rig->barred = "one";
	assert_next(rig, 3);
	assert_null(inject_queue_next(rig->queue));
	assert_null(inject_queue_take(rig->queue));
	add(rig, 3, 1000);
	rig->barred = NULL;
	assert_next(rig, 0);
	assert_next(rig, 3);
	assert_next(rig, 1);
}

/* Of a company that has its share, too. */
static void test_stop_with_a_share(void **state)
{
	struct rig *rig = *state;

	rig->barred = "one";
	add(rig, 0, 1000);
	add(rig, 1, 1000);
	inject_queue_stop(rig->queue);
	event_base_loop(rig->base, EVLOOP_NONBLOCK);
	assert_string_equal(rig->done, "01");
}

/* Whoever's turn it is. */
static void test_deadlines_of_several(void **state)
{
	struct rig *rig = *state;

	add(rig, 0, 30);
	add(rig, 1, 20);
	add(rig, 3, 10);
	event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "310");
}

static void test_deadline(void **state)
{
	struct rig *rig = *state;

	add(rig, 0, 10);
	add(rig, 1, 20);
	assert_true(inject_left_ms(&rig->submissions[0]) <= 10);
	event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "01");
	assert_int_equal(inject_left_ms(&rig->submissions[0]), 1);
}

/* What waits for a server that is away is told that. */
static void test_cause(void **state)
{
	struct rig *rig = *state;
	struct err err;

	err_set(&err, ERR_TEMPORARY, "away");
	rig->obstacle = INJECT_AWAY;
	inject_queue_set_cause(rig->queue, &err);
	add(rig, 0, 10);
	event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "0");
}

/* Who has waited long has as much time for an answer as others; once. */
static void test_time_for_an_answer(void **state)
{
	struct rig *rig = *state;
	struct submission *submission = &rig->submissions[0];

	add(rig, 0, 60000);
	submission->deadline_us -= 50 * 1000 * 1000;
	assert_next(rig, 0);
	assert_true(inject_left_ms(submission) > 50000);
	submission->deadline_us -= 50 * 1000 * 1000;
	inject_queue_add_again(rig->queue, submission);
	assert_next(rig, 0);
	assert_true(inject_left_ms(submission) < 50000);
}

static void test_stop(void **state)
{
	struct rig *rig = *state;

	add(rig, 0, 1000);
	add(rig, 1, 1000);
	inject_queue_stop(rig->queue);
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
#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		test(test_order),
		test(test_turns),
		test(test_share),
		test(test_stop_with_a_share),
		test(test_deadlines_of_several),
		test(test_deadline),
		test(test_cause),
		test(test_time_for_an_answer),
		test(test_stop),
	};
	int failed;

	failed = cmocka_run_group_tests_name("inject_queue", tests, NULL, NULL);
	libevent_global_shutdown();
	return failed;
}
