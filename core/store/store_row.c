/*
 * store_row: what the files of the store share when they read rows and check
 * names.
 *
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/store_row.h"

#include <assert.h>
#include <string.h>

#include "core/base/str.h"

void store_row_id(struct db_stmt *stmt, int column, char id[static ID_SIZE])
{
	const char *text = db_text(stmt, column);

	assert(text != NULL);
	*stpncpy(id, text, ID_SIZE - 1) = '\0';
}

size_t store_row_word(const char *const *words, size_t n, const char *text)
{
	size_t i = 0;

	while (i < n && (text == NULL || !str_eq(text, words[i])))
		i++;
	return i;
}

int store_row_bad_word(struct db_stmt *stmt, int column, struct err *err)
{
	const char *text = db_text(stmt, column);

	err_set(err, ERR_CONFIG, "the database has a row with the word \"%s\"",
		text ? text : "");
	db_reset(stmt);
	return -1;
}

int store_row_change(struct db *db, struct db_stmt *stmt, struct err *err)
{
	if (db_run(stmt, err) != 0)
		return -1;
	assert(db_changes(db) <= 1);
	return (int)db_changes(db);
}

static bool has_control(const char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < 0x20 || *name == 0x7f)
			return true;
	return false;
}

int store_row_check_name(const char *what, const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len > STORE_NAME_MAX)
		return err_set(err, ERR_INVALID, "%s is longer than %d bytes",
			what, STORE_NAME_MAX);
	if (!str_utf8_valid(name, len))
		return err_set(err, ERR_INVALID, "%s is not UTF-8", what);
	if (has_control(name))
		return err_set(err, ERR_INVALID,
			"%s has a control character in it", what);
	return 0;
}

int store_row_check_lines(
	const char *what, const struct strv *list, struct err *err)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i][0] == '\0' || strchr(list->items[i], '\n'))
			return err_set(err, ERR_INVALID,
				"%s[%zu] is empty or has a line break", what, i);
	return 0;
}
