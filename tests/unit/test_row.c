/*
 * row: rows become structs and structs rows; lists and pages; and rows with
 * words that the tables rule out, as another program may have written them:
 * whatever reads one for a decision says that it cannot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/mem.h"
#include "core/store/row.h"
#include "core/store/store_claim.h"
#include "core/store/store_domain.h"
#include "core/store/store_idempotency.h"
#include "tests/unit/temp_db.h"

static const char *const colours[] = {"red", "green", "blue"};
static const struct row_words strict = {colours, ARRAY_SIZE(colours), false};
static const struct row_words lenient = {colours, ARRAY_SIZE(colours), true};

static void test_words(void **state)
{
	static const struct {
		const char *text;
		size_t value;
	} cases[] = {
		{"red", 0},
		{"blue", 2},
		{"Red", 3},
		{"red ", 3},
		{"", 3},
		{NULL, 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(row_word(&strict, cases[i].text), cases[i].value);
}

enum colour { RED, GREEN, BLUE, COLOURS };

/* One member of each kind. */
struct thing {
	char id[9];
	char *text;
	char *none;
	struct strv lines;
	int64_t number;
	unsigned count;
	bool is_set;
	enum colour colour;
	enum colour other;
	bool flag;
	uint8_t hash[3];
};
static const struct row_field thing_fields[] = {
	ROW_FIELD(thing, id, ROW_ID),
	ROW_FIELD(thing, text, ROW_TEXT),
	ROW_FIELD(thing, none, ROW_TEXT),
	ROW_FIELD(thing, lines, ROW_LINES),
	ROW_FIELD(thing, number, ROW_INT64),
	ROW_FIELD(thing, count, ROW_UINT),
	ROW_FIELD_AS(thing, is_set, ROW_BOOL, "set_it"),
	ROW_WORD(thing, colour, ROW_ENUM, "colour", &strict),
	ROW_WORD(thing, other, ROW_ENUM, "other", &lenient),
	ROW_WORD(thing, flag, ROW_FLAG, "flag", &strict),
	ROW_FIELD(thing, hash, ROW_HASH),
};
static const struct row_type thing_type = ROW_TYPE(thing, thing_fields);

static const char sql_table[] =
	"CREATE TABLE thing (seq INTEGER PRIMARY KEY, id TEXT, text TEXT, none TEXT, lines TEXT, "
	"number INTEGER, count INTEGER, set_it INTEGER, colour TEXT, other TEXT, flag TEXT, hash "
	"BLOB)";

static void check_thing(const struct thing *thing)
{
	assert_string_equal(thing->id, "12345678");
	assert_string_equal(thing->text, "grüße");
	assert_null(thing->none);
	assert_int_equal(thing->lines.n, 2);
	assert_string_equal(thing->lines.items[1], "b");
	assert_true(thing->number == INT64_MIN);
	assert_int_equal(thing->count, 7);
	assert_true(thing->is_set);
	assert_int_equal(thing->colour, BLUE);
	assert_int_equal(thing->other, GREEN);
	assert_true(thing->flag);
	assert_memory_equal(thing->hash, "\1\0\2", 3);
}

/* What is written is read again, by a statement with the columns in another
 * order and some that are no field's; what it does not have is zero. A
 * statement that is read as two types in turn keeps them apart. */
