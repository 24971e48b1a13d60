/*
 * lock_file: uses flock(2), whose lock ends with the process.
 *
 * Threads: any.
 */
#include "core/base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

bool lock_file_is_at(int fd, const char *path)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && lstat(path, &named) == 0 && ours.st_dev == named.st_dev &&
	       ours.st_ino == named.st_ino;
}

int lock_file_open(const char *path, mode_t mode, int *fd_r)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);

	if (fd < 0)
		return -1;
	/* Its owner may have removed or renamed the file between open() and flock(). */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !lock_file_is_at(fd, path)) {
		close(fd);
		return 0;
	}
	*fd_r = fd;
	return 1;
}
