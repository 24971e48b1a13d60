/* daemon: the arguments of the daemons, and their signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/daemon.h"
#include "core/base/mem.h"

static const struct daemon_about about = {
	.program = "postern-test",
	.purpose = "Tests.",
	.default_path = "/default",
};

static const struct {
	const char *arguments[4];
	const char *path; /* NULL: none */
	int status;
} cases[] = {
	{{NULL}, "/default", -1},
	{{"-c", "/a", NULL}, "/a", -1},
	{{"--config", "/a", NULL}, "/a", -1},
	{{"--config=/a", NULL}, "/a", -1},
	{{"-h", NULL}, NULL, EX_OK},
	{{"--version", NULL}, NULL, EX_OK},
	{{"-c", NULL}, NULL, EX_USAGE},
	{{"-x", NULL}, NULL, EX_USAGE},
	{{"more", NULL}, NULL, EX_USAGE},
	{{"-c", "/a", "more", NULL}, NULL, EX_USAGE},
};

static void test_arguments(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *argv[6] = {mem_strdup(about.program)};
		int argc = 1, status = -1;
		const char *path;

		for (; cases[i].arguments[argc - 1]; argc++)
			argv[argc] = mem_strdup(cases[i].arguments[argc - 1]);
		optind = 0;
		path = daemon_begin(&about, argc, argv, NULL, &status);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
		else
			assert_null(path);
		assert_int_equal(status, cases[i].status);
		for (int k = 0; k < argc; k++)
			free(argv[k]);
	}
}

static void test_descriptor_limit(void **state)
{
	struct rlimit limit;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 100;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	daemon_raise_descriptor_limit();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(limit.rlim_cur == limit.rlim_max);
}

/* What comes, and what is made of it. 0 ends both. */
static const struct {
	int sent[4];
	int got[4];
} signals[] = {
	{{0}, {0}},
	{{SIGTERM}, {SIGTERM}},
	{{SIGINT}, {SIGINT}},
	{{SIGHUP}, {SIGHUP}},
	{{SIGHUP, SIGHUP, SIGHUP}, {SIGHUP}},
	{{SIGTERM, SIGHUP}, {SIGTERM, SIGHUP}},
	{{SIGHUP, SIGTERM, SIGINT}, {SIGINT, SIGTERM, SIGHUP}},
	{{SIGALRM, SIGIO, SIGPIPE}, {0}},
	{{SIGPROF, SIGPWR, SIGQUIT}, {0}},
	{{SIGSTKFLT, SIGUSR1, SIGUSR2}, {0}},
	{{SIGVTALRM, SIGXCPU, SIGXFSZ}, {0}},
	{{SIGUSR1, SIGHUP, SIGALRM}, {SIGHUP}},
};

static void test_signals(void **state)
{
	(void)state;
	daemon_block_signals();
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		for (size_t k = 0; signals[i].sent[k]; k++)
			kill(getpid(), signals[i].sent[k]);
		for (size_t k = 0; signals[i].got[k]; k++)
			assert_int_equal(daemon_wait_signal(60 * 1000), signals[i].got[k]);
		assert_int_equal(daemon_wait_signal(0), 0);
	}
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		kill(getpid(), number);
	assert_int_equal(daemon_wait_signal(1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_descriptor_limit),
		cmocka_unit_test(test_signals),
	};

	return cmocka_run_group_tests_name("daemon", tests, NULL, NULL);
}
