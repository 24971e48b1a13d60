/* postfix_run: what makes another run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/base/postfix_run.h"

static void test_boot(void **state)
{
	char first[POSTFIX_RUN_BOOT_SIZE], second[POSTFIX_RUN_BOOT_SIZE];

	(void)state;
	postfix_run_boot(first);
	postfix_run_boot(second);
	assert_string_equal(first, second);
	assert_true(strlen(first) == 36 || str_eq(first, "-"));
}

/* A queue in a folder of its own, in which master has started. */
struct queue {
	char folder[40];
	char *pid, *file, *server;
};

static void start_master(struct queue *queue, time_t at)
{
	const struct timespec times[2] = {{.tv_sec = at}, {.tv_sec = at}};

	assert_int_equal(utimensat(AT_FDCWD, queue->file, times, 0), 0);
}

static int setup(void **state)
{
	struct queue *queue = mem_new(struct queue);

	strcpy(queue->folder, "/tmp/postfix_run.XXXXXX");
	assert_non_null(mkdtemp(queue->folder));
	queue->pid = mem_printf("%s/pid", queue->folder);
	queue->file = mem_printf("%s/master.pid", queue->pid);
	queue->server = mem_printf("unix:%s/public/postern", queue->folder);
	assert_int_equal(mkdir(queue->pid, 0700), 0);
	close(open(queue->file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	start_master(queue, 1);
	*state = queue;
	return 0;
}

static int teardown(void **state)
{
	struct queue *queue = *state;

	unlink(queue->file);
	rmdir(queue->pid);
	assert_int_equal(rmdir(queue->folder), 0);
	free(queue->pid);
	free(queue->file);
	free(queue->server);
	free(queue);
	return 0;
}

/* Whether the two are of the same run. */
static bool same(const char *boot, const char *server, const char *name)
{
	char now[IDEMPOTENCY_RUN_SIZE];

	postfix_run_name(boot, server, now);
	assert_true(now[0] != '\0');
	return strcmp(now, name) == 0;
}

static void test_runs(void **state)
{
	struct queue *queue = *state;
	char name[IDEMPOTENCY_RUN_SIZE];

	postfix_run_name("b", queue->server, name);
	assert_true(same("b", queue->server, name));
	assert_false(same("c", queue->server, name));
	assert_false(same("b", NULL, name));
	start_master(queue, 2);
	assert_false(same("b", queue->server, name));
	start_master(queue, 1);
	assert_true(same("b", queue->server, name));
	unlink(queue->file);
	assert_false(same("b", queue->server, name));
}

/* Of what is not in a queue here nothing but the boot is known. */
static void test_elsewhere(void **state)
{
	static const char *const servers[] = {NULL, "", "inet:127.0.0.1:25",
		"unix:/run/smtp", "inet:/public/x:1"};
	char name[IDEMPOTENCY_RUN_SIZE];

	(void)state;
	postfix_run_name("b", "inet:[::1]:25", name);
	for (size_t i = 0; i < ARRAY_SIZE(servers); i++) {
		assert_true(same("b", servers[i], name));
		assert_false(same("c", servers[i], name));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_boot),
		cmocka_unit_test_setup_teardown(test_runs, setup, teardown),
		cmocka_unit_test(test_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
