/*
 * socket: the file of the milter's Unix-domain socket.
 *
 * libmilter itself would remove whatever socket is in its way, when it starts
 * and, unless it runs as root, when it ends. The lock keeps that harmless: as
 * long as one milter lives, no other makes a socket there.
 *
 * Threads: main's.
 */
#include "milter/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/postfix/postfix_run.h"

struct socket {
	char *path;
	char *lock_path;
	int lock_fd;
	int file_fd; /* the socket's file, -1 until published */
};

static int cannot(struct err *err, const char *what, const char *path)
{
	return err_set(err, ERR_CONFIG, "cannot %s %s: %s", what, path,
		strerror(errno));
}

static int remove_dead(const char *path, struct err *err)
{
	if (unlink(path) < 0 && errno != ENOENT)
		return cannot(err, "remove the old socket", path);
	return 0;
}

static int clear_path(const char *path, struct err *err)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return errno == ENOENT ? 0 : cannot(err, "look at", path);
	if (!S_ISSOCK(status.st_mode))
		return err_set(err, ERR_CONFIG,
			"%s (milter.socket) is there and is no socket", path);
	errno = postfix_socket_look(path);
	if (errno == 0)
		return err_set(err, ERR_CONFIG,
			"another milter listens on %s (milter.socket)", path);
	if (errno != ECONNREFUSED && errno != ENOENT)
		return cannot(err, "tell whether a milter listens on", path);
	return remove_dead(path, err);
}

/* Whether the open file is the one that the path names: its owner may have
 * removed it between our open() and our flock(). */
static bool is_named(int fd, const char *path)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && lstat(path, &named) == 0 &&
	       ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

static int lock(
	const char *lock_path, const char *path, int *fd_r, struct err *err)
{
	int fd = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_CONFIG,
			"the folder of %s (milter.socket) is missing; "
			"postfix-conf/enable makes it",
			path);
	if (fd < 0)
		return cannot(err, "make", lock_path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && is_named(fd, lock_path)) {
		*fd_r = fd;
		return 0;
	}
	close(fd);
	return err_set(err, ERR_CONFIG,
		"another milter listens on %s (milter.socket)", path);
}

int socket_lock(const char *path, struct socket **socket_r, struct err *err)
{
	_cleanup_(socket) struct socket *self = mem_new(struct socket);

	self->path = mem_strdup(path);
	self->lock_path = mem_printf("%s.lock", path);
	self->lock_fd = self->file_fd = -1;
	if (lock(self->lock_path, path, &self->lock_fd, err) < 0 ||
		clear_path(path, err) < 0)
		return -1;
	*socket_r = TAKE_PTR(self);
	return 0;
}

void socket_free(struct socket *self)
{
	if (self == NULL)
		return;
	if (self->file_fd >= 0)
		close(self->file_fd);
	if (self->lock_fd >= 0) {
		unlink(self->lock_path);
		close(self->lock_fd);
	}
	free(self->lock_path);
	free(self->path);
	free(self);
}

int socket_publish(struct socket *self, const char *mode, struct err *err)
{
	self->file_fd = open(self->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (self->file_fd < 0)
		return cannot(err, "open", self->path);
	if (chmod(self->path, (mode_t)strtol(mode, NULL, 8)) < 0)
		return cannot(err, "set the mode of", self->path);
	return 0;
}

bool socket_is_named(const struct socket *self)
{
	return self->file_fd >= 0 && is_named(self->file_fd, self->path);
}

/* What was put in the place of a published socket is not ours to remove. */
void socket_hide(struct socket *self)
{
	if (self->file_fd < 0 || socket_is_named(self))
		unlink(self->path);
}
