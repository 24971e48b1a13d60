/*
 * The janitor's rounds and the counts that it logs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "milter/socket.h"

static void test_counts(void **state)
{
	struct counts counts = {0};

	(void)state;
	assert_false(counts_log(&counts, NULL));
	for (size_t i = 0; i < VERDICT_ACTIONS; i++) {
		counts_add(&counts,
			(struct verdict){(enum verdict_action)i, REASON_NONE});
		assert_int_equal(counts.of[i], 1);
		assert_true(counts_log(&counts, NULL));
		assert_false(counts_log(&counts, NULL));
	}
}

/* A row: a message comes before the round, when that is, and how many of the
 * messages are logged after it. */
static const struct {
	bool message;
	int64_t now_us;
	uint64_t logged;
} rounds[] = {
	{true, 1, 0},
	{false, (int64_t)JANITOR_COUNTS_MS * 1000 - 1, 0},
	{false, (int64_t)JANITOR_COUNTS_MS * 1000, 1},
	{true, (int64_t)JANITOR_COUNTS_MS * 1000 + 1, 1},
	{true, (int64_t)JANITOR_COUNTS_MS * 2000, 3},
};

static void test_once_an_hour(void **state)
{
	char folder[] = "/tmp/test_janitor.XXXXXX";
	_cleanup_free_ char *path = NULL;
	_cleanup_(socket) struct socket *socket = NULL;
	struct service service = {0};
	struct janitor janitor;
	struct err err = ERR_INIT;

	(void)state;
	assert_non_null(mkdtemp(folder));
	path = mem_printf("%s/m.sock", folder);
	assert_int_equal(socket_lock(path, &socket, &err), 0);
	janitor_begin(&janitor, &service, socket, 0);
	for (size_t i = 0; i < ARRAY_SIZE(rounds); i++) {
		if (rounds[i].message)
			counts_add(&service.counts,
				(struct verdict){
					VERDICT_TEMPFAIL, REASON_STORE_FAILED});
		/* There is no socket in the place that is locked. */
		assert_false(janitor_round(&janitor, rounds[i].now_us));
		assert_int_equal(service.counts.logged, rounds[i].logged);
	}
	socket_free(TAKE_PTR(socket));
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_once_an_hour),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
