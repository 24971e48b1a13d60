/*
 * signals: which event a signal is, their order, and that several are one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "milter/signals.h"

enum { LONG_MS = 60 * 1000 };

static int init(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	return signals_init(&err);
}

/* raise() returns when the handler has run. */
static void test_events(void **state)
{
	static const struct {
		int raised[3]; /* 0: none */
		bool posted;
		enum signal_event events[3]; /* SIGNAL_NONE ends them */
	} cases[] = {
		{{0}, false, {SIGNAL_NONE}},
		{{SIGTERM}, false, {SIGNAL_STOP, SIGNAL_NONE}},
		{{SIGINT}, false, {SIGNAL_STOP, SIGNAL_NONE}},
		{{SIGHUP}, false, {SIGNAL_RELOAD, SIGNAL_NONE}},
		{{0}, true, {SIGNAL_ENDED, SIGNAL_NONE}},
		{{SIGHUP, SIGHUP, SIGHUP}, false, {SIGNAL_RELOAD, SIGNAL_NONE}},
		{{SIGINT, SIGTERM}, false, {SIGNAL_STOP, SIGNAL_NONE}},
		{{SIGHUP, SIGTERM}, false,
			{SIGNAL_STOP, SIGNAL_RELOAD, SIGNAL_NONE}},
		{{SIGHUP}, true, {SIGNAL_ENDED, SIGNAL_RELOAD, SIGNAL_NONE}},
		{{SIGPIPE}, false, {SIGNAL_NONE}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		enum signal_event event;
		size_t n = 0;

		for (size_t k = 0; k < 3 && cases[i].raised[k]; k++)
			raise(cases[i].raised[k]);
		if (cases[i].posted)
			signals_post();
		do {
			event = cases[i].events[n++];
			assert_int_equal(
				signals_wait(event == SIGNAL_NONE ? 0 : LONG_MS),
				event);
		} while (event != SIGNAL_NONE);
	}
}

/* More than the pipe can hold are still one, and nobody blocks. */
static void test_many(void **state)
{
	(void)state;
	for (int i = 0; i < 100000; i++)
		signals_post();
	assert_int_equal(signals_wait(LONG_MS), SIGNAL_ENDED);
	raise(SIGTERM);
	assert_int_equal(signals_wait(LONG_MS), SIGNAL_STOP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, init, NULL);
}
