/*
 * item_db: a temp_db with a table of its own, for tests of the engine.
 */
#ifndef POSTERN_TESTS_ITEM_DB_H
#define POSTERN_TESTS_ITEM_DB_H

#include "tests/unit/temp_db.h"

/* For cmocka: temp_db_setup(), and the empty table
 *   item (id, name UNIQUE, data BLOB, count <> 13, parent REFERENCES item). */
int item_db_setup(void **state);

/* One more item with this name; 0 or -1. */
int item_db_add(struct db *db, const char *name, struct err *err);

/* How many there are. */
int64_t item_db_count(struct db *db);

#endif
