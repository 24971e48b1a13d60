/*
 * listener: how many connections a worker takes, and which one next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/conf/conf.h"
#include "httpd/transport/listener.h"
#include "tests/unit/http_rig.h"

enum { CLIENTS = 12 };

static void connect_all(struct http_rig *rig, struct http_client *clients[static CLIENTS])
{
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = http_client_new(rig);
}

static void free_all(struct http_client *clients[static CLIENTS])
{
	for (int i = 0; i < CLIENTS; i++)
		http_client_free(clients[i]);
}

static size_t taken(const struct http_rig *rig)
{
	return listener_connections(rig->worker.listener);
}

static void wait_for(struct http_rig *rig, size_t n)
{
	while (taken(rig) != n)
		http_rig_wait(rig);
	assert_int_equal(rig->connections, n);
}

/* Another worker may have the next one. */
static void test_one_in_a_round(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *clients[CLIENTS];

	connect_all(rig, clients);
	while (taken(rig) < CLIENTS) {
		size_t before = taken(rig);

		http_rig_wait(rig);
		assert_true(taken(rig) <= before + 1);
	}
	free_all(clients);
	wait_for(rig, 0);
}

/* At the limit clients wait; a place that becomes free, or a higher limit, lets
 * the next one in. */
static void test_limit(void **state)
{
	enum { LIMIT = 3 };
	struct http_rig *rig = *state;
	struct http_client *clients[CLIENTS];

	rig->worker.conf->http.max_connections = LIMIT;
	connect_all(rig, clients);
	wait_for(rig, LIMIT);
	http_rig_settle(rig);
	assert_int_equal(taken(rig), LIMIT);

	http_client_say(clients[LIMIT], "x", 1);
	http_client_free(clients[0]);
	clients[0] = http_client_new(rig);
	http_client_say(clients[LIMIT], "\n", 1);
	http_client_hear(clients[LIMIT], "400", 1);
	wait_for(rig, LIMIT);

	rig->worker.conf->http.max_connections = CLIENTS;
	listener_check(rig->worker.listener);
	for (int i = 0; i < CLIENTS; i++)
		http_client_say(clients[i], "x\n", 2);
	for (int i = 0; i < CLIENTS; i++)
		http_client_hear(clients[i], "400", 1);
	free_all(clients);
}

/* Where another worker has less, this one leaves clients to it. Then the other one gets as many. */
static void take_share(struct http_rig *rig, struct http_client *clients[static CLIENTS])
{
	rig->shared.workers = 2;
	connect_all(rig, clients);
	while (taken(rig) <= CLIENTS / 2)
		http_rig_wait(rig);
	http_rig_settle(rig);
	assert_true(taken(rig) < CLIENTS);
	rig->connections += CLIENTS;
}

/* Where all have many, it takes as many as they have. */
static void test_share(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *clients[CLIENTS];

	take_share(rig, clients);
	listener_check(rig->worker.listener);
	while (taken(rig) < CLIENTS)
		http_rig_wait(rig);
	rig->connections -= CLIENTS;
	free_all(clients);
	wait_for(rig, 0);
}

/* It goes on by itself, soon after the others have caught up. */
static void test_others_catch_up(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *clients[CLIENTS];

	take_share(rig, clients);
	for (int i = 0; i < 1000 && taken(rig) < CLIENTS; i++) {
		http_rig_settle(rig);
		usleep(10 * 1000);
	}
	assert_int_equal(taken(rig), CLIENTS);
	rig->connections -= CLIENTS;
	free_all(clients);
	wait_for(rig, 0);
}

static void test_stop(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *before = http_client_new(rig), *after;

	wait_for(rig, 1);
	assert_false(listener_is_stopped(rig->worker.listener));
	listener_stop(rig->worker.listener);
	assert_true(listener_is_stopped(rig->worker.listener));
	listener_stop(rig->worker.listener);
	after = http_client_new(rig);
	listener_check(rig->worker.listener);
	http_rig_settle(rig);
	assert_int_equal(taken(rig), 1);
	http_client_free(before);
	wait_for(rig, 0);
	http_client_free(after);
}

/* Without a descriptor for a client it pauses, instead of trying on and on,
 * until somebody looks again. */
static void test_no_descriptors(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *client = http_client_new(rig);
	struct pollfd waiting = {.fd = rig->shared.listen_fd, .events = POLLIN};
	struct rlimit before, none;

	assert_int_equal(poll(&waiting, 1, 60 * 1000), 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 3, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	http_rig_settle(rig);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	http_rig_settle(rig);
	assert_int_equal(taken(rig), 0);
	listener_check(rig->worker.listener);
	wait_for(rig, 1);
	http_client_free(client);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, http_rig_setup, http_rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_in_a_round),
		TEST(limit),
		TEST(share),
		TEST(others_catch_up),
		TEST(stop),
		TEST(no_descriptors),
	};
	int failed = cmocka_run_group_tests_name("listener", tests, NULL, NULL);

	libevent_global_shutdown();
	return failed;
}
