/*
 * serve: the thread of libmilter, from start to end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "milter/serve.h"
#include "tests/unit/fake_smfi.h"
#include "tests/unit/temp_db.h"

static sem_t ended;

static void on_end(void)
{
	sem_post(&ended);
}

static bool has_ended(void)
{
	int n;

	sem_getvalue(&ended, &n);
	return n > 0;
}

/* A claimed socket that somebody listens on; the descriptor is the caller's. */
static int listen_on(const struct temp_db *temp, struct socket **socket_r)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_free_ char *path = temp_db_file(temp, "m.sock");
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	OK(socket_claim(path, socket_r, &why));
	assert_int_equal(
		bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 100), 0);
	OK(socket_publish(*socket_r, "0600", &why));
	return fd;
}

/* It serves until it is told to stop; who stops it is told how it went, and
 * libmilter is woken, which might not look for seconds. */
static void test_stop(void **state)
{
	static const struct {
		int result;
		bool well;
	} cases[] = {
		{MI_SUCCESS, true},
		{MI_FAILURE, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(socket) struct socket *socket = NULL;
		int listener = listen_on(*state, &socket), woken;
		struct serve *serve;

		sem_init(&ended, 0, 0);
		fake_smfi_loop_init(true, cases[i].result);
		OK(serve_start(on_end, &serve, &why));
		assert_false(has_ended());
		socket_hide(socket);
		assert_int_equal(serve_stop(serve, socket), cases[i].well);
		assert_true(has_ended());
		woken = accept(listener, NULL, NULL);
		assert_true(woken >= 0);
		close(woken);
		close(listener);
	}
}

/* libmilter gives up by itself: its end is told at once. */
static void test_ends_by_itself(void **state)
{
	_cleanup_(socket) struct socket *socket = NULL;
	int listener = listen_on(*state, &socket);
	struct serve *serve;

	sem_init(&ended, 0, 0);
	fake_smfi_loop_init(false, MI_FAILURE);
	OK(serve_start(on_end, &serve, &why));
	while (sem_wait(&ended) != 0)
		continue;
	assert_false(serve_stop(serve, socket));
	close(listener);
}

int main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(                                       \
		test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(stop),
		TEST(ends_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
