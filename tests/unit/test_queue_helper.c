/* queue_helper: what the half without rights can ask of the one that has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/postfix/queue_helper.h"
#include "tests/unit/temp_folder.h"

/* A queue, in which hold has these, and deferred has a file. */
struct rig {
	char *folder;
	struct conf *conf;
};

static int setup(void **state)
{
	static struct rig rig;

	rig.folder = temp_folder_new();
	assert_int_equal(chdir(rig.folder), 0);
	temp_folder_write(
		".", "main.cf", "compatibility_level = 3.6\nqueue_directory = %s\n", rig.folder);
	assert_int_equal(mkdir("hold", 0700), 0);
	assert_int_equal(mkdir("hold/A", 0700), 0);
	assert_int_equal(mkdir("maildrop", 0700), 0);
	assert_int_equal(mkdir("deferred", 0700), 0);
	temp_folder_write(".", "secret", "no queue file\n");
	temp_folder_write(".", "hold/B1", "no queue file\n");
	temp_folder_write(".", "hold/A/A1", "no queue file\n");
	temp_folder_write(".", "maildrop/D1", "no queue file\n");
	assert_int_equal(symlink("../secret", "hold/C1"), 0);
	assert_int_equal(symlink("../secret", "maildrop/C2"), 0);
	assert_int_equal(mkfifo("hold/E1", 0600), 0);
	rig.conf = conf_default();
	free(rig.conf->submission.postfix_config);
	rig.conf->submission.postfix_config = mem_strdup(rig.folder);
	*state = &rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	conf_free(rig->conf);
	assert_int_equal(chdir("/"), 0);
	temp_folder_free(rig->folder);
	return 0;
}

/* Runs ask in the half without rights: what it returns. */
static int served(const struct rig *rig, int (*ask)(int helper))
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int helper;

		if (queue_helper_start(rig->conf, rig->folder, &helper, NULL) < 0)
			_exit(99);
		_exit(ask(helper));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* What is read: 0 for a regular file of hold, though these are no queue files of Postfix. */
static int read_all(int helper)
{
	static const struct {
		const char *id;
		enum err_code code;
	} cases[] = {
		{"B1", ERR_TEMPORARY}, /* postcat(1) has had it, and complains */
		{"A1", ERR_TEMPORARY}, /* as with hash_queue_names = hold */
		{"C1", ERR_NOT_FOUND}, /* a link */
		{"C2", ERR_NOT_FOUND}, /* a link in maildrop, where it looks for nothing */
		{"D1", ERR_NOT_FOUND}, /* in maildrop */
		{"E1", ERR_NOT_FOUND}, /* a pipe, which nobody writes to */
		{"F1", ERR_NOT_FOUND},
		{"../secret", ERR_INVALID},
		{"-c", ERR_INVALID},
		{"B1 ", ERR_INVALID},
		{"", ERR_INVALID},
		{"0123456789012345678901234567890123456789012345678901234567890123", ERR_INVALID},
		{"A1\nB1", ERR_INVALID},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = ERR_INIT;
		int file;

		if (queue_helper_read(helper, cases[i].id, &file, &err) == 0 ||
			err.code != cases[i].code) {
			fprintf(stderr, "%s: %d, %s\n", cases[i].id, err.code, err.text);
			return (int)i + 1;
		}
	}
	return 0;
}

static void test_read(void **state)
{
	assert_int_equal(served(*state, read_all), 0);
}

static int change_all(int helper)
{
	static const char *const ids[] = {"ALL/", "B1\n-d\nALL x", "", "../hold/B1", "B1;id"};

	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		_cleanup_strv_ struct strv list = STRV_INIT, done = STRV_INIT;
		struct err err = ERR_INIT;

		strv_add(&list, "B1");
		strv_add(&list, ids[i]);
		if (queue_helper_change(helper, QUEUE_REMOVE, &list, &done, &err) == 0 ||
			err.code != ERR_INVALID || done.n != 0)
			return (int)i + 1;
	}
	return 0;
}

/* One that is no id, and nothing is done with the others. */
static void test_change(void **state)
{
	assert_int_equal(served(*state, change_all), 0);
	assert_int_equal(access("hold/B1", F_OK), 0);
}

static int send_nonsense(int helper)
{
	static const char *const packets[] = {"x", "xB1", "r", "rB1\nA1", "d", "H\n"};
	char answer[1024];

	for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
		if (send(helper, packets[i], strlen(packets[i]), 0) < 0 ||
			recv(helper, answer, sizeof(answer), 0) <= 0 || *answer != ERR_INVALID)
			return (int)i + 1;
	}
	return 0;
}

static void test_nonsense(void **state)
{
	assert_int_equal(served(*state, send_nonsense), 0);
}

/* Postfix takes ALL for every message of the queue. */
static int change_every(int helper)
{
	_cleanup_strv_ struct strv list = STRV_INIT, done = STRV_INIT;
	struct err err = ERR_INIT;

	strv_add(&list, "ALL");
	return queue_helper_change(helper, QUEUE_REMOVE, &list, &done, &err) < 0 &&
			       err.code == ERR_INVALID
		       ? 0
		       : 1;
}

static void test_all_is_no_id(void **state)
{
	assert_int_equal(served(*state, change_every), 0);
}

static int stop_the_other(int helper)
{
	static const struct timespec patience = {.tv_sec = 60};
	struct err err = ERR_INIT;
	sigset_t ends;
	int file;

	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	if (kill(getppid(), SIGTERM) < 0 || sigtimedwait(&ends, NULL, &patience) != SIGTERM)
		return 1;
	/* It goes on until this half has ended. */
	return queue_helper_read(helper, "F1", &file, &err) < 0 && err.code == ERR_NOT_FOUND ? 7
											     : 1;
}

/* The exit status is that of the half that does the work; SIGTERM reaches it. */
static void test_end(void **state)
{
	assert_int_equal(served(*state, stop_the_other), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_all_is_no_id),
		cmocka_unit_test(test_end),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
