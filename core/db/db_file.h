/*
 * db_file: the files of engines that store a database in a file.
 */
#ifndef POSTERN_DB_DB_FILE_H
#define POSTERN_DB_DB_FILE_H

#include <stdint.h>
#include <sys/statvfs.h>

#include "core/base/err.h"
#include "core/db/db.h"

/* Creates an empty file with mode 0640; if root creates it, with the owner and group of its folder.
 * An existing file must pass db_file_require(). Returns 0 or -1. */
int db_file_create(const char *path, struct err *err);

/* Checks that the file exists, and that this user may read and write it and what SQLite keeps
 * beside it, and create files in its folder. Otherwise ERR_CONFIG, with a text that says who owns
 * them, or what probably happened, and what to do. */
int db_file_require(const char *path, struct err *err);

/* Creates the file of a copy, which only its creator may read. ERR_EXISTS if it exists. */
int db_file_create_copy(const char *path, struct err *err);

/* Returns the folder of the file. The caller frees it. */
char *db_file_folder(const char *path);

/* For a missing database: returns the name of a file that it left beside it, such as its log, its
 * metrics or a backup; NULL if there is none. The caller frees it. */
char *db_file_trace(const char *path);

/* Returns 0, or -1 with ERR_TEMPORARY if the file system of the path does not have this much
 * room. */
int db_file_require_room(const char *path, int64_t bytes, struct err *err);

/* Syncs the folder of the file, which makes its creation or removal durable. */
int db_file_sync_folder(const char *path, struct err *err);

/* Calls statvfs(3) for the file, or for its folder if it does not exist. */
int db_file_volume_of(const char *path, struct statvfs *volume_r);

/* Returns the size of the path's file system in bytes; INT64_MAX if unknown. */
int64_t db_file_volume(const char *path);

/* Returns the name of a program with its process id, such as `sqlite3 (process 4711)`. The caller
 * frees it. */
char *db_file_user(int pid);

/* db_same() for an engine that stores a database in a file. */
int db_file_same(const char *path, struct db_identity *identity, struct err *err);

#endif
