/*
 * pg_sql: the SQL of Postern, translated for PostgreSQL. core/store writes each statement once, as
 * SQLite takes it. Here
 *
 *   named parameters become numbers,
 *   comparisons with COLLATE NOCASE compare with lower(),
 *   LIMIT -1 becomes LIMIT ALL, group_concat() string_agg(),
 *   and hints to SQLite's planner go: INDEXED BY, and CROSS of a CROSS JOIN with a condition.
 *
 * A statement for many rows of parameters reads them from a table:
 *
 *   INSERT .. VALUES ($1, $2)
 *     is INSERT .. SELECT posted.p1, posted.p2 FROM unnest((SELECT $1), $2) AS posted (p1, p2)
 *   UPDATE .. SET a = $1 WHERE b = $2
 *     is UPDATE .. SET a = posted.p1 FROM unnest((SELECT $1), $2) AS posted (p1, p2)
 *     WHERE b = posted.p2
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/db/pg_private.h"

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

/* Returns the end of the word, of the quoted text, or of the single character that begins here. */
static const char *skip_token(const char *at)
{
	if (*at == '\'' || *at == '"') {
		const char *end = strchr(at + 1, *at);

		return end ? end + 1 : at + strlen(at);
	}
	if (!is_word(*at))
		return at + 1;
	while (is_word(*at))
		at++;
	return at;
}

static const char *skip_space(const char *at)
{
	return at + strspn(at, " \t\n");
}

/* Returns what follows the word, or NULL if the text does not begin with it. */
static const char *after_word(const char *at, const char *word)
{
	size_t len = strlen(word);

	return strncmp(at, word, len) == 0 && !is_word(at[len]) ? skip_space(at + len) : NULL;
}

/* Skips INDEXED BY and the name, if the text begins with them. */
static const char *skip_hint(const char *at)
{
	const char *by = after_word(at, "INDEXED"), *name = by ? after_word(by, "BY") : NULL;

	return name ? skip_space(skip_token(name)) : at;
}

/* True if the joined table, perhaps under an alias, has a condition. */
static bool has_condition(const char *table)
{
	const char *at = skip_hint(skip_space(skip_token(table)));

	return after_word(at, "ON") || after_word(skip_hint(skip_space(skip_token(at))), "ON");
}

/* Returns the number of the parameter, from 1; a new name is added to the list. */
static size_t param_number(struct strv *names, const char *name, size_t len)
{
	_cleanup_free_ char *copy = mem_printf("%.*s", (int)len, name);

	for (size_t i = 0; i < names->n; i++)
		if (str_eq(names->items[i], copy))
			return i + 1;
	strv_add(names, copy);
	return names->n;
}

/* Returns the start of the operand that ends here. */
static size_t operand(const struct buf *text, size_t end)
{
	while (end > 0 && (is_word(text->data[end - 1]) || strchr(".$", text->data[end - 1])))
		end--;
	return end;
}

static size_t without_space(const struct buf *text, size_t end)
{
	while (end > 0 && strchr(" \t\n", text->data[end - 1]))
		end--;
	return end;
}

/* Makes the comparison at the end of the text ignore the case of ASCII letters: a = b becomes
 * lower(a) = lower(b). */
static void fold_comparison(struct buf *text)
{
	size_t end = without_space(text, text->len), right = operand(text, end);
	size_t sign_end = without_space(text, right), sign = sign_end;
	size_t left_end, left;
	_cleanup_free_ char *folded = NULL;

	while (sign > 0 && strchr("=<>", text->data[sign - 1]))
		sign--;
	left_end = without_space(text, sign);
	left = operand(text, left_end);
	folded = mem_printf("lower(%.*s) %.*s lower(%.*s COLLATE \"C\")", (int)(left_end - left),
		text->data + left, (int)(sign_end - sign), text->data + sign, (int)(end - right),
		text->data + right);
	/* The plus only keeps SQLite from using an index. */
	text->len = left > 0 && text->data[left - 1] == '+' ? left - 1 : left;
	buf_add_str(text, folded);
}

