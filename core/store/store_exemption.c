/*
 * store_exemption: the rows of the table exemption.
 *
 * Invariant: what is stored is in the form in which store_claim compares it.
 * Threads: a handle is used by one thread at a time.
 */
#include "core/store/store_exemption.h"

#include <assert.h>
#include <string.h>

#include "core/base/cidr.h"
#include "core/base/str.h"
#include "core/store/store_row.h"
#include "core/store/store_rows.h"

static const char *const kinds[EXEMPTION_KINDS + 1] = {
	[EXEMPT_LOGIN] = "login",
	[EXEMPT_CLIENT] = "client",
	[EXEMPT_SENDER] = "sender",
	[EXEMPTION_KINDS] = "unknown",
};

static const char *const reaches[] = {[false] = "anywhere", [true] = "local"};

const char *store_exemption_kind_name(enum exemption_kind kind)
{
	assert(kind <= EXEMPTION_KINDS);
	return kinds[kind];
}

/* Each makes *value_r, a new string, of the value as it was given. */

static int read_login(
	const struct exemption_spec *spec, char **value_r, struct err *err)
{
	if (str_empty(spec->value))
		return err_set(err, ERR_INVALID, "the login is empty");
	if (store_row_check_name("the login", spec->value, err) < 0)
		return -1;
	*value_r = mem_strdup(spec->value);
	return 0;
}

static int read_client(
	const struct exemption_spec *spec, char **value_r, struct err *err)
{
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;
	struct err why = ERR_INIT;
	char text[CIDR_TEXT_SIZE];

	if (cidr_list_parse(spec->value, &list, &why) < 0)
		return err_set(err, ERR_INVALID, "%s", why.text);
	if (list.n != 1 || spec->value[strcspn(spec->value, ", \t\r\n")])
		return err_set(err, ERR_INVALID,
			"\"%s\" is not one address or network", spec->value);
	cidr_format(&list.items[0], text);
	*value_r = mem_strdup(text);
	return 0;
}

/* An address elsewhere is of no use: the rules do not look at it. */
static int read_sender(
	const struct exemption_spec *spec, char **value_r, struct err *err)
{
	const char *at = strrchr(spec->value, '@');
	size_t len = strlen(spec->domain), behind = at ? strlen(at + 1) : 0;
	const char *end = at ? at + 1 + behind - len : NULL;

	if (at <= spec->value || behind < len || !str_eq(end, spec->domain) ||
		(behind > len && end[-1] != '.'))
		return err_set(err, ERR_INVALID, "\"%s\" is no address of %s",
			spec->value, spec->domain);
	*value_r = mem_strdup(spec->value);
	return 0;
}

/* The value as it is stored, the same for all ways to write it. */
static int read_value(
	const struct exemption_spec *spec, char **value_r, struct err *err)
{
	static int (*const reads[EXEMPTION_KINDS])(
		const struct exemption_spec *spec, char **value_r,
		struct err *err) = {
		[EXEMPT_LOGIN] = read_login,
		[EXEMPT_CLIENT] = read_client,
		[EXEMPT_SENDER] = read_sender,
	};

	return reads[spec->kind](spec, value_r, err);
}

/* 1 added, 0 no such domain, -1. */
static int insert(struct db *db, const char *id,
	const struct exemption_spec *spec, int64_t now_us, struct err *err)
{
	static const char sql_insert[] =
		"INSERT INTO exemption (id, domain_id, kind, value, reach,"
		" created_us)"
		" SELECT $id, d.id, $kind, $value, $reach, $created"
		" FROM domain d WHERE d.name = $domain AND d.pending = 0";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_insert, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	db_bind_text(stmt, "$kind", kinds[spec->kind]);
	db_bind_text(stmt, "$value", spec->value);
	db_bind_text(stmt, "$reach", reaches[spec->local]);
	db_bind_int(stmt, "$created", now_us);
	db_bind_text(stmt, "$domain", spec->domain);
	return store_row_change(db, stmt, err);
}

static int explain(const struct err *why, const struct exemption_spec *spec,
	struct err *err)
{
	if (why->code == ERR_EXISTS)
		return err_set(err, ERR_EXISTS,
			"the %s %s is exempt for %s already; remove that to "
			"make it another one",
			kinds[spec->kind], spec->value, spec->domain);
	return err_copy(err, why);
}

