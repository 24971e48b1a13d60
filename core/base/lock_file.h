/*
 * lock_file: a file that only one process at a time can lock. The lock lasts as long as the
 * file is open.
 */
#ifndef POSTERN_BASE_LOCK_FILE_H
#define POSTERN_BASE_LOCK_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/* Opens the file for writing, creates it if it is missing, and locks it. Returns 1, 0 if
 * another process has locked it, -1 with errno. Does not follow symbolic links. */
int lock_file_open(const char *path, mode_t mode, int *fd_r);

/* True if the open file is the one that the path names. */
bool lock_file_is_at(int fd, const char *path);

#endif
