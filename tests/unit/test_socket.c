/*
 * The file of a socket: locked, published, hidden.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/socket.h"
#include "tests/unit/temp_folder.h"

static const struct socket_use use = {"milter", "milter.socket", "make it"};

struct place {
	char *folder, *path, *lock;
};

static int setup(void **state)
{
	struct place *place = mem_new(struct place);

	place->folder = temp_folder_new();
	place->path = mem_printf("%s/m.sock", place->folder);
	place->lock = mem_printf("%s.lock", place->path);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	unlink(place->path);
	assert_int_equal(rmdir(place->folder), 0);
	free(place->folder);
	free(place->path);
	free(place->lock);
	free(place);
	return 0;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 5), 0);
	return fd;
}

static struct socket *lock(const struct place *place)
{
	struct err err = ERR_INIT;
	struct socket *socket = NULL;

	if (socket_lock(place->path, &use, &socket, &err) < 0)
		fail_msg("%s", err.text);
	return socket;
}

static void refused(const char *path, const char *why)
{
	struct err err = ERR_INIT;
	struct socket *socket = NULL;

	assert_int_equal(socket_lock(path, &use, &socket, &err), -1);
	assert_null(socket);
	assert_int_equal(err.code, ERR_CONFIG);
	if (strstr(err.text, why) == NULL || strstr(err.text, path) == NULL)
		fail_msg("no \"%s\" in: %s", why, err.text);
}

static void test_free_slot(void **state)
{
	const struct place *place = *state;
	struct socket *socket = lock(place);

	assert_int_equal(access(place->path, F_OK), -1);
	assert_int_equal(access(place->lock, F_OK), 0);
	socket_free(socket);
	assert_int_equal(access(place->lock, F_OK), -1);
}

static void test_dead_socket_is_removed(void **state)
{
	const struct place *place = *state;

	close(listen_at(place->path));
	socket_free(lock(place));
	assert_int_equal(access(place->path, F_OK), -1);
}

static void test_live_socket_stays(void **state)
{
	const struct place *place = *state;
	int fd = listen_at(place->path);

	refused(place->path, "another milter listens");
	assert_int_equal(access(place->path, F_OK), 0);
	assert_int_equal(access(place->lock, F_OK), -1);
	close(fd);
	socket_free(lock(place));
}

/* Also when so many wait that it takes no more. */
static void test_busy_socket_stays(void **state)
{
	const struct place *place = *state;
	int fd = listen_at(place->path), waiting[10];

	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};

		waiting[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		strcpy(address.sun_path, place->path);
		connect(waiting[i], (struct sockaddr *)&address, sizeof(address));
	}
	assert_int_equal(errno, EAGAIN);
	refused(place->path, "another milter listens");
	assert_int_equal(access(place->path, F_OK), 0);
	for (size_t i = 0; i < ARRAY_SIZE(waiting); i++)
		close(waiting[i]);
	close(fd);
}

static void test_second_lock(void **state)
{
	const struct place *place = *state;
	struct socket *socket = lock(place);

	refused(place->path, "another milter listens");
	socket_free(socket);
	socket_free(lock(place));
}

static void test_no_socket_stays(void **state)
{
	const struct place *place = *state;
	int fd = open(place->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	close(fd);
	refused(place->path, "is no socket");
	assert_int_equal(access(place->path, F_OK), 0);
}

static void test_no_folder(void **state)
{
	(void)state;
	refused("/nonexistent/postern/m.sock", "folder");
}

static void test_publish(void **state)
{
	static const struct {
		const char *text;
		mode_t mode;
	} modes[] = {{"0660", 0660}, {"600", 0600}, {"0666", 0666}};
	const struct place *place = *state;

	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		struct socket *socket = lock(place);
		int fd = listen_at(place->path);
		struct err err = ERR_INIT;
		struct stat status;

		assert_int_equal(socket_publish(socket, modes[i].text, "", &err), 0);
		assert_int_equal(stat(place->path, &status), 0);
		assert_int_equal(status.st_mode & 07777, modes[i].mode);
		close(fd);
		socket_free(socket);
	}
}

static void test_publish_nothing(void **state)
{
	struct socket *socket = lock(*state);
	struct err err = ERR_INIT;

	assert_int_equal(socket_publish(socket, "0660", "", &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	socket_free(socket);
}

/* It is not ours any more when it is removed, or another is in its place. */
static void test_lost(void **state)
{
	const struct place *place = *state;
	struct socket *socket = lock(place);
	int fd = listen_at(place->path), other;
	struct err err = ERR_INIT;

	assert_false(socket_is_named(socket));
	assert_int_equal(socket_publish(socket, "0600", "", &err), 0);
	assert_true(socket_is_named(socket));
	unlink(place->path);
	assert_false(socket_is_named(socket));
	other = listen_at(place->path);
	assert_false(socket_is_named(socket));
	socket_hide(socket);
	assert_int_equal(access(place->path, F_OK), 0);
	close(other);
	close(fd);
	socket_free(socket);
}

/* Who may write to the folder has no other file opened to all. */
static void test_publish_follows_no_link(void **state)
{
	const struct place *place = *state;
	struct socket *socket = lock(place);
	struct err err = ERR_INIT;
	struct stat status;
	_cleanup_free_ char *other = mem_printf("%s/other", place->folder);
	int fd;

	fd = open(other, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(symlink(other, place->path), 0);
	assert_int_equal(socket_publish(socket, "0666", "", &err), -1);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	close(fd);
	unlink(other);
	socket_free(socket);
}

/* Where the folder was emptied, the lock may be another daemon's by now. */
static void test_lock_of_another_stays(void **state)
{
	const struct place *place = *state;
	struct socket *first = lock(place), *second;

	unlink(place->lock);
	second = lock(place);
	socket_free(first);
	assert_int_equal(access(place->lock, F_OK), 0);
	socket_free(second);
	assert_int_equal(access(place->lock, F_OK), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_free_slot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_dead_socket_is_removed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_live_socket_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_busy_socket_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(test_second_lock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_socket_stays, setup, teardown),
		cmocka_unit_test(test_no_folder),
		cmocka_unit_test_setup_teardown(test_publish, setup, teardown),
		cmocka_unit_test_setup_teardown(test_publish_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_publish_follows_no_link, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lock_of_another_stays, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
