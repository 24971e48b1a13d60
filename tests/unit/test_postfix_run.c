/* postfix_run: what makes another run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/socket.h"
#include "core/postfix/postfix_run.h"
#include "tests/unit/fake_master.h"

static void test_unknown_queue(void **state)
{
	struct postfix_run *run = postfix_run_new();
	char name[POSTFIX_RUN_SIZE];

	(void)state;
	postfix_run_name(run, name);
	assert_string_equal(name, "");
	postfix_run_watch(run, "/nonexistent");
	postfix_run_name(run, name);
	assert_string_equal(name, "");
	postfix_run_free(run);
}

static void read_name(const char *queue, char name_r[static POSTFIX_RUN_SIZE])
{
	struct postfix_run *run = postfix_run_new();

	postfix_run_watch(run, queue);
	postfix_run_name(run, name_r);
	postfix_run_free(run);
}

static void assert_name(const char *queue, const char *expected)
{
	char name[POSTFIX_RUN_SIZE];

	read_name(queue, name);
	assert_string_equal(name, expected);
}

/* The files stay when Postfix is stopped or killed: that is no run, and the
 * next start is another one. */
static void test_starts(void **state)
{
	struct fake_master *master = fake_master_new();
	char first[POSTFIX_RUN_SIZE], second[POSTFIX_RUN_SIZE];

	(void)state;
	assert_name(master->queue, "");
	fake_master_start(master);
	read_name(master->queue, first);
	assert_string_not_equal(first, "");
	assert_name(master->queue, first);
	fake_master_stop(master);
	assert_name(master->queue, "");
	fake_master_start(master);
	read_name(master->queue, second);
	assert_string_not_equal(second, "");
	assert_string_not_equal(first, second);
	fake_master_stop(master);
	fake_master_free(master);
}

/* Of a socket that nobody may look at nothing is known: the start alone counts.
 * Root may look at any, unless the folder is none. */
static void test_hidden_socket(void **state)
{
	struct fake_master *master = fake_master_new();
	char name[POSTFIX_RUN_SIZE];

	(void)state;
	fake_master_start(master);
	fake_master_stop(master);
	assert_int_equal(socket_look(master->socket), ECONNREFUSED);
	unlink(master->socket);
	assert_int_equal(socket_look(master->socket), ENOENT);
	assert_int_equal(rmdir(master->public), 0);
	assert_int_equal(symlink("public", master->public), 0); /* a loop */
	assert_int_equal(socket_look(master->socket), ELOOP);
	read_name(master->queue, name);
	assert_string_not_equal(name, "");
	assert_int_equal(unlink(master->public), 0);
	assert_int_equal(mkdir(master->public, 0700), 0);
	fake_master_free(master);
}

/* What is not known is not over. */
static void test_over(void **state)
{
	struct fake_master *master = fake_master_new();
	struct postfix_run *run = postfix_run_new();

	(void)state;
	assert_false(postfix_run_is_over(run));
	postfix_run_watch(run, master->queue);
	assert_true(postfix_run_is_over(run));
	fake_master_start(master);
	assert_false(postfix_run_is_over(run));
	fake_master_stop(master);
	assert_true(postfix_run_is_over(run));
	postfix_run_free(run);
	fake_master_free(master);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unknown_queue),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_hidden_socket),
		cmocka_unit_test(test_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
