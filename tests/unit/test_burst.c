/* What libmilter does with its sockets, done to the functions that stand for
 * them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "milter/burst.h"

enum { CLIENTS = 3, ASKED_MS = 1 };

struct rig {
	int listener;
	int pipe[2];
	struct sockaddr_un address;
	socklen_t len;
	int client[CLIENTS];
	int server[CLIENTS];
};

/* Whether a thread that has this connection finds something to read. */
static bool is_ready(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	int n = burst_poll(&poll_fd, 1, ASKED_MS);

	assert_true(n == 0 || (n == 1 && poll_fd.revents == POLLIN));
	return n == 1;
}

static int set_up(void **state)
{
	static struct rig rig;

	rig = (struct rig){
		.address.sun_family = AF_UNIX, .len = sizeof(rig.address)};
	rig.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	/* The kernel chooses a name that is no file. */
	assert_int_equal(bind(rig.listener, (struct sockaddr *)&rig.address,
				 sizeof(rig.address.sun_family)),
		0);
	assert_int_equal(getsockname(rig.listener,
				 (struct sockaddr *)&rig.address, &rig.len),
		0);
	assert_int_equal(listen(rig.listener, CLIENTS), 0);
	assert_int_equal(pipe(rig.pipe), 0);
	for (int i = 0; i < CLIENTS; i++) {
		rig.client[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		assert_int_equal(
			connect(rig.client[i], (struct sockaddr *)&rig.address,
				rig.len),
			0);
		rig.server[i] = burst_accept(rig.listener, NULL, NULL);
		assert_true(rig.server[i] >= 0);
		assert_false(is_ready(rig.server[i]));
	}
	*state = &rig;
	return 0;
}

static int tear_down(void **state)
{
	struct rig *rig = *state;

	for (int i = 0; i < CLIENTS; i++) {
		close(rig->client[i]);
		assert_int_equal(burst_close(rig->server[i]), 0);
	}
	close(rig->listener);
	close(rig->pipe[0]);
	close(rig->pipe[1]);
	return 0;
}

static void put(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* The next bytes, as many as there are wanted. */
static void check_read(int fd, const char *wanted)
{
	char got[64] = "";

	assert_int_equal(burst_read(fd, got, strlen(wanted)), strlen(wanted));
	assert_string_equal(got, wanted);
}

static void test_pieces(void **state)
{
	struct rig *rig = *state;
	int fd = rig->server[0];

	put(rig->client[0], "command and its text");
	assert_true(is_ready(fd));
	check_read(fd, "comm");
	assert_true(is_ready(fd));
	check_read(fd, "and and its ");
	put(rig->client[0], "next");
	assert_true(is_ready(fd));
	check_read(fd, "text");
	assert_true(is_ready(fd));
	check_read(fd, "next");
	assert_false(is_ready(fd));
}

/* Read first what came before the end. */
static void test_end(void **state)
{
	struct rig *rig = *state;
	int fd = rig->server[0];
	char got[8];

	put(rig->client[0], "last");
	shutdown(rig->client[0], SHUT_WR);
	assert_true(is_ready(fd));
	check_read(fd, "last");
	for (int i = 0; i < 2; i++) {
		assert_true(is_ready(fd));
		assert_int_equal(burst_read(fd, got, sizeof(got)), 0);
	}
}

static void *write_much(void *arg)
{
	const struct rig *rig = arg;

	for (uint32_t i = 0; i < 100000; i++)
		if (write(rig->client[0], &i, sizeof(i)) != sizeof(i))
			break;
	shutdown(rig->client[0], SHUT_WR);
	return NULL;
}

/* More than a buffer, read in pieces of odd sizes. */
static void test_much(void **state)
{
	struct rig *rig = *state;
	unsigned char got[4099];
	size_t at = 0, size = 1;
	pthread_t thread;
	ssize_t n;

	pthread_create(&thread, NULL, write_much, rig);
	for (;;) {
		struct pollfd poll_fd = {.fd = rig->server[0], .events = POLLIN};

		assert_int_equal(burst_poll(&poll_fd, 1, 10000), 1);
		n = burst_read(rig->server[0], got, size);
		if (n <= 0)
			break;
		for (ssize_t i = 0; i < n; i++, at++)
			assert_int_equal(
				got[i], (unsigned char)(at / 4 >> at % 4 * 8));
		size = size % sizeof(got) + 1;
	}
	assert_int_equal(n, 0);
	assert_int_equal(at, 400000);
	pthread_join(thread, NULL);
}

/* Watches all of them: which one is found ready; -1: none. */
static int watch(struct rig *rig, int timeout_ms, bool *pipe_r)
{
	struct pollfd fds[CLIENTS + 1];
	int found = -1, ready = 0, n;

	fds[0] = (struct pollfd){.fd = rig->pipe[0], .events = POLLIN};
	for (int i = 0; i < CLIENTS; i++)
		fds[i + 1] = (struct pollfd){
			.fd = rig->server[i], .events = POLLIN};
	n = burst_poll(fds, CLIENTS + 1, timeout_ms);
	for (int i = 0; i <= CLIENTS; i++)
		ready += fds[i].revents != 0;
	assert_int_equal(n, ready);
	for (int i = 0; i < CLIENTS; i++) {
		if (fds[i + 1].revents == 0)
			continue;
		assert_int_equal(found, -1);
		found = i;
	}
	*pipe_r = fds[0].revents != 0;
	return found;
}

/* One at a time, in turn, and the pipe with any of them. */
static void test_turns(void **state)
{
	struct rig *rig = *state;
	int seen[CLIENTS] = {0};
	bool has_pipe;

	assert_int_equal(watch(rig, 0, &has_pipe), -1);
	assert_false(has_pipe);
	put(rig->pipe[1], "x");
	for (int i = 0; i < CLIENTS; i++)
		put(rig->client[i], "command");
	for (int i = 0; i < 2 * CLIENTS; i++) {
		int found = watch(rig, 10000, &has_pipe);

		assert_true(has_pipe);
		assert_in_range(found, 0, CLIENTS - 1);
		seen[found]++;
		assert_true(is_ready(rig->server[found])); /* a thread has it */
		check_read(rig->server[found], "command");
		put(rig->client[found], "command");
	}
	for (int i = 0; i < CLIENTS; i++)
		assert_int_equal(seen[i], 2);
}

struct begin {
	int fd;
	bool begun;
};

static void *begin_late(void *arg)
{
	struct begin *begin = arg;

	for (int i = 0; i < 10; i++)
		sched_yield();
	begin->begun = true;
	assert_true(is_ready(begin->fd));
	return NULL;
}

/* The next is not handed out before a thread has begun with the one before. */
static void test_next_waits(void **state)
{
	struct rig *rig = *state;
	struct begin begin = {0};
	pthread_t thread;
	bool has_pipe;
	int first;

	put(rig->client[0], "command");
	put(rig->client[1], "command");
	first = watch(rig, 10000, &has_pipe);
	assert_in_range(first, 0, 1);
	begin.fd = rig->server[first];
	pthread_create(&thread, NULL, begin_late, &begin);
	assert_int_equal(watch(rig, 10000, &has_pipe), 1 - first);
	assert_true(begin.begun);
	pthread_join(thread, NULL);
}

/* One that is closed instead lets the next go too. */
static void test_closed_in_hand(void **state)
{
	struct rig *rig = *state;
	bool has_pipe;

	put(rig->client[0], "command");
	assert_int_equal(watch(rig, 10000, &has_pipe), 0);
	assert_int_equal(burst_close(rig->server[0]), 0);
	rig->server[0] = dup(rig->pipe[0]);
	put(rig->client[1], "command");
	assert_int_equal(watch(rig, 10000, &has_pipe), 1);
	assert_true(is_ready(rig->server[1]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_pieces, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_much, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_turns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_next_waits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_closed_in_hand, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
