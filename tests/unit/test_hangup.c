/*
 * hangup: which connections end, and in which direction.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "milter/hangup.h"

struct line {
	char folder[32];
	struct sockaddr_un address;
	int listening;
	int client; /* as Postfix has it */
	int server; /* as libmilter has it */
};

static int setup(void **state)
{
	struct line *line = calloc(1, sizeof(*line));
	struct sockaddr *address = (struct sockaddr *)&line->address;

	strcpy(line->folder, "/tmp/test_hangup.XXXXXX");
	assert_non_null(mkdtemp(line->folder));
	line->address.sun_family = AF_UNIX;
	snprintf(line->address.sun_path, sizeof(line->address.sun_path),
		"%s/m.sock", line->folder);
	line->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	line->client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(
		bind(line->listening, address, sizeof(line->address)), 0);
	assert_int_equal(listen(line->listening, 5), 0);
	assert_int_equal(
		connect(line->client, address, sizeof(line->address)), 0);
	line->server = accept(line->listening, NULL, NULL);
	assert_true(line->server >= 0);
	*state = line;
	return 0;
}

static int teardown(void **state)
{
	struct line *line = *state;

	close(line->server);
	close(line->client);
	close(line->listening);
	unlink(line->address.sun_path);
	assert_int_equal(rmdir(line->folder), 0);
	free(line);
	return 0;
}

/* "-" when there is nothing to read yet, "" at the end. */
static const char *read_from(int fd, char text[static 16])
{
	ssize_t n = recv(fd, text, 15, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return n < 0 ? "-" : text;
}

static void write_to(int fd, const char *text)
{
	ssize_t len = (ssize_t)strlen(text);

	assert_int_equal(send(fd, text, (size_t)len, MSG_NOSIGNAL), len);
}

static void test_only_reading_ends(void **state)
{
	struct line *line = *state;
	char text[16];

	write_to(line->client, "before");
	unlink(line->address.sun_path);
	hangup_all(line->address.sun_path);
	assert_string_equal(read_from(line->server, text), "before");
	assert_string_equal(read_from(line->server, text), "");
	write_to(line->server, "answer");
	assert_string_equal(read_from(line->client, text), "answer");
	assert_string_equal(read_from(line->client, text), "-");
}

static void test_others_stay(void **state)
{
	struct line *line = *state;
	int pair[2];
	char text[16];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	hangup_all("/tmp/test_hangup.other");
	assert_string_equal(read_from(line->server, text), "-");
	hangup_all(line->address.sun_path);
	assert_string_equal(read_from(line->server, text), "");
	assert_string_equal(read_from(line->client, text), "-");
	assert_string_equal(read_from(pair[0], text), "-");
	assert_string_equal(read_from(pair[1], text), "-");
	close(pair[0]);
	close(pair[1]);
}

/* libmilter goes on to wait for connections until it is told to stop. */
static void test_listening_stays(void **state)
{
	struct line *line = *state;
	struct sockaddr *address = (struct sockaddr *)&line->address;
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[16];
	int server;

	hangup_all(line->address.sun_path);
	assert_int_equal(connect(client, address, sizeof(line->address)), 0);
	server = accept(line->listening, NULL, NULL);
	assert_true(server >= 0);
	write_to(client, "hello");
	assert_string_equal(read_from(server, text), "hello");
	close(server);
	close(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_only_reading_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_others_stay, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_listening_stays, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
