/*
 * hangup: finds the connections among the descriptors of the process.
 *
 * libmilter keeps them to itself. A connection that ends meanwhile may leave its
 * number to another descriptor; then that one does not bear the socket's name.
 *
 * Threads: any.
 */
#include "milter/hangup.h"

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* An accepted socket has the name of the one that listens. */
static bool is_connection(int fd, const char *path)
{
	struct sockaddr_un name = {0};
	socklen_t name_len = sizeof(name), len = sizeof(int);
	int listens = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0 ||
		listens ||
		getsockname(fd, (struct sockaddr *)&name, &name_len) < 0)
		return false;
	return name.sun_family == AF_UNIX &&
	       strncmp(name.sun_path, path, sizeof(name.sun_path)) == 0;
}

void hangup_all(const char *path)
{
	DIR *descriptors = opendir("/proc/self/fd");
	const struct dirent *entry;

	if (descriptors == NULL)
		return;
	while ((entry = readdir(descriptors)) != NULL) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] != '.' && is_connection(fd, path))
			shutdown(fd, SHUT_RD);
	}
	closedir(descriptors);
}
