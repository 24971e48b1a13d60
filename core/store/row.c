/*
 * row: maps rows of the store to structs.
 *
 * Column and parameter names are looked up once for each prepared statement. The result is a
 * `struct plan`, attached to the statement as its note: it maps columns and parameters to fields.
 */
#include "core/store/row.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "core/base/str.h"

enum { BOUNDED_MAX = 256, PAGE_PARAMS_MAX = 32 };

/* Valid for one type, that of the first part; another type gets another plan. */
struct plan {
	const struct row_type *type;
	int columns;
	/* For each column, the index of its field, with that of the part times FIELDS_MAX; -1 for
	 * none. After these, for each field of the type the index of its parameter, 0 for none. */
	int map[];
};

enum { FIELDS_MAX = 1000 };

static int find_field(const struct row_part *parts, size_t n, const char *column)
{
	for (size_t at = 0; at < n; at++) {
		const struct row_type *type = parts[at].type;
		size_t len = strlen(parts[at].prefix);

		for (size_t i = 0; i < type->n && str_starts(column, parts[at].prefix); i++)
			if (str_eq(type->fields[i].param + 1, column + len))
				return (int)(at * FIELDS_MAX + i);
	}
	return -1;
}

static const struct plan *plan_of(struct db_stmt *stmt, const struct row_part *parts, size_t n)
{
	const struct row_type *type = parts[0].type;
	struct plan *plan = db_stmt_note(stmt);
	int columns;

	if (plan && plan->type == type)
		return plan;
	columns = db_columns(stmt);
	plan = mem_alloc(1, sizeof(*plan) + ((size_t)columns + type->n) * sizeof(plan->map[0]));
	plan->type = type;
	plan->columns = columns;
	for (int i = 0; i < columns; i++)
		plan->map[i] = find_field(parts, n, db_column_name(stmt, i));
	for (size_t i = 0; i < type->n; i++)
		plan->map[(size_t)columns + i] = db_param_index(stmt, type->fields[i].param);
	db_stmt_set_note(stmt, plan);
	return plan;
}

size_t row_word(const struct row_words *words, const char *text)
{
	size_t i = 0;

	while (i < words->n && (text == NULL || !str_eq(text, words->names[i])))
		i++;
	return i;
}

static int read_field(struct db_stmt *stmt, int column, const struct row_field *field, void *item,
	struct err *err)
{
	void *member = (char *)item + field->offset;
	const void *data;
	const char *text;
	size_t word, len;

	switch (field->kind) {
	case ROW_ID:
		text = db_text(stmt, column);
		assert(text);
		*stpncpy(member, text, field->size - 1) = '\0';
		return 0;
	case ROW_TEXT:
	case ROW_JSON:
		*(char **)member = db_copy(stmt, column);
		return 0;
	case ROW_LINES:
		strv_split(member, db_text(stmt, column), '\n');
		return 0;
	case ROW_INT64:
	case ROW_TIME:
		*(int64_t *)member = db_int(stmt, column);
		return 0;
	case ROW_UINT:
	case ROW_SET:
		*(unsigned *)member = (unsigned)db_int(stmt, column);
		return 0;
	case ROW_BOOL:
		*(bool *)member = db_int(stmt, column) != 0;
		return 0;
	case ROW_ENUM:
	case ROW_FLAG:
		text = db_text(stmt, column);
		word = row_word(field->words, text);
		if (word == field->words->n && !field->words->lenient)
			return err_set(err, ERR_CONFIG,
				"the database has a row with the word \"%s\"", text ? text : "");
		if (field->kind == ROW_FLAG)
			*(bool *)member = word != 0;
		else
			*(unsigned *)member = (unsigned)word;
		return 0;
	case ROW_HASH:
		data = db_blob(stmt, column, &len);
		if (len != field->size)
			return err_set(err, ERR_CONFIG,
				"the database has a row with a hash of %zu bytes", len);
		memcpy(member, data, len);
		return 0;
	}
	return 0;
}