static void test_kinds(void **state)
{
	static const char sql_add[] =
		"INSERT INTO thing (id, text, none, lines, number, count,"
		" set_it, colour, other, flag, hash) VALUES ($id, $text, $none,"
		" $lines, $number, $count, $set_it, $colour, $other, $flag,"
		" $hash) RETURNING seq + $more";
	static const char sql_get[] =
		"SELECT seq, hash, flag, other, colour, set_it, count, number,"
		" lines, none, 1 AS unknown, text, id FROM thing";
	static const char sql_part[] = "SELECT id, text FROM thing";
	static const char sql_change[] = "UPDATE thing SET text = $id || $text";
	static const struct row_type small_type = {
		.size = sizeof(struct thing), .fields = thing_fields, .n = 2};
	struct temp_db *temp = *state;
	struct thing thing = {.id = "12345678",
		.text = (char *)"grüße",
		.number = INT64_MIN,
		.count = 7,
		.is_set = true,
		.colour = BLUE,
		.other = GREEN,
		.flag = true,
		.hash = {1, 0, 2}};
	struct thing got;
	struct err err = ERR_INIT;
	int64_t seq = 0;

	OK(db_exec(temp->db, sql_table, &why));
	assert_int_equal(row_get(temp->db, sql_get, NULL, &thing_type, &got, NULL), 0);
	assert_int_equal(row_number(temp->db, sql_get, NULL, &seq, NULL), 0);
	strv_add(&thing.lines, "a");
	strv_add(&thing.lines, "b");
	assert_int_equal(row_write_returning(temp->db, sql_add, DB_PARAMS(DB_INT("$more", 40)),
				 &thing_type, &thing, &seq, NULL),
		1);
	assert_int_equal(seq, 41);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(row_get(temp->db, sql_get, NULL, &thing_type, &got, NULL), 1);
		check_thing(&got);
		row_clear(&thing_type, &got);
		assert_null(got.text);
		assert_int_equal(got.number, 0);
		assert_int_equal(row_get(temp->db, sql_get, NULL, &small_type, &got, NULL), 1);
		assert_string_equal(got.text, "grüße");
		assert_int_equal(got.count, 0);
		row_clear(&small_type, &got);
	}
	assert_int_equal(row_get(temp->db, sql_part, NULL, &thing_type, &got, NULL), 1);
	assert_string_equal(got.id, "12345678");
	assert_int_equal(got.colour, RED);
	assert_null(got.lines.items);
	row_clear(&thing_type, &got);
	assert_int_equal(row_write(temp->db, sql_change, NULL, &thing_type, &thing, NULL), 1);
	assert_int_equal(
		row_number(temp->db, "SELECT length(text) FROM thing", NULL, &seq, NULL), 1);
	assert_int_equal(seq, 13);

	strv_add(&thing.lines, "c\nd");
	assert_int_equal(row_write(temp->db, sql_add, DB_PARAMS(DB_INT("$more", 0)), &thing_type,
				 &thing, &err),
		-1);
	assert_int_equal(err.code, ERR_INVALID);
	assert_string_equal(err.text, "lines[2] is empty or has a line break");
	strv_free(&thing.lines);
}

/* A list of numbers as texts; the row `bad` has a word that is unknown. */
struct item {
	char *text;
	int64_t number;
	enum colour colour;
};
static const struct row_field item_fields[] = {
	ROW_FIELD(item, text, ROW_TEXT),
	ROW_FIELD(item, number, ROW_INT64),
	ROW_WORD(item, colour, ROW_ENUM, "colour", &strict),
};
static const struct row_type item_type = ROW_TYPE(item, item_fields);

static const char sql_numbers[] =
	"WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"
	" SELECT 'no. ' || n AS text, n AS number,"
	" iif(n = $bad, 'grey', 'red') AS colour FROM t LIMIT $rows";

static void test_lists(void **state)
{
	static const struct {
		int64_t rows;
		size_t limit;
		size_t items;
		bool more;
	} cases[] = {
		{0, ROWS_ALL, 0, false},
		{1, ROWS_ALL, 1, false},
		{9, ROWS_ALL, 9, false},
		{100, ROWS_ALL, 100, false},
		{0, 3, 0, false},
		{2, 3, 2, false},
		{3, 3, 3, false},
		{4, 3, 3, true},
		{1, 0, 0, true},
	};
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct item *items;
		struct rows rows;

		OK(row_list(temp->db, sql_numbers,
			DB_PARAMS(DB_INT("$bad", 0), DB_INT("$rows", cases[i].rows)), &item_type,
			cases[i].limit, &rows, &why));
		assert_int_equal(rows.n, cases[i].items);
		assert_int_equal(rows.more, cases[i].more);
		items = rows.items;
		for (size_t n = 0; n < rows.n; n++) {
			assert_int_equal(items[n].number, n + 1);
			assert_int_equal(atoi(items[n].text + 4), n + 1);
		}
		row_list_free(&item_type, rows.items, rows.n);
	}
}

/* Nothing stays of a list that fails, and the result is as it was. */
static void test_list_fails(void **state)
{
	struct temp_db *temp = *state;
	const struct rows before = {.n = 77};

	for (int bad = 1; bad <= 5; bad++) {
		struct err err = ERR_INIT;
		struct rows rows = before;

		assert_int_equal(row_list(temp->db, sql_numbers,
					 DB_PARAMS(DB_INT("$bad", bad), DB_INT("$rows", 5)),
					 &item_type, ROWS_ALL, &rows, &err),
			-1);
		assert_int_equal(err.code, ERR_CONFIG);
		assert_memory_equal(&rows, &before, sizeof(rows));
	}
}

