/*
 * Reports as tables for people and as JSON for programs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "cli/report.h"
#include "core/base/mem.h"

enum { ID, NAME, ACTIVE, COUNT, CREATED_AT, LIST, HIDDEN, BODY };

static const struct column columns[] = {
	[ID] = {"id", "ID", .type = COLUMN_TEXT},
	[NAME] = {"name", "NAME", COLUMN_TEXT, .width = 8},
	[ACTIVE] = {"active", "ACTIVE", .type = COLUMN_FLAG},
	[COUNT] = {"count", "COUNT", COLUMN_INT, .spare = 2},
	[CREATED_AT] = {"created_at", "CREATED", COLUMN_TIME, .spare = 1},
	[LIST] = {"list", "LIST", .type = COLUMN_LIST},
	[HIDDEN] = {"hidden", NULL, .type = COLUMN_TEXT},
	[BODY] = {"body", NULL, .type = COLUMN_BODY},
	{0},
};

static const int64_t noon_us = 1795228998123456;

static void add_full_row(struct report *report, const char *name)
{
	_cleanup_strv_ struct strv list = STRV_INIT;

	strv_split(&list, "a,b", ',');
	report_add_row(report);
	report_text(report, ID, "1");
	report_text(report, NAME, name);
	report_number(report, ACTIVE, true);
	report_number(report, COUNT, -12);
	report_time(report, CREATED_AT, noon_us);
	report_list(report, LIST, &list);
	report_text(report, HIDDEN, "h");
	report_text(report, BODY, "line\n\x1b[m");
}

static void assert_printed(struct report *report,
	void (*print)(struct report *report, struct buf *out), const char *wanted)
{
	_cleanup_buf_ struct buf out = BUF_INIT;

	print(report, &out);
	assert_string_equal(buf_str(&out), wanted);
}

/* What is no terminal. */
static void print_rows(struct report *report, struct buf *out)
{
	print_table_rows(report, 0, out);
}

static void print_record(struct report *report, struct buf *out)
{
	print_table_record(report, 0, out);
}

static void print_as_json(struct report *report, struct buf *out)
{
	print_json_rows(report, out);
}

static void print_as_object(struct report *report, struct buf *out)
{
	print_json_record(report, out);
}

static void test_table(void **state)
{
	struct report report;

	(void)state;
	report_init(&report, columns);
	assert_printed(&report, print_rows, "ID  NAME  ACTIVE  COUNT  CREATED  LIST\n");
	add_full_row(&report, "文");
	report_add_row(&report);
	report_text(&report, NAME, "");
	report_number(&report, ACTIVE, false);
	report_time(&report, CREATED_AT, 0);
	assert_printed(&report, print_rows,
		"ID  NAME  ACTIVE  COUNT  CREATED               LIST\n"
		"1   文    yes     -12    2026-11-21 02:43:18Z  a, b\n"
		"-   -     no      -      -                     -\n");
	report_clear(&report);
}

static void test_terminals(void **state)
{
	static const char whole[] =
		"ID  NAME    ACTIVE  COUNT  CREATED               LIST\n"
		"1   文文文  yes     -12    2026-11-21 02:43:18Z  a, b\n"
		"-   -       -       -      -                     -\n";
	static const char without_time[] =
		"ID  NAME    ACTIVE  COUNT  LIST\n"
		"1   文文文  yes     -12    a, b\n"
		"-   -       -       -      -\n"
		"\n"
		"Too wide for this terminal, left\n"
		"out: created_at\n";
	static const char without_both[] =
		"ID  NAME    ACTIVE  LIST\n"
		"1   文文文  yes     a, b\n"
		"-   -       -       -\n"
		"\n"
		"Too wide for this\n"
		"terminal, left out:\n"
		"created_at, count\n";
	static const char lines[] =
		"id          1\n"
		"name        文文文\n"
		"active      yes\n"
		"count       -12\n"
		"created_at  2026-11-21 02:43:18Z\n"
		"list        a, b\n"
		"\n"
		"id          -\n"
		"name        -\n"
		"active      -\n"
		"count       -\n"
		"created_at  -\n"
		"list        -\n";
	static const struct {
		size_t terminal;
		const char *shown;
	} cases[] = {
		{0, whole},
		{53, whole},
		{32, without_time},
		{24, without_both},
		{23, lines},
		{1, lines},
	};
	struct report report;

	(void)state;
	report_init(&report, columns);
	add_full_row(&report, "文文文");
	report_add_row(&report);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		print_table_rows(&report, cases[i].terminal, &out);
		assert_string_equal(buf_str(&out), cases[i].shown);
	}
	report_clear(&report);
}

static int print_some(struct report *report, void *arg, struct err *err)
{
	(void)err;
	print_table_rows(report, 40, arg);
	return 0;
}

/* What comes behind the first rows goes on in their columns, under the
 * one line of titles. */
static void test_long_list(void **state)
{
	static const char *const shown[] = {
		"ID  NAME    ACTIVE  COUNT  LIST\n",
		"1   文文文  yes     -12    a, b\n",
		"1   x       yes     -12    a, b\n",
	};
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct report report;
	size_t n[ARRAY_SIZE(shown)] = {0}, lines = 0;

	(void)state;
	report_init(&report, columns);
	report.flush = print_some;
	report.flush_arg = &out;
	for (size_t i = 0; i < 2 * REPORT_ROWS + 7; i++) {
		add_full_row(&report, i < REPORT_ROWS ? "文文文" : "x");
		assert_int_equal(report_flush(&report, NULL), 0);
	}
	print_table_rows(&report, 40, &out);
	for (char *rest = out.data, *line; (line = strsep(&rest, "\n"));) {
		lines++;
		for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
			n[i] += strncmp(line, shown[i], strlen(shown[i]) - 1) == 0;
	}
	assert_int_equal(n[0], 1);
	assert_int_equal(n[1], REPORT_ROWS);
	assert_int_equal(n[2], REPORT_ROWS + 7);
	/* One row of titles, and an empty line with the note of two lines. */
	assert_int_equal(lines, 2 * REPORT_ROWS + 7 + 1 + 3 + 1);
	report_clear(&report);
}

