/*
 * db_rights: what this user may do with the files of a database, and what to
 * say when that is not enough.
 */
#ifndef POSTERN_DB_DB_RIGHTS_H
#define POSTERN_DB_DB_RIGHTS_H

#include <stdbool.h>

#include "core/base/err.h"

enum db_right {
	DB_RIGHT_FILE, /* to read and write the database, or a file beside it */
	DB_RIGHT_FOLDER, /* to make files in its folder */
	DB_RIGHT_PATH,   /* to enter a folder above it */
};

/* Whether this user, by the effective ids, has it; if not, with errno. */
bool db_rights_have(const char *path, enum db_right right);

/* Fills err (ERR_CONFIG) after EACCES: what this user may not do, whose the
 * file is, and what mends that. When the path cannot be followed, it is about
 * the folder that cannot be entered. Always -1. */
int db_rights_refuse(const char *path, enum db_right right, struct err *err);

#endif