enum { LIMIT = 3, ITEMS_MAX = LIMIT + 1 };

/* Numbers, the first ones of 7, 6, 5 ... or, backwards, of 1, 2, 3 ... */
static const char sql_newest[] =
	"WITH RECURSIVE t(n) AS (SELECT 7 UNION ALL SELECT n - 1 FROM t)"
	" SELECT n AS number FROM t LIMIT min($rows, $limit)";
static const char sql_oldest[] =
	"WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t)"
	" SELECT n AS number FROM t LIMIT min($rows, $limit)";

static const struct {
	const char *after, *before;
	int64_t rows; /* that the statement gives */
	const char *cursor;
	int64_t items[ITEMS_MAX]; /* newest first; 0 behind the last */
	bool more;
} pages[] = {
	{"", "", 0, NULL, {0}, false},
	{"", "", 1, NULL, {7}, false},
	{"", "", LIMIT, NULL, {7, 6, 5}, false},
	{"", "", LIMIT + 1, NULL, {7, 6, 5}, true},
	{"x", "", LIMIT + 1, "x", {7, 6, 5}, true},
	{"x", "", 2, "x", {7, 6}, false},
	{"", "y", 0, "y", {0}, false},
	{"", "y", 1, "y", {1}, false},
	{"", "y", 2, "y", {2, 1}, false},
	{"", "y", LIMIT, "y", {3, 2, 1}, false},
	{"", "y", LIMIT + 1, "y", {3, 2, 1}, true},
};

static void test_pages(void **state)
{
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		struct page page = {.limit = LIMIT};
		const struct item *items;
		struct rows rows;
		size_t n = 0;

		stpcpy(page.after, pages[i].after);
		stpcpy(page.before, pages[i].before);
		if (pages[i].cursor)
			assert_string_equal(page_cursor(&page), pages[i].cursor);
		else
			assert_null(page_cursor(&page));
		OK(row_page(temp->db, page_backwards(&page) ? sql_oldest : sql_newest,
			DB_PARAMS(DB_INT("$rows", pages[i].rows)), &item_type, &page, &rows, &why));
		items = rows.items;
		for (; pages[i].items[n]; n++)
			assert_true(n < rows.n && items[n].number == pages[i].items[n]);
		assert_int_equal(rows.n, n);
		assert_int_equal(rows.more, pages[i].more);
		row_list_free(&item_type, rows.items, rows.n);
	}
}

struct world {
	struct temp_tenant acme; /* example.com */
	struct email email;      /* sent */
	struct idempotency_key key;
};

static int setup(void **state)
{
	struct idempotency row = {.created_us = 1};
	struct world *world = mem_new(struct world);
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = world;
	temp_db_staged(temp->db, &world->acme, &world->email);
	assert_int_equal(store_email_record(temp->db, world->email.ticket, "Q", 1, NULL), 1);
	OK(store_idempotency_add(temp->db, &world->key, &row, &why));
	return 0;
}

static int teardown(void **state)
{
	store_email_clear(&((struct world *)((struct temp_db *)*state)->more)->email);
	return temp_db_teardown(state);
}

/* Each reads one row, or a list with it: 1, -1. */

static int find_domain(struct db *db, const struct world *world, struct err *err)
{
	struct domain domain;
	int found = store_domain_find(db, world->acme.domain, &domain, err);

	if (found == 1)
		store_domain_clear(&domain);
	return found;
}

static int list_domains(struct db *db, const struct world *world, struct err *err)
{
	struct domain_list list;

	(void)world;
	if (store_domain_list(db, NULL, WHOLE, &list, NULL, err) < 0)
		return -1;
	store_domain_list_free(&list);
	return 1;
}

static int page_domains(struct db *db, const struct world *world, struct err *err)
{
	const struct domain_scope scope = {.company_id = world->acme.company_id};
	const struct page page = {.limit = 5};
	struct domain_list list;
	bool more;
	int found = store_domain_page(db, &scope, &page, &list, &more, err);

	if (found == 1)
		store_domain_list_free(&list);
	return found;
}

