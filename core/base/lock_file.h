/*
 * lock_file: a file that one process at a time has locked, for as long as it
 * has it open.
 */
#ifndef POSTERN_BASE_LOCK_FILE_H
#define POSTERN_BASE_LOCK_FILE_H

#include <stdbool.h>
#include <sys/types.h>

/* Opens the file for writing, made if it is missing, and locks it: 1; 0 when
 * another process has it; -1 with errno. Follows no symbolic link. */
int lock_file_open(const char *path, mode_t mode, int *fd_r);

/* Whether the open file is the one that the path names. */
bool lock_file_is_at(int fd, const char *path);

#endif