int row_read(struct db_stmt *stmt, const struct row_type *type, void *item_r, struct err *err)
{
	return row_read_parts(stmt, &(const struct row_part){type, "", item_r}, 1, err);
}

int row_read_parts(struct db_stmt *stmt, const struct row_part *parts, size_t n, struct err *err)
{
	const struct plan *plan = plan_of(stmt, parts, n);
	int result = 0;

	for (size_t at = 0; at < n; at++)
		if (parts[at].item_r)
			memset(parts[at].item_r, 0, parts[at].type->size);
	for (int i = 0; i < plan->columns && result == 0; i++) {
		const struct row_part *part = &parts[plan->map[i] / FIELDS_MAX];

		if (plan->map[i] >= 0 && part->item_r)
			result = read_field(stmt, i, &part->type->fields[plan->map[i] % FIELDS_MAX],
				part->item_r, err);
	}
	if (result == 0)
		return 0;
	for (size_t at = 0; at < n; at++)
		if (parts[at].item_r)
			row_clear(parts[at].type, parts[at].item_r);
	db_reset(stmt);
	return -1;
}

/* Like row_read(), with read_rest. */
static int read_item(struct db *db, struct db_stmt *stmt, const struct row_type *type, void *item_r,
	struct err *err)
{
	if (row_read(stmt, type, item_r, err) < 0)
		return -1;
	if (type->read_rest == NULL || type->read_rest(db, item_r, err) == 0)
		return 0;
	row_clear(type, item_r);
	db_reset(stmt);
	return -1;
}

void row_clear(const struct row_type *type, void *item)
{
	if (type->whole)
		type = type->whole;
	if (type->clear_rest)
		type->clear_rest(item);
	for (size_t i = 0; i < type->n; i++) {
		void *member = (char *)item + type->fields[i].offset;

		if (type->fields[i].kind == ROW_TEXT || type->fields[i].kind == ROW_JSON)
			free(*(char **)member);
		else if (type->fields[i].kind == ROW_LINES)
			strv_free(member);
	}
	memset(item, 0, type->size);
}

int row_get(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, void *item_r, struct err *err)
{
	struct db_stmt *stmt;
	int result = db_first(db, sql, params, &stmt, err);

	if (result != 1)
		return result;
	if (read_item(db, stmt, type, item_r, err) < 0)
		return -1;
	db_reset(stmt);
	return 1;
}

int row_number(struct db *db, const char *sql, const struct db_param *params, int64_t *number_r,
	struct err *err)
{
	struct db_stmt *stmt;
	int result = db_first(db, sql, params, &stmt, err);

	if (result == 1) {
		*number_r = db_int(stmt, 0);
		db_reset(stmt);
	}
	return result;
}

int row_text(struct db *db, const char *sql, const struct db_param *params, char **text_r,
	struct err *err)
{
	struct db_stmt *stmt;
	int result = db_first(db, sql, params, &stmt, err);

	if (result == 1) {
		*text_r = db_copy(stmt, 0);
		db_reset(stmt);
	}
	return result;
}

int row_texts(struct db *db, const char *sql, const struct db_param *params, struct strv *texts_r,
	struct err *err)
{
	struct db_stmt *stmt;
	int result;

	if (db_start(db, sql, params, &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1)
		strv_add(texts_r, db_text(stmt, 0));
	return result;
}

int row_value(struct db *db, const char *sql, const struct db_param *params, int64_t *number_r,
	struct err *err)
{
	return row_number(db, sql, params, number_r, err) < 0 ? -1 : 0;
}

/* Gets the value of a field; `lines` keeps strings that must live until the statement has run. */
static int field_value(const struct row_field *field, const void *item, struct strv *lines,
	struct db_param *value_r, struct err *err)
{
	const void *member = (const char *)item + field->offset;
	const struct strv *list = member;

