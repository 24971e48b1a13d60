/*
 * db_file: the files of engines that keep a database in one.
 */
#ifndef POSTERN_DB_DB_FILE_H
#define POSTERN_DB_DB_FILE_H

#include <stdint.h>
#include <sys/statvfs.h>

#include "core/base/err.h"
#include "core/db/db.h"

/* Makes an empty file: mode 0640, and when root makes it, with the owner and
 * group of its folder. One that is there is required as below. */
int db_file_create(const char *path, struct err *err);

/* ERR_CONFIG when there is no such file, or this user may not read and write
 * it or what SQLite keeps beside it, or make others in its folder; the text
 * says whose they are, or what probably happened, and what to do. */
int db_file_require(const char *path, struct err *err);

/* Makes the file of a copy: ERR_EXISTS when it is there. Only its maker may
 * read it. */
int db_file_create_copy(const char *path, struct err *err);

/* The folder in which it is; a new string. */
char *db_file_folder(const char *path);

/* Of a database that is missing: the name of a file beside it that it has left,
 * such as its log, its metrics or a backup; NULL when there is none. A new
 * string. */
char *db_file_trace(const char *path);

/* ERR_TEMPORARY when the file system of the path has no room for so much. */
int db_file_require_room(const char *path, int64_t bytes, struct err *err);

/* Makes durable that the folder has the file, or has it no more. */
int db_file_sync_folder(const char *path, struct err *err);

/* statvfs(3) of the file, or where it is not there of its folder. */
int db_file_volume_of(const char *path, struct statvfs *volume_r);

/* How many bytes the file system of the path has, used or not; INT64_MAX when
 * that cannot be told. */
int64_t db_file_volume(const char *path);

/* db_same() of an engine that keeps a database in a file. */
int db_file_same(const char *path, struct db_identity *identity, struct err *err);

#endif
