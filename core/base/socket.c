/*
 * socket: addresses of sockets, and the file of a Unix-domain socket.
 *
 * libmilter removes any socket at its path when it starts and, unless it runs as root, when it
 * ends. The lock makes that harmless: while one daemon lives, no other creates a socket there.
 *
 * Threads: main only; socket_parse(), socket_connect() and socket_look() any.
 */
#include "core/base/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/lock_file.h"
#include "core/base/str.h"

struct socket {
	char *path;
	char *lock_path;
	int lock_fd;
	int file_fd; /* O_PATH descriptor of the socket's file, -1 until published */
};

bool socket_parse(const char *text, union socket_address *address_r, socklen_t *len_r)
{
	const char *colon = strrchr(text, ':');
	_cleanup_free_ char *host = NULL;
	int64_t port;

	if (colon == NULL || str_int(colon + 1, 0, UINT16_MAX, &port) < 0)
		return false;
	memset(address_r, 0, sizeof(*address_r));
	if (text[0] == '[' && colon[-1] == ']') {
		host = mem_dup(text + 1, (size_t)(colon - text) - 2);
		address_r->in6.sin6_family = AF_INET6;
		address_r->in6.sin6_port = htons((uint16_t)port);
		*len_r = sizeof(address_r->in6);
		return inet_pton(AF_INET6, host, &address_r->in6.sin6_addr) == 1;
	}
	host = mem_dup(text, (size_t)(colon - text));
	address_r->in.sin_family = AF_INET;
	address_r->in.sin_port = htons((uint16_t)port);
	*len_r = sizeof(address_r->in);
	return inet_pton(AF_INET, host, &address_r->in.sin_addr) == 1;
}

int socket_connect(const char *path, int type, int *fd_r)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	int fd, number;

	if (len == 0 || len >= sizeof(address.sun_path))
		return ENAMETOOLONG;
	memcpy(address.sun_path, path, len + 1);
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
		*fd_r = fd;
		return 0;
	}
	number = errno;
	close(fd);
	return number;
}

/* Connects a datagram socket, which a listening stream socket refuses with EPROTOTYPE, but only
 * after all other reasons to refuse a connection. */
int socket_look(const char *path)
{
	int fd = -1, number = socket_connect(path, SOCK_DGRAM, &fd);

	if (fd >= 0)
		close(fd);
	return number == EPROTOTYPE ? 0 : number;
}

static int fail_socket(struct err *err, const char *what, const char *path)
{
	return err_set(err, ERR_CONFIG, "cannot %s %s: %s", what, path, strerror(errno));
}

/* Removes the socket that a daemon left behind, if nobody listens on it. */
static int remove_old_socket(const char *path, const struct socket_use *use, struct err *err)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return errno == ENOENT ? 0 : fail_socket(err, "look at", path);
	if (!S_ISSOCK(status.st_mode))
		return err_set(
			err, ERR_CONFIG, "%s (%s) is there and is no socket", path, use->setting);
	errno = socket_look(path);
	if (errno == 0)
		return err_set(err, ERR_CONFIG, "another %s listens on %s (%s)", use->program, path,
			use->setting);
	if (errno != ECONNREFUSED && errno != ENOENT)
		return fail_socket(err, "tell whether anybody listens on", path);
	if (unlink(path) < 0 && errno != ENOENT)
		return fail_socket(err, "remove the old socket", path);
	return 0;
}

static int lock(const char *lock_path, const char *path, const struct socket_use *use, int *fd_r,
	struct err *err)
{
	int result = lock_file_open(lock_path, 0600, fd_r);

	if (result > 0)
		return 0;
	if (result == 0)
		return err_set(err, ERR_CONFIG, "another %s listens on %s (%s)", use->program, path,
			use->setting);
	if (errno == ENOENT)
		return err_set(err, ERR_CONFIG, "the folder of %s (%s) is missing; %s", path,
			use->setting, use->folder_advice);
	return fail_socket(err, "make", lock_path);
}

int socket_lock(
	const char *path, const struct socket_use *use, struct socket **socket_r, struct err *err)
{
	_cleanup_(socket) struct socket *self = mem_new(struct socket);

	self->path = mem_strdup(path);
	self->lock_path = mem_printf("%s.lock", path);
	self->lock_fd = self->file_fd = -1;
	if (lock(self->lock_path, path, use, &self->lock_fd, err) < 0 ||
		remove_old_socket(path, use, err) < 0)
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
		/* If the directory was emptied, the file may be another daemon's. */
		if (lock_file_is_at(self->lock_fd, self->lock_path))
			unlink(self->lock_path);
		close(self->lock_fd);
	}
	free(self->lock_path);
	free(self->path);
	free(self);
}

/* Works on a descriptor: a user who may write to the directory could put a link there and have
 * another file opened to all. */
int socket_publish(struct socket *self, const char *mode, const char *group, struct err *err)
{
	char opened[sizeof("/proc/self/fd/") + 11];
	struct stat status;

	self->file_fd = open(self->path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (self->file_fd < 0)
		return fail_socket(err, "open", self->path);
	if (fstat(self->file_fd, &status) < 0 || !S_ISSOCK(status.st_mode))
		return err_set(err, ERR_CONFIG, "somebody has replaced the socket %s", self->path);
	if (*group) {
		const struct group *owner = getgrnam(group);

		if (owner == NULL)
			return err_set(
				err, ERR_CONFIG, "there is no group %s for %s", group, self->path);
		if (fchownat(self->file_fd, "", (uid_t)-1, owner->gr_gid, AT_EMPTY_PATH) < 0)
			return err_set(err, ERR_CONFIG,
				"cannot give %s to the group %s, which this user has to be in: %s",
				self->path, group, strerror(errno));
	}
	snprintf(opened, sizeof(opened), "/proc/self/fd/%d", self->file_fd);
	if (chmod(opened, (mode_t)strtol(mode, NULL, 8)) < 0)
		return fail_socket(err, "set the mode of", self->path);
	return 0;
}

bool socket_is_named(const struct socket *self)
{
	return self->file_fd >= 0 && lock_file_is_at(self->file_fd, self->path);
}

/* If another file has replaced the published socket, it is not ours to remove. */
void socket_hide(struct socket *self)
{
	if (self->file_fd < 0 || socket_is_named(self))
		unlink(self->path);
}
