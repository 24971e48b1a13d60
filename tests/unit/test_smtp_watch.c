/* smtp_watch: what it says of servers that are there, and that are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "catch.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "httpd/inject/smtp_server.h"
#include "temp_db.h"

enum { LOOK_US = 10 * 1000 * 1000 };

static int bind_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static int bind_inet(uint16_t *port_r)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	*port_r = ntohs(address.sin_port);
	return fd;
}

/* What the next look says; NULL: nothing. */
static void check_said(struct smtp_watch *watch, const char *event)
{
	struct catch catch = catch_stderr();
	_cleanup_free_ char *text = NULL;

	smtp_watch_look(watch, watch->next_us);
	text = catch_end(&catch);
	if (event == NULL)
		assert_string_equal(text, "");
	else
		assert_non_null(strstr(text, event));
}

static void test_comes_later(void **state)
{
	_cleanup_free_ char *path = temp_db_file(*state, "smtpd");
	_cleanup_free_ char *server = mem_printf("unix:%s", path);
	struct log *log = log_new("test", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
	struct smtp_watch watch;
	int fd;

	smtp_watch_begin(&watch, server, log);
	check_said(&watch, " warn event=smtp_server_unreachable error=\"cannot connect to");
	check_said(&watch, NULL);
	fd = bind_unix(path);
	assert_int_equal(listen(fd, 1), 0);
	check_said(&watch, " info event=smtp_server_reached server=unix:/");
	assert_int_equal(accept(fd, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN); /* it was only looked at */
	close(fd);
	check_said(&watch, NULL);
	smtp_watch_begin(&watch, server, log); /* the file is still there */
	check_said(&watch, "Connection refused");
	log_free(log);
}

static void test_is_there(void **state)
{
	_cleanup_free_ char *path = temp_db_file(*state, "smtpd");
	_cleanup_free_ char *server = mem_printf("unix:%s", path);
	struct log *log = log_new("test", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
	struct smtp_watch watch;
	int fd = bind_unix(path);

	assert_int_equal(listen(fd, 1), 0);
	smtp_watch_begin(&watch, server, log);
	check_said(&watch, NULL);
	assert_null(watch.server);
	close(fd);
	log_free(log);
}

static void test_by_tcp(void **state)
{
	struct log *log = log_new("test", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
	_cleanup_free_ char *server = NULL;
	struct smtp_watch watch;
	uint16_t port;
	int fd = bind_inet(&port);

	(void)state;
	server = mem_printf("inet:127.0.0.1:%d", port);
	smtp_watch_begin(&watch, server, log);
	check_said(&watch, "event=smtp_server_unreachable");
	assert_int_equal(listen(fd, 1), 0);
	check_said(&watch, "event=smtp_server_reached");
	close(fd);
	log_free(log);
}

static void test_looks_now_and_then(void **state)
{
	struct smtp_watch watch = {0};

	(void)state;
	smtp_watch_look(&watch, 1); /* not begun */
	smtp_watch_begin(&watch, "unix:/nowhere", NULL);
	smtp_watch_look(&watch, 1);
	assert_int_equal(watch.next_us, 1 + LOOK_US);
	smtp_watch_look(&watch, LOOK_US);
	assert_int_equal(watch.next_us, 1 + LOOK_US);
	smtp_watch_look(&watch, 1 + LOOK_US);
	assert_int_equal(watch.next_us, 1 + 2 * LOOK_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_comes_later, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_is_there, temp_db_setup, temp_db_teardown),
		cmocka_unit_test(test_by_tcp),
		cmocka_unit_test(test_looks_now_and_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
