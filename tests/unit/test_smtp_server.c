/*
 * smtp_server: which names are servers, and what is said of one that does not
 * answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "httpd/inject/smtp_server.h"
#include "tests/unit/temp_db.h"

#define X10  "xxxxxxxxxx"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10

/* More than a socket address holds. */
static const char too_long[] = "unix:/" X100 "/" X100;

enum { WAIT_MS = 60 * 1000 };

static void test_names(void **state)
{
	static const char *const names[] = {"", "unix", "unix:", "inet:", "inet:127.0.0.1",
		"inet:127.0.0.1:", "inet:127.0.0.1:0", "inet:127.0.0.1:65536", "inet:127.0.0.1:x",
		"inet::25", "inet:localhost:25", "inet:[::1:25", "inet:::1:25", "inet:[]:25",
		"inet:[127.0.0.1]:25", "tcp:127.0.0.1:25", "/socket", too_long};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct err err = ERR_INIT;
		int fd = -1;

		assert_int_equal(smtp_server_connect(names[i], &fd, &err), -1);
		if (err.code != ERR_CONFIG || fd != -1)
			fail_msg("%s: %s", names[i], err.text);
		assert_int_equal(smtp_server_check(names[i], 0, &err), -1);
		assert_int_equal(err.code, ERR_CONFIG);
	}
}

/* The listening socket; the caller closes it. */
static int listen_at(struct sockaddr *address, socklen_t len)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, address, len), 0);
	assert_int_equal(listen(fd, 5), 0);
	return fd;
}

static int listen_unix(const struct temp_db *temp, char **server_r)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_free_ char *path = temp_db_file(temp, "smtpd");

	assert_true(strlen(path) < sizeof(address.sun_path));
	strcpy(address.sun_path, path);
	*server_r = mem_printf("unix:%s", path);
	return listen_at((struct sockaddr *)&address, sizeof(address));
}

static int listen_inet(const struct temp_db *temp, char **server_r)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	int fd;

	(void)temp;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = listen_at((struct sockaddr *)&address, len);
	getsockname(fd, (struct sockaddr *)&address, &len);
	*server_r = mem_printf("inet:127.0.0.1:%d", ntohs(address.sin_port));
	return fd;
}

/* Connecting to nobody fails at once, or when it is waited for. */
static void assert_nobody(const char *server)
{
	struct err err = ERR_INIT;

	assert_int_equal(smtp_server_check(server, WAIT_MS, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_non_null(strstr(err.text, server));
	assert_non_null(strstr(err.text, strerror(ECONNREFUSED)));
}

static void test_servers(void **state)
{
	static int (*const listens[])(const struct temp_db *temp, char **server_r) = {
		listen_unix, listen_inet};

	for (size_t i = 0; i < ARRAY_SIZE(listens); i++) {
		_cleanup_free_ char *server = NULL;
		int listener = listens[i](*state, &server), fd, accepted;
		struct pollfd waiting = {.fd = listener, .events = POLLIN};

		OK(smtp_server_connect(server, &fd, &why));
		assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(poll(&waiting, 1, WAIT_MS), 1);
		accepted = accept(listener, NULL, NULL);
		assert_true(accepted >= 0);
		close(accepted);
		close(fd);
		OK(smtp_server_check(server, WAIT_MS, &why));
		close(listener);
		assert_nobody(server);
	}
}

/* Looking at a Unix-domain socket is no connection. */
static void test_look_does_not_connect(void **state)
{
	_cleanup_free_ char *server = NULL;
	int listener = listen_unix(*state, &server);
	struct pollfd waiting = {.fd = listener, .events = POLLIN};

	OK(smtp_server_check(server, WAIT_MS, &why));
	assert_int_equal(poll(&waiting, 1, 0), 0);
	close(listener);
}

static void test_no_socket(void **state)
{
	static const char server[] = "unix:/nonexistent/smtpd";
	struct err err = ERR_INIT;
	int fd = -1;

	(void)state;
	assert_int_equal(smtp_server_connect(server, &fd, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_int_equal(smtp_server_check(server, 0, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	assert_int_equal(fd, -1);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(test_##name, temp_db_setup_folder, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		TEST(names),
		TEST(servers),
		TEST(look_does_not_connect),
		TEST(no_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
