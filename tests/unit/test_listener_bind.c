/* listener_bind: what can be bound, and what is said of what cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/transport/listener.h"

static void test_any_port(void **state)
{
	char name[LISTENER_NAME_SIZE];
	struct err err = ERR_INIT;
	int fd, listening;
	socklen_t len = sizeof(listening);

	(void)state;
	assert_int_equal(listener_bind("127.0.0.1:0", &fd, name, &err), 0);
	assert_true(str_starts(name, "127.0.0.1:"));
	assert_string_not_equal(name, "127.0.0.1:0");
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &len);
	assert_true(listening);
	close(fd);
}

/* A client that opens two thousand connections at once makes no other one wait for a second SYN. */
static void test_backlog(void **state)
{
	char name[LISTENER_NAME_SIZE], text[16] = "";
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);
	long most;
	int fd, settings = open("/proc/sys/net/core/somaxconn", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(read(settings, text, sizeof(text) - 1) > 0);
	close(settings);
	most = strtol(text, NULL, 10);
	assert_int_equal(listener_bind("127.0.0.1:0", &fd, name, NULL), 0);
	/* Of a listener, it is the length of the queue. */
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len), 0);
	assert_int_equal(info.tcpi_sacked, most < 4096 ? most : 4096);
	close(fd);
}

/* What a connection has of its listener: it does not wait to fill a segment. */
static void test_connection(void **state)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address), n = sizeof(int);
	char name[LISTENER_NAME_SIZE];
	int fd, client, accepted, at_once = 0;

	(void)state;
	assert_int_equal(listener_bind("127.0.0.1:0", &fd, name, NULL), 0);
	assert_true(listener_is_on_loopback(fd));
	getsockname(fd, (struct sockaddr *)&address, &len);
	client = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client, (const struct sockaddr *)&address, len), 0);
	accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(accepted >= 0);
	assert_int_equal(getsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &at_once, &n), 0);
	assert_true(at_once);
	close(accepted);
	close(client);
	close(fd);
}

/* Who listens everywhere is not on loopback. */
static void test_everywhere(void **state)
{
	char name[LISTENER_NAME_SIZE];
	int fd;

	(void)state;
	assert_int_equal(listener_bind("0.0.0.0:0", &fd, name, NULL), 0);
	assert_false(listener_is_on_loopback(fd));
	close(fd);
}

static void test_name_of_v6(void **state)
{
	char name[LISTENER_NAME_SIZE];
	struct err err = ERR_INIT;
	int fd;

	(void)state;
	if (listener_bind("[::1]:0", &fd, name, &err) < 0)
		skip(); /* a host without IPv6 */
	assert_true(str_starts(name, "[::1]:"));
	assert_true(listener_is_on_loopback(fd));
	close(fd);
}

static void test_taken(void **state)
{
	char name[LISTENER_NAME_SIZE], again[LISTENER_NAME_SIZE];
	struct err err = ERR_INIT;
	int fd, other = -1;

	(void)state;
	assert_int_equal(listener_bind("127.0.0.1:0", &fd, name, &err), 0);
	assert_int_equal(listener_bind(name, &other, again, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, name));
	assert_int_equal(other, -1);
	close(fd);
}

static void test_refused(void **state)
{
	static const char *const addresses[] = {"", "localhost:80", "127.0.0.1", "127.0.0.1:x",
		"127.0.0.1:99999", "[::1:80", "::1:80", "[127.0.0.1:80", ":", ":80x",
		"127.0.0.1:-1", "127.0.0.1: 80", "192.0.2.1:0"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		char name[LISTENER_NAME_SIZE];
		struct err err = ERR_INIT;
		int fd;

		if (listener_bind(addresses[i], &fd, name, &err) == 0)
			fail_msg("%s was bound as %s", addresses[i], name);
		assert_int_equal(err.code, ERR_CONFIG);
		assert_non_null(strstr(err.text, addresses[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_port),
		cmocka_unit_test(test_backlog),
		cmocka_unit_test(test_connection),
		cmocka_unit_test(test_everywhere),
		cmocka_unit_test(test_name_of_v6),
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("listener_bind", tests, NULL, NULL);
}