static int read_claim(struct db *db, const struct world *world, struct err *err)
{
	const struct claim_sender sender = {.sender = "a@example.com"};
	struct claim claim;

	return store_claim_read(db, world->acme.domain, &sender, &claim, err);
}

static int get_email(struct db *db, const struct world *world, struct err *err)
{
	const struct email_scope scope = {0};
	struct email email;
	int found = store_email_get(db, world->email.id, &scope, &email, err);

	if (found == 1)
		store_email_clear(&email);
	return found;
}

static int list_emails(struct db *db, const struct world *world, struct err *err)
{
	const struct email_scope scope = {0};
	const struct email_filter any = {0};
	const struct page page = {.limit = 5};
	struct email_found found;

	(void)world;
	if (store_email_search(db, &scope, &any, &page, &found, err) < 0)
		return -1;
	store_email_list_free(&found.list);
	return 1;
}

static int page_emails(struct db *db, const struct world *world, struct err *err)
{
	const struct email_scope scope = {.company_id = world->acme.company_id};
	const struct page page = {.limit = 5};
	struct email_list list;
	bool more;
	int found = store_email_page(db, &scope, &page, &list, &more, err);

	if (found == 1)
		store_email_list_free(&list);
	return found;
}

static int read_outcome(struct db *db, const struct world *world, struct err *err)
{
	enum email_state state;
	char *refusal = NULL;
	int found = store_email_outcome(db, world->email.id, &state, &refusal, err);

	free(refusal);
	return found;
}

static int read_ticket(struct db *db, const struct world *world, struct err *err)
{
	struct email_ticket ticket;
	int found = store_email_ticket(db, world->email.ticket, &ticket, err);

	if (found == 1)
		store_email_ticket_clear(&ticket);
	return found;
}

static int find_key(struct db *db, const struct world *world, struct err *err)
{
	struct idempotency row;
	int found = store_idempotency_find(db, &world->key, 2, &row, err);

	if (found == 1)
		store_idempotency_clear(&row);
	return found;
}

static const struct {
	const char *spoil, *mend;
	const char *names; /* what the error says */
	int (*const readers[6])(struct db *db, const struct world *world, struct err *err);
} cases[] = {
	{"UPDATE domain SET policy = 'later'", "UPDATE domain SET policy = 'shared'", "\"later\"",
		{find_domain, list_domains, page_domains, read_claim}},
	{"UPDATE domain SET subdomains = 'later'", "UPDATE domain SET subdomains = 'own'",
		"\"later\"", {find_domain, list_domains, page_domains, read_claim}},
	{"UPDATE email SET state = 'later'", "UPDATE email SET state = 'sent'", "\"later\"",
		{get_email, list_emails, page_emails, read_outcome, read_ticket}},
	{"UPDATE email_recipient SET kind = 'later'", "UPDATE email_recipient SET kind = 'to'",
		"\"later\"", {get_email, list_emails, page_emails}},
	{"UPDATE idempotency SET payload = zeroblob(31)",
		"UPDATE idempotency SET payload = zeroblob(32)", "31 bytes", {find_key}},
};

static void try_spoilt(struct temp_db *temp, size_t i, size_t reader)
{
	struct err err = ERR_INIT;

	OK(db_exec(temp->db, cases[i].spoil, &why));
	if (cases[i].readers[reader](temp->db, temp->more, &err) != -1)
		fail_msg("%s: reader %zu", cases[i].spoil, reader);
	assert_int_equal(err.code, ERR_CONFIG);
	assert_non_null(strstr(err.text, cases[i].names));
	OK(db_exec(temp->db, cases[i].mend, &why));
	if (cases[i].readers[reader](temp->db, temp->more, &err) != 1)
		fail_msg("%s: reader %zu: %s", cases[i].mend, reader, err.text);
}

static void test_spoilt_rows(void **state)
{
	struct temp_db *temp = *state;

	OK(db_exec(temp->db, "PRAGMA ignore_check_constraints = 1", &why));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t n = 0; cases[i].readers[n]; n++)
			try_spoilt(temp, i, n);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, temp_db_setup, temp_db_teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		TEST(kinds),
		TEST(lists),
		TEST(list_fails),
		TEST(pages),
		cmocka_unit_test_setup_teardown(test_spoilt_rows, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
