/*
 * store_company: the rows of the table company.
 *
 * Threads: a handle is used by one thread at a time; holds no state.
 */
#include "core/store/store_company.h"

#include <string.h>

#include "core/base/str.h"
#include "core/store/store_row.h"
#include "core/store/store_rows.h"

static void read_row(struct db_stmt *stmt, struct company *company)
{
	store_row_id(stmt, 0, company->id);
	company->name = db_copy(stmt, 1);
	company->created_us = db_int(stmt, 2);
}

static int insert(struct db *db, const struct company *company, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO company (id, name, created_us)"
		" VALUES ($id, $name, $created)";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_insert, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", company->id);
	db_bind_text(stmt, "$name", company->name);
	db_bind_int(stmt, "$created", company->created_us);
	return db_run(stmt, err);
}

int store_company_add(struct db *db, const char *name, int64_t now_us,
	struct company *company_r, struct err *err)
{
	struct company company = {.created_us = now_us};
	struct err why = ERR_INIT;

	if (name[strspn(name, " ")] == '\0')
		return err_set(err, ERR_INVALID, "the company's name is empty");
	if (store_row_check_name("the company's name", name, err) != 0)
		return -1;
	id_new(company.id);
	company.name = mem_strdup(name);
	if (insert(db, &company, &why) != 0) {
		store_company_clear(&company);
		if (why.code == ERR_EXISTS)
			return err_set(err, ERR_EXISTS,
				"there is a company \"%s\" already", name);
		return err_copy(err, &why);
	}
	*company_r = company;
	return 0;
}

int store_company_get(struct db *db, const char *id, struct company *company_r,
	struct err *err)
{
	static const char sql_get[] =
		"SELECT id, name, created_us FROM company WHERE id = $id";
	struct db_stmt *stmt;
	int result;

	if (db_prepare(db, sql_get, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	result = db_step(stmt, err);
	if (result == 1) {
		read_row(stmt, company_r);
		db_reset(stmt);
	}
	return result;
}

static int read_item(struct db_stmt *stmt, void *item, struct err *err)
{
	(void)err;
	read_row(stmt, item);
	return 0;
}

static void clear_item(void *item)
{
	store_company_clear(item);
}

static const struct rows_kind companies = {
	sizeof(struct company), read_item, clear_item};

int store_company_list(struct db *db, struct company_list *list_r, struct err *err)
{
	static const char sql_list[] =
		"SELECT id, name, created_us FROM company ORDER BY name";
	struct db_stmt *stmt;
	struct rows rows;

	if (db_prepare(db, sql_list, &stmt, err) != 0)
		return -1;
	if (store_rows_read(stmt, &companies, STORE_ROWS_ALL, &rows, err) < 0)
		return -1;
	*list_r = (struct company_list){rows.items, rows.n};
	return 0;
}

int store_company_remove(struct db *db, const char *id, struct err *err)
{
	static const char sql_remove[] = "DELETE FROM company WHERE id = $id";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_remove, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	return store_row_change(db, stmt, err);
}

void store_company_clear(struct company *company)
{
	free(company->name);
	*company = (struct company){0};
}

void store_company_list_free(struct company_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		store_company_clear(&list->items[i]);
	free(list->items);
	*list = (struct company_list){0};
}
