/*
 * folder: reads and writes files in folders that belong to other users, as root may have to.
 *
 * No symbolic link is followed, neither on the way nor at its end: who owns a folder could have
 * root read or overwrite any file by one. A file is replaced as a whole (rename), durably, and is
 * never there with other rights than the ones that are wanted.
 */
#ifndef POSTERN_BASE_FOLDER_H
#define POSTERN_BASE_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* Opens the folder of an absolute path, `/`-separated, without links. The descriptor, or -1. */
int folder_open(const char *path, struct err *err);
/* The same for the folder that the path of a file is in; *name_r points into path. */
int folder_open_of(const char *path, const char **name_r, struct err *err);

/* Whose a file is to be, and who may read it. */
struct folder_rights {
	uid_t user;
	gid_t group;
	mode_t mode;
};

/* Appends the content of a regular file of at most FOLDER_FILE_MAX bytes, and tells its rights
 * unless that is NULL. 1, 0 there is none, -1. */
enum { FOLDER_FILE_MAX = 16 * 1024 * 1024 };
int folder_read(int folder, const char *name, struct buf *content, struct folder_rights *rights_r,
	struct err *err);

/* Writes a file; ERR_EXISTS when it is there and may not be replaced. 0 or -1. */
int folder_write(int folder, const char *name, const struct buf *content,
	const struct folder_rights *rights, bool replace, struct err *err);

/* Removes a file that may be there. 0 or -1. */
int folder_remove(int folder, const char *name, struct err *err);

#endif