	*value_r = (struct db_param){.kind = DB_PARAM_TEXT};
	switch (field->kind) {
	case ROW_ID:
		value_r->text = member;
		break;
	case ROW_TEXT:
	case ROW_JSON:
		value_r->text = *(char *const *)member;
		break;
	case ROW_LINES:
		for (size_t i = 0; i < list->n; i++)
			if (list->items[i][0] == '\0' || strchr(list->items[i], '\n'))
				return err_set(err, ERR_INVALID,
					"%s[%zu] is empty or has a line break", field->param + 1,
					i);
		value_r->text = strv_join(list, "\n");
		strv_take(lines, (char *)value_r->text);
		break;
	case ROW_INT64:
	case ROW_TIME:
		value_r->kind = DB_PARAM_INT;
		value_r->number = *(const int64_t *)member;
		break;
	case ROW_UINT:
	case ROW_SET:
		value_r->kind = DB_PARAM_INT;
		value_r->number = *(const unsigned *)member;
		break;
	case ROW_BOOL:
		value_r->kind = DB_PARAM_INT;
		value_r->number = *(const bool *)member;
		break;
	case ROW_ENUM:
		assert(*(const unsigned *)member < field->words->n);
		value_r->text = field->words->names[*(const unsigned *)member];
		break;
	case ROW_FLAG:
		value_r->text = field->words->names[*(const bool *)member];
		break;
	case ROW_HASH:
		value_r->kind = DB_PARAM_BLOB;
		value_r->data = member;
		value_r->len = field->size;
		break;
	}
	return 0;
}

static int start_statement(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, struct strv *lines, struct db_stmt **stmt_r,
	struct err *err)
{
	const struct plan *plan;
	const int *indexes;