static void test_no_rows(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct report report;

	(void)state;
	report_init(&report, columns);
	print_table_rows(&report, 10, &out);
	assert_string_equal(buf_str(&out), "ID  NAME  ACTIVE  COUNT  CREATED  LIST\n");
	report_clear(&report);
}

static void test_long_texts_are_cut(void **state)
{
	static const struct column one[] = {{"name", "NAME", .type = COLUMN_TEXT, .width = 8}, {0}};
	static const struct {
		const char *text;
		const char *shown;
	} cases[] = {
		{"12345678", "NAME\n12345678\n"},
		{"123456789", "NAME\n1234567…\n"},
		{"文文文文", "NAME\n文文文文\n"},
		{"文文文文文", "NAME\n文文文…\n"},
		{"1234\x1b[m", "NAME\n1234\\x1…\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct report report;

		report_init(&report, one);
		report_add_row(&report);
		report_text(&report, 0, cases[i].text);
		assert_printed(&report, print_rows, cases[i].shown);
		report_clear(&report);
	}
}

/* But not in lines of their own, which have room. */
static void test_long_texts_in_lines(void **state)
{
	static const struct column two[] = {{"id", "ID", .type = COLUMN_TEXT},
		{"name", "NAME", .type = COLUMN_TEXT, .width = 8}, {0}};
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct report report;

	(void)state;
	report_init(&report, two);
	report_add_row(&report);
	report_text(&report, 0, "123456789");
	report_text(&report, 1, "123456789");
	print_table_rows(&report, 18, &out);
	assert_string_equal(buf_str(&out), "id    123456789\nname  123456789\n");
	report_clear(&report);
}

static void test_record(void **state)
{
	struct report report;

	(void)state;
	report_init(&report, columns);
	add_full_row(&report, "longer than a table takes\n");
	assert_printed(&report, print_record,
		"id          1\n"
		"name        longer than a table takes\\x0a\n"
		"active      yes\n"
		"count       -12\n"
		"created_at  2026-11-21 02:43:18Z\n"
		"list        a, b\n"
		"hidden      h\n"
		"\n"
		"body:\n"
		"line\n"
		"\\x1b[m\n");
	report_clear(&report);
}

/* Sentences are wrapped, and nothing that is to be copied is broken. */
static void test_record_on_a_terminal(void **state)
{
	static const struct column few[] = {
		{"token", NULL, .type = COLUMN_TEXT}, {"next", NULL, .type = COLUMN_TEXT}, {0}};
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct report report;

	(void)state;
	report_init(&report, few);
	report_add_row(&report);
	report_text(&report, 0, "pk_0123456789abcdef");
	report_text(&report, 1, "It stays until somebody decides.");
	print_table_record(&report, 20, &out);
	assert_string_equal(buf_str(&out),
		"token  pk_0123456789abcdef\n"
		"next   It stays\n"
		"       until\n"
		"       somebody\n"
		"       decides.\n");
	report_clear(&report);
}

static void test_json(void **state)
{
	struct report report;

	(void)state;
	report_init(&report, columns);
	assert_printed(&report, print_as_json, "[]\n");
	add_full_row(&report, "Ö\"\x1b\x7f\xc2\x9b");
	assert_printed(&report, print_as_object,
		"{\"id\": \"1\", \"name\": \"\\u00D6\\\"\\u001B\\u007f\\u009B\", \"active\": true, "
		"\"count\": -12, \"created_at\": \"2026-11-21T02:43:18.123456+00:00\", \"list\": "
		"[\"a\", \"b\"], \"hidden\": \"h\", \"body\": \"line\\n\\u001B[m\"}\n");
	report_clear(&report);
}

static void test_json_rows(void **state)
{
	struct report report;

	(void)state;
	report_init(&report, columns);
	report_add_row(&report);
	report_add_row(&report);
	report_text(&report, NAME, "\xff");
	assert_printed(&report, print_as_json,
		"[{\"id\": null, \"name\": null, \"active\": null, \"count\": null, "
		"\"created_at\": null, \"list\": null, \"hidden\": null}, {\"id\": null, \"name\": "
		"\"\\\\xff\", \"active\": null, \"count\": null, \"created_at\": null, \"list\": "
		"null, \"hidden\": null}]\n");
	report_clear(&report);
}

static void test_notes(void **state)
{
	struct report report;

	(void)state;
	report_init(&report, columns);
	assert_null(report.note);
	report_note(&report, "%d%%", 3);
	report_note(&report, "%s is %s", "x", "y");
	assert_string_equal(report.note, "x is y\n");
	report_clear(&report);
	assert_null(report.note);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_terminals),
		cmocka_unit_test(test_long_list),
		cmocka_unit_test(test_no_rows),
		cmocka_unit_test(test_long_texts_are_cut),
		cmocka_unit_test(test_long_texts_in_lines),
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_record_on_a_terminal),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_rows),
		cmocka_unit_test(test_notes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
