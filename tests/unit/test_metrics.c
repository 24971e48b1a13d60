/*
 * The file by which a program tells what it has counted: what a reader makes of
 * it while the program lives, afterwards, and when it is not as it should be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/metrics/metrics.h"
#include "tests/unit/temp_folder.h"

static char *folder, *database, *path;

static int setup(void **state)
{
	(void)state;
	folder = temp_folder_new();
	database = mem_printf("%s/postern.db", folder);
	path = metrics_path(database, METRICS_MILTER);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	assert_int_equal(rmdir(folder), 0);
	free(folder);
	free(path);
	free(database);
	return 0;
}

static struct metrics_milter some(int64_t records)
{
	struct metrics_milter values = {.store.commits = 7};

	values.verdicts[VERDICT_RECORD] = records;
	return values;
}

/* A program that has written these numbers and lives on. */
static struct metrics_file *begin(int64_t records)
{
	struct metrics_file *file = metrics_file_new(database, METRICS_MILTER);
	struct metrics_milter values = some(records);

	assert_int_equal(metrics_file_write(file, &values, NULL), 0);
	return file;
}

static enum metrics_found look(struct metrics_milter *values_r)
{
	memset(values_r, 0, sizeof(*values_r));
	return metrics_read(path, METRICS_MILTER, values_r);
}

static void test_life(void **state)
{
	struct metrics_milter values, more;
	struct metrics_file *file;

	(void)state;
	assert_int_equal(look(&values), METRICS_MISSING);
	file = begin(3);
	assert_int_equal(look(&values), METRICS_LIVE);
	assert_int_equal(values.verdicts[VERDICT_RECORD], 3);
	assert_int_equal(values.store.commits, 7);
	assert_true(values.process.start_us > 0);
	assert_true(values.process.resident_bytes > 0);
	assert_true(values.process.descriptors > 2);
	more = some(4);
	assert_int_equal(metrics_file_write(file, &more, NULL), 0);
	assert_int_equal(look(&values), METRICS_LIVE);
	assert_int_equal(values.verdicts[VERDICT_RECORD], 4);
	/* Its last numbers stay. */
	metrics_file_free(file);
	assert_int_equal(look(&values), METRICS_ENDED);
	assert_int_equal(values.verdicts[VERDICT_RECORD], 4);
	file = begin(1);
	assert_int_equal(look(&values), METRICS_LIVE);
	assert_int_equal(values.verdicts[VERDICT_RECORD], 1);
	metrics_file_free(file);
}

/* Who cannot look does not know whether the program runs. */
static void test_no_descriptors(void **state)
{
	struct metrics_file *file = begin(3);
	struct metrics_milter values;
	struct rlimit before;
	int found;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}), 0);
	found = look(&values);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(found, METRICS_UNREADABLE);
	assert_int_equal(look(&values), METRICS_LIVE);
	metrics_file_free(file);
}

/* Writes so many bytes there, in place. */
static void overwrite(const void *bytes, size_t len, off_t at)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_int_equal(pwrite(fd, bytes, len, at), len);
	close(fd);
}

static void cut(void)
{
	assert_int_equal(truncate(path, 100), 0);
}

static void empty(void)
{
	assert_int_equal(truncate(path, 0), 0);
}

static void lengthen(void)
{
	assert_int_equal(truncate(path, 1024 * 1024), 0);
}

static void change_number(void)
{
	overwrite("\xff", 1, 200);
}

static void change_version(void)
{
	overwrite("postern-milter 9.9.9", 20, 0);
}

static void overwrite_all(void)
{
	char bytes[1000];

	memset(bytes, 'x', sizeof(bytes));
	overwrite(bytes, sizeof(bytes), 0);
}

static void make_folder(void)
{
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* Nothing of it is read, and the program mends it with its next write. */
static void test_damage(void **state)
{
	static void (*const faults[])(void) = {
		cut, empty, lengthen, change_number, change_version, overwrite_all};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct metrics_file *file = begin(3);
		struct metrics_milter values = some(5), zero = {0}, found;

		faults[i]();
		assert_int_equal(look(&found), METRICS_FOREIGN);
		assert_memory_equal(&found, &zero, sizeof(found));
		assert_int_equal(metrics_file_write(file, &values, NULL), 0);
		assert_int_equal(look(&found), METRICS_LIVE);
		assert_int_equal(found.verdicts[VERDICT_RECORD], 5);
		metrics_file_free(file);
	}
}

/* One of another program is none of this. */
static void test_other_program(void **state)
{
	struct metrics_file *file = begin(3);
	struct metrics_events values;

	(void)state;
	assert_int_equal(metrics_read(path, METRICS_EVENTS, &values), METRICS_FOREIGN);
	metrics_file_free(file);
}

static void test_removed(void **state)
{
	struct metrics_file *file = begin(3);
	struct metrics_milter values = some(4), found;
	struct err err = ERR_INIT;

	(void)state;
	unlink(path);
	assert_int_equal(look(&found), METRICS_MISSING);
	assert_int_equal(metrics_file_write(file, &values, NULL), 0);
	assert_int_equal(look(&found), METRICS_LIVE);
	/* Where there can be no file, that is said, until there can be one. */
	make_folder();
	assert_int_equal(metrics_file_write(file, &values, &err), -1);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(look(&found), METRICS_FOREIGN);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(metrics_file_write(file, &values, NULL), 0);
	assert_int_equal(look(&found), METRICS_LIVE);
	metrics_file_free(file);
}

/* A link leads nowhere, and a pipe is not waited for. */
static void test_no_file(void **state)
{
	struct metrics_file *file = metrics_file_new(database, METRICS_MILTER);
	struct metrics_milter values = some(1), found;

	(void)state;
	assert_int_equal(symlink("/dev/zero", path), 0);
	assert_int_equal(look(&found), METRICS_UNREADABLE);
	assert_int_equal(metrics_file_write(file, &values, NULL), -1);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(look(&found), METRICS_FOREIGN);
	metrics_file_free(file);
}

/* Of two processes of a program the first writes. */
static void test_two(void **state)
{
	struct metrics_file *first = begin(3), *second;
	struct metrics_milter values = some(9), found;
	struct err err = ERR_INIT;

	(void)state;
	second = metrics_file_new(database, METRICS_MILTER);
	assert_int_equal(metrics_file_write(second, &values, &err), -1);
	assert_int_equal(look(&found), METRICS_LIVE);
	assert_int_equal(found.verdicts[VERDICT_RECORD], 3);
	metrics_file_free(first);
	assert_int_equal(metrics_file_write(second, &values, NULL), 0);
	assert_int_equal(look(&found), METRICS_LIVE);
	assert_int_equal(found.verdicts[VERDICT_RECORD], 9);
	metrics_file_free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_life, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damage, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_program, setup, teardown),
		cmocka_unit_test_setup_teardown(test_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_file, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