	if (db_start(db, sql, params, stmt_r, err) != 0)
		return -1;
	plan = plan_of(*stmt_r, &(const struct row_part){.type = type, .prefix = ""}, 1);
	indexes = plan->map + plan->columns;
	for (size_t i = 0; i < type->n; i++) {
		struct db_param value;

		if (indexes[i] == 0)
			continue;
		if (field_value(&type->fields[i], item, lines, &value, err) < 0) {
			db_reset(*stmt_r);
			return -1;
		}
		db_bind(*stmt_r, indexes[i], &value);
	}
	return 0;
}

int row_write(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, struct err *err)
{
	_cleanup_strv_ struct strv lines = STRV_INIT;
	struct db_stmt *stmt;

	if (start_statement(db, sql, params, type, item, &lines, &stmt, err) < 0 ||
		db_run(stmt, err) != 0)
		return -1;
	return (int)db_changes(db);
}

int row_post(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, struct err *err)
{
	_cleanup_strv_ struct strv lines = STRV_INIT;
	struct db_stmt *stmt;

	return start_statement(db, sql, params, type, item, &lines, &stmt, err) < 0
		       ? -1
		       : db_post_stmt(stmt, err);
}

int row_insert(struct db *db, const char *sql, const struct db_param *params,
	const struct row_type *type, const void *item, int64_t *number_r, struct err *err)
{
	_cleanup_strv_ struct strv lines = STRV_INIT;
	struct db_stmt *stmt;

	return start_statement(db, sql, params, type, item, &lines, &stmt, err) < 0
		       ? -1
		       : db_insert(stmt, number_r, err);
}

void row_list_free(const struct row_type *type, void *items, size_t n)
{
	for (size_t i = 0; i < n; i++)
		row_clear(type, (char *)items + i * type->size);
	free(items);
}

const char *page_cursor(const struct page *page)
{
	if (page->after[0])
		return page->after;
	return page->before[0] ? page->before : NULL;
}

bool page_backwards(const struct page *page)
{
	return page->before[0] != '\0';
}

static void reverse_items(char *items, size_t n, size_t size)
{
	_cleanup_free_ char *held = mem_alloc(1, size);

	for (size_t i = 0; i < n / 2; i++) {
		char *a = items + i * size, *b = items + (n - 1 - i) * size;

		memcpy(held, a, size);
		memcpy(a, b, size);
		memcpy(b, held, size);
	}
}

/* Copies params, leaving room for two more. Returns their number. */
static size_t copy_params(
	const struct db_param *params, struct db_param all[static PAGE_PARAMS_MAX])
{
	size_t n = 0;

	memset(all, 0, PAGE_PARAMS_MAX * sizeof(*all));
	for (; params && params[n].name; n++) {
		assert(n + 3 < PAGE_PARAMS_MAX);
		all[n] = params[n];
	}
	return n;
}

enum { ID_BEGIN = 4 }; /* this many characters do not match by chance */

/* True if a text of the item contains the word, or its id begins with it. */
static bool has_word(const struct row_type *type, const void *item, const char *word, size_t len)
{
	for (size_t i = 0; i < type->n; i++) {
		const struct row_field *field = &type->fields[i];
		const char *text = (const char *)item + field->offset;

		if (field->kind == ROW_ID && len >= ID_BEGIN && str_eq(field->param, "$id") &&
			strncasecmp(text, word, len) == 0)
			return true;
		if (field->kind != ROW_TEXT)
			continue;
		text = *(char *const *)text;
		for (; text && *text; text++)
			if (strncasecmp(text, word, len) == 0)
				return true;
	}
	return false;
}

static bool is_searched(const struct row_type *type, const void *item, const char *search)
{
	for (const char *word = search; *(word += strspn(word, " "));) {
		size_t len = strcspn(word, " ");

		if (!has_word(type, item, word, len))
			return false;
		word += len;
	}
	return true;
}

int row_list(struct db *db, const struct row_list *list, struct err *err)
{
	const struct row_type *type = list->type;
	const struct page *page = list->page;
	bool narrowed = page && (page->search || page->keeps);
	struct db_param all[PAGE_PARAMS_MAX];
	size_t param = copy_params(list->params, all), n = 0, looked = 0;
	struct page_end end = {0};
	struct db_stmt *stmt;
	char *items = NULL;
	int result;

	/* One more than the page has, to see if there are more. */
	if (page)
		all[param] = (struct db_param)DB_INT(
			"$limit", narrowed ? PAGE_LOOK : page->limit + INT64_C(1));
	if (db_start(db, list->sql, all, &stmt, err) != 0)
		return -1;
	while ((result = db_step(stmt, err)) == 1) {
		bool full = page && n == (size_t)page->limit;
		char *item;

		if (full && !narrowed) {
			end.more = true;
			break;
		}
		items = mem_append(items, n, type->size);
		item = items + n * type->size;
		result = read_item(db, stmt, type, item, err);
		if (result < 0)
			break;
		if (narrowed && ++looked == PAGE_LOOK)
			for (size_t i = 0; i < type->n; i++)
				if (str_eq(type->fields[i].param, "$id"))
					memcpy(end.next, item + type->fields[i].offset, ID_SIZE);
		if (narrowed && ((page->search && !is_searched(type, item, page->search)) ||
					(page->keeps && !page->keeps(item, page->arg)))) {
			row_clear(type, item);
			continue;
		}
		if (full) {
			row_clear(type, item);
			end = (struct page_end){.more = true};
			break;
		}
		n++;
	}
	if (result < 0) {
		row_list_free(type, items, n);
		return -1;
	}
	if (end.more)
		db_reset(stmt);
	if (page && page_backwards(page))
		reverse_items(items, n, type->size);
	if (n == 0) { /* there may be items that were looked at */
		free(items);
		items = NULL;
	}
	memcpy(list->items_r, &items, sizeof(items));
	*list->n_r = n;
	if (list->end_r)
		*list->end_r = end;
	return 0;
}

int row_page(struct db *db, const struct row_list *list, struct err *err)
{
	const struct row_pager *pager = list->pager;
	const char *cursor = page_cursor(list->page);
	bool backwards = page_backwards(list->page);
	struct db_param all[PAGE_PARAMS_MAX];
	size_t n = copy_params(list->params, all);
	struct row_list part = *list;
	_cleanup_free_ char *name = NULL;
	int64_t number = INT64_MAX;
	int found = 1;

	assert(pager->newer || !backwards);
	all[n] = (struct db_param)DB_TEXT("$id", cursor ? cursor : "");
	if (cursor && pager->order == ROW_BY_NAME)
		found = row_text(db, pager->cursor, all, &name, err);
	else if (cursor)
		found = row_number(db, pager->cursor, all, &number, err);
	if (found != 1)
		return found;
	switch (pager->order) {
	case ROW_BY_CREATED:
		all[n + 1] = (struct db_param)DB_INT("$created", number);
		break;
	case ROW_BY_SEQ: /* which is unique */
		all[n] = (struct db_param)DB_INT("$seq", number);
		break;
	case ROW_BY_NAME:
		all[n + 1] = (struct db_param)DB_TEXT("$name", name ? name : "");
	}
	part.sql = backwards ? pager->newer : pager->older;
	part.params = all;
	return row_list(db, &part, err) < 0 ? -1 : 1;
}

/* True if the name has invisible characters or such that change the writing direction. Joiners
 * (U+200C, U+200D) are allowed, because names contain them. */
static bool has_hidden(const char *name)
{
	static const struct {
		const char *lead;
		unsigned char first, last; /* range of the byte after the prefix */
	} hidden[] = {
		{"\xc2", 0x80, 0x9f},     /* C1 */
		{"\xc2", 0xad, 0xad},     /* soft hyphen */
		{"\xd8", 0x9c, 0x9c},     /* Arabic letter mark */
		{"\xe1\x85", 0x9f, 0xa0}, /* Hangul fillers */
		{"\xe2\x80", 0x8b, 0x8b}, /* zero width space */
		{"\xe2\x80", 0x8e, 0x8f}, /* marks of direction */
		{"\xe2\x80", 0xa8, 0xae}, /* separators, embeddings, overrides */
		{"\xe2\x81", 0xa0, 0xaf}, /* joiner, operators, isolates */
		{"\xe3\x85", 0xa4, 0xa4}, /* Hangul filler */
		{"\xef\xbb", 0xbf, 0xbf}, /* byte order mark */
		{"\xef\xbe", 0xa0, 0xa0}, /* Hangul filler, half width */
		{"\xef\xbf", 0xb9, 0xbb}, /* interlinear annotation */
		{"\xf3\xa0", 0x80, 0x81}, /* tags */
	};

	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++)
		for (const char *at = name; (at = strstr(at, hidden[i].lead));) {
			at += strlen(hidden[i].lead);
			if ((unsigned char)*at >= hidden[i].first &&
				(unsigned char)*at <= hidden[i].last)
				return true;
		}
	return false;
}

int row_check_name(const char *what, const char *name, struct err *err)
{
	size_t len = strlen(name);

	if (len > ROW_NAME_MAX)
		return err_set(err, ERR_INVALID, "%s is longer than %d bytes", what, ROW_NAME_MAX);
	if (!str_utf8_valid(name, len))
		return err_set(err, ERR_INVALID, "%s is not UTF-8", what);
	if (str_has_control(name))
		return err_set(err, ERR_INVALID, "%s has a control character in it", what);
	if (has_hidden(name))
		return err_set(err, ERR_INVALID,
			"%s has a character in it that is not seen, or that changes the order of "
			"others",
			what);
	return 0;
}

char *row_bounded(const char *text)
{
	char *copy;

	if (text == NULL)
		return mem_strdup("");
	copy = mem_dup(text, strnlen(text, BOUNDED_MAX + 4));
	str_utf8_mend(copy);
	copy[str_utf8_cut(copy, BOUNDED_MAX)] = '\0';
	return copy;
}
