/*
 * item_db: a table of items.
 *
 * Threads: the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/item_db.h"

int item_db_setup(void **state)
{
	static const char sql_table[] =
		"CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT UNIQUE, data BLOB, count "
		"INTEGER CHECK (count <> 13), parent INTEGER REFERENCES item (id) ON DELETE "
		"CASCADE)";
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	OK(db_exec(temp->db, sql_table, &why));
	return 0;
}

int item_db_add(struct db *db, const char *name, struct err *err)
{
	static const char sql_add[] = "INSERT INTO item (name) VALUES ($name)";
	struct db_stmt *stmt;

	if (db_start(db, sql_add, DB_PARAMS(DB_TEXT("$name", name)), &stmt, err) != 0)
		return -1;
	return db_run(stmt, err);
}

int64_t item_db_count(struct db *db)
{
	static const char sql_count[] = "SELECT count(*) FROM item";

	return temp_db_number(db, sql_count);
}
