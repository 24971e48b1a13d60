/* database_watch: files that are moved, removed, replaced and put back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "httpd/worker/database_watch.h"
#include "temp_db.h"

enum { SECOND_US = 1000000 };

static void make(const char *path)
{
	assert_int_equal(close(creat(path, 0600)), 0);
}

static void test_what_becomes_of_a_file(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_free_ char *aside = temp_db_file(temp, "aside.db");
	struct database_watch watch;
	int64_t now_us = 0;

	database_watch_begin(&watch, temp->path, NULL, NULL);
	assert_false(watch.gone);
#define LOOK(wanted)                                                                               \
	do {                                                                                       \
		now_us += SECOND_US;                                                               \
		database_watch_look(&watch, now_us);                                               \
		assert_int_equal(watch.gone, wanted);                                              \
	} while (0)
	LOOK(false);
	assert_int_equal(rename(temp->path, aside), 0);
	LOOK(true);
	LOOK(true);
	make(temp->path);
	LOOK(true);
	assert_int_equal(rename(aside, temp->path), 0);
	LOOK(false);
	make(aside);
	assert_int_equal(rename(aside, temp->path), 0);
	LOOK(true);
}

static void test_looks_once_a_second(void **state)
{
	struct temp_db *temp = *state;
	struct database_watch watch;

	database_watch_begin(&watch, temp->path, NULL, NULL);
	database_watch_look(&watch, SECOND_US);
	assert_int_equal(unlink(temp->path), 0);
	database_watch_look(&watch, 2 * SECOND_US - 1);
	assert_false(watch.gone);
	database_watch_look(&watch, 2 * SECOND_US);
	assert_true(watch.gone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_what_becomes_of_a_file, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(
			test_looks_once_a_second, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
