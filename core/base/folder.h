/*
 * folder: reads and writes files in directories of other users, as root.
 *
 * No symbolic link is followed, neither on the way nor at the end: otherwise the owner of a
 * directory could have root read or overwrite any file. A file is replaced atomically (rename)
 * and durably, and never exists with other permissions than the final ones, except 0600.
 */
#ifndef POSTERN_BASE_FOLDER_H
#define POSTERN_BASE_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* Opens the directory of an absolute path without following links. Returns the descriptor, or
 * -1. */
int folder_open(const char *path, struct err *err);
/* Opens the directory of a file. *name_r points into path. */
int folder_open_of(const char *path, const char **name_r, struct err *err);

/* Owner, group and permissions of a file. */
struct folder_rights {
	uid_t user;
	gid_t group;
	mode_t mode;
};

/* Appends the content of a regular file of at most FOLDER_FILE_MAX bytes, and gets its rights
 * (rights_r may be NULL). Returns 1, 0 if there is no such file, -1 on error. */
enum { FOLDER_FILE_MAX = 16 * 1024 * 1024 };
int folder_read(int folder, const char *name, struct buf *content, struct folder_rights *rights_r,
	struct err *err);
/* The same for the absolute path of a file. */
int folder_read_file(
	const char *path, struct buf *content, struct folder_rights *rights_r, struct err *err);

/* Writes a file. ERR_EXISTS if it exists and replace is false. Returns 0, or -1 on error. */
int folder_write(int folder, const char *name, const struct buf *content,
	const struct folder_rights *rights, bool replace, struct err *err);

/* Removes the file of an absolute path, if it exists. Returns 0, or -1 on error. */
int folder_remove_file(const char *path, struct err *err);

#endif
