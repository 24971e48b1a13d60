/*
 * db_file: the files of engines that keep a database in one.
 */
#ifndef POSTERN_DB_DB_FILE_H
#define POSTERN_DB_DB_FILE_H

#include "core/base/err.h"

/* Makes an empty file unless there is one: mode 0640, and when root makes it,
 * with the owner and group of its folder. */
int db_file_create(const char *path, struct err *err);

/* ERR_CONFIG when there is no such file, or this user may not read and write
 * it. */
int db_file_require(const char *path, struct err *err);

/* Makes the file of a copy: ERR_EXISTS when it is there. Only its maker may
 * read it. */
int db_file_create_copy(const char *path, struct err *err);

#endif