int store_exemption_add(struct db *db, const struct exemption_spec *spec,
	int64_t now_us, struct exemption *exemption_r, struct err *err)
{
	struct exemption exemption = {.kind = spec->kind, .created_us = now_us};
	_cleanup_free_ char *value = NULL;
	struct exemption_spec stored = *spec;
	struct err why = ERR_INIT;
	int added;

	if (spec->local && spec->kind != EXEMPT_SENDER)
		return err_set(err, ERR_INVALID,
			"only a sender can be exempt for this host alone");
	if (read_value(spec, &value, err) < 0)
		return -1;
	stored.value = value;
	id_new(exemption.id);
	added = insert(db, exemption.id, &stored, now_us, &why);
	if (added < 0)
		return explain(&why, &stored, err);
	if (added == 0)
		return err_set(err, ERR_NOT_FOUND, "there is no domain %s",
			spec->domain);
	exemption.local = spec->local;
	exemption.domain = mem_strdup(spec->domain);
	exemption.value = TAKE_PTR(value);
	*exemption_r = exemption;
	return 0;
}

int store_exemption_find(struct db *db, const struct exemption_spec *spec,
	char id[static ID_SIZE], struct err *err)
{
	static const char sql_find[] =
		"SELECT x.id FROM domain d JOIN exemption x"
		" ON x.domain_id = d.id AND x.kind = $kind AND x.value = $value"
		" WHERE d.name = $domain AND d.pending = 0";
	_cleanup_free_ char *value = NULL;
	struct db_stmt *stmt;
	int result;

	if (read_value(spec, &value, err) < 0 ||
		db_prepare(db, sql_find, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$kind", kinds[spec->kind]);
	db_bind_text(stmt, "$value", value);
	db_bind_text(stmt, "$domain", spec->domain);
	result = db_step(stmt, err);
	if (result == 1) {
		store_row_id(stmt, 0, id);
		db_reset(stmt);
	}
	return result;
}

static int read_item(struct db_stmt *stmt, void *item, struct err *err)
{
	struct exemption *exemption = item;

	(void)err;
	store_row_id(stmt, 0, exemption->id);
	exemption->domain = db_copy(stmt, 1);
	exemption->kind = (enum exemption_kind)store_row_word(
		kinds, EXEMPTION_KINDS, db_text(stmt, 2));
	exemption->value = db_copy(stmt, 3);
	exemption->created_us = db_int(stmt, 4);
	exemption->local = str_eq(db_text(stmt, 5), reaches[true]);
	return 0;
}

static void clear_item(void *item)
{
	store_exemption_clear(item);
}

static const struct rows_kind exemptions = {
	sizeof(struct exemption), read_item, clear_item};

int store_exemption_list(struct db *db, const char *domain,
	struct exemption_list *list_r, struct err *err)
{
	static const char sql_list[] =
		"SELECT x.id, d.name, x.kind, x.value, x.created_us, x.reach"
		" FROM exemption x JOIN domain d ON d.id = x.domain_id"
		" WHERE $domain IS NULL OR d.name = $domain"
		" ORDER BY d.name, x.kind, x.value";
	struct db_stmt *stmt;
	struct rows rows;

	if (db_prepare(db, sql_list, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$domain", domain);
	if (store_rows_read(stmt, &exemptions, STORE_ROWS_ALL, &rows, err) < 0)
		return -1;
	*list_r = (struct exemption_list){rows.items, rows.n};
	return 0;
}

int store_exemption_remove(struct db *db, const char *id, struct err *err)
{
	static const char sql_remove[] = "DELETE FROM exemption WHERE id = $id";
	struct db_stmt *stmt;

	if (db_prepare(db, sql_remove, &stmt, err) != 0)
		return -1;
	db_bind_text(stmt, "$id", id);
	return store_row_change(db, stmt, err);
}

void store_exemption_clear(struct exemption *exemption)
{
	free(exemption->domain);
	free(exemption->value);
	*exemption = (struct exemption){0};
}

void store_exemption_list_free(struct exemption_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		store_exemption_clear(&list->items[i]);
	free(list->items);
	*list = (struct exemption_list){0};
}