char *pg_sql_translate(const char *sql, struct strv *names)
{
	struct buf text = BUF_INIT;
	const char *at = sql, *next;

	while (*at) {
		if (*at == '$' && is_word(at[1])) {
			next = skip_token(at + 1);
			buf_printf(&text, "$%zu", param_number(names, at, (size_t)(next - at)));
		} else if ((next = skip_hint(at)) != at) {
			buf_add_char(&text, ' ');
		} else if ((next = after_word(at, "LIMIT")) && str_starts(next, "-1")) {
			buf_add_str(&text, "LIMIT ALL");
			next += 2;
		} else if ((next = after_word(at, "group_concat"))) {
			buf_add_str(&text, "string_agg"); /* ours is in SQL, and slow */
		} else if ((next = after_word(at, "COLLATE")) && after_word(next, "NOCASE")) {
			fold_comparison(&text);
			next = skip_token(next);
		} else if ((next = after_word(at, "CROSS")) && after_word(next, "JOIN") &&
			   has_condition(after_word(next, "JOIN"))) {
			/* JOIN follows. */
		} else {
			next = skip_token(at);
			buf_add(&text, at, (size_t)(next - at));
		}
		at = next;
	}
	return buf_take(&text);
}

/* Adds the parameter whose number follows the sign $ here: a column of the rows, or $this_host as
 * it is. Returns the end of the number. */
static const char *add_row_param(struct buf *text, const char *at, const struct strv *names)
{
	char *end;
	unsigned long number = strtoul(at + 1, &end, 10);

	buf_printf(text, str_eq(names->items[number - 1], "$this_host") ? "$%lu" : "posted.p%lu",
		number);
	return end;
}

/* The rows as a table. The server knows how many values an array has that is a parameter. With
 * fewer than the ten that it assumes of any other it would plan the statement again each time,
 * which costs several times what a few rows do; so the first array is a subquery. */
static char *rows_table(const struct strv *names)
{
	struct buf arrays = BUF_INIT, columns = BUF_INIT;
	char *table;

	for (size_t i = 0; i < names->n; i++) {
		if (str_eq(names->items[i], "$this_host"))
			continue;
		buf_printf(&arrays, arrays.len ? ", $%zu" : "(SELECT $%zu)", i + 1);
		buf_printf(&columns, "%sp%zu", columns.len ? ", " : "", i + 1);
	}
	table = mem_printf("unnest(%s) AS posted (%s)", buf_str(&arrays), buf_str(&columns));
	buf_free(&arrays);
	buf_free(&columns);
	return table;
}

char *pg_sql_for_rows(const char *translated, const struct strv *names)
{
	_cleanup_free_ char *table = rows_table(names);
	struct buf text = BUF_INIT;
	const char *at = skip_space(translated), *next;
	const char *place = after_word(at, "INSERT")   ? "VALUES"
			    : after_word(at, "DELETE") ? "USING"
						       : "FROM";
	bool insert = str_eq(place, "VALUES"), values = false, placed = false;
	int depth = 0; /* of brackets, without those of VALUES */

	while (*at) {
		if (!placed && depth == 0 && insert && (next = after_word(at, "VALUES"))) {
			buf_add_str(&text, "SELECT ");
			values = true;
			next++;
		} else if (values && !placed && depth == 0 && *at == ')') {
			buf_printf(&text, " FROM %s", table);
			placed = true;
			next = at + 1;
		} else if (!placed && depth == 0 && !insert && (next = after_word(at, "WHERE"))) {
			buf_printf(&text, "%s %s WHERE ", place, table);
			placed = true;
		} else if (*at == '$') {
			next = add_row_param(&text, at, names);
		} else {
			depth += (*at == '(') - (*at == ')');
			next = skip_token(at);
			buf_add(&text, at, (size_t)(next - at));
		}
		at = next;
	}
	assert(placed);
	return buf_take(&text);
}

bool pg_sql_has_word(const char *sql, const char *word)
{
	for (const char *at = sql; *at; at = skip_token(at))
		if (after_word(at, word))
			return true;
	return false;
}
