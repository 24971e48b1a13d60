/* mime_scan: lines, header fields and parts in bytes from anyone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/mime/mime_scan.h"

static struct span span(const char *text)
{
	return (struct span){text, strlen(text)};
}

static void add_span(struct buf *out, struct span text)
{
	buf_add(out, text.data, text.len);
}

static void test_lines(void **state)
{
	static const struct {
		const char *text;
		const char *lines; /* each in [] */
	} cases[] = {
		{"", ""},
		{"a", "[a]"},
		{"a\n", "[a]"},
		{"a\r\nb", "[a][b]"},
		{"\n\r\n", "[][]"},
		{"a\r\r\nb", "[a][b]"},
		{"a\rb\r", "[a\rb\r]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf shown = BUF_INIT;
		struct span rest = span(cases[i].text), line, raw;
		size_t sum = 0;

		while (mime_scan_line(&rest, &line, &raw)) {
			buf_add_char(&shown, '[');
			add_span(&shown, line);
			buf_add_char(&shown, ']');
			sum += raw.len;
		}
		assert_string_equal(buf_str(&shown), cases[i].lines);
		assert_int_equal(sum, strlen(cases[i].text));
	}
}

/* Each field as name=value; and behind a # what is left. */
static void show_fields(struct span rest, struct buf *out)
{
	struct mime_scan_field field;

	while (mime_scan_field(&rest, &field)) {
		_cleanup_free_ char *value = mime_scan_value(&field);

		add_span(out, field.name);
		buf_printf(out, "=%s;", value);
	}
	buf_add_char(out, '#');
	add_span(out, rest);
}

static void test_fields(void **state)
{
	static const struct {
		const char *text;
		const char *shown;
	} cases[] = {
		{"", "#"},
		{"A: 1\r\nB:2\n\nbody", "A=1;B=2;#\nbody"},
		{"A: 1", "A=1;#"},
		{"A:\r\n 1\r\n\t 2 \r\nB: 3\r\n\r\n", "A=1\t 2;B=3;#\r\n"},
		{"A: 1\r\n \r\nB: 2\r\n", "A=1;B=2;#"},
		{"A : 1\nB\t: 2\n", "A=1;B=2;#"},
		{"A 1: 2\n", "#A 1: 2\n"},
		{": 1\n", "#: 1\n"},
		{" A: 1\n", "# A: 1\n"},
		{"A: 1\nhello\nB: 2\n", "A=1;#hello\nB: 2\n"},
		{"A: 1\n\xc3\xa9: 2\n", "A=1;#\xc3\xa9: 2\n"},
		{"A: \xc3\xa9\n", "A=\xc3\xa9;#"},
		{"A:\nB: \t \n", "A=;B=;#"},
		{"A: 1\rB: 2\r\n", "A=1 B: 2;#"},
		{"A: b:c\n", "A=b:c;#"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf shown = BUF_INIT;

		show_fields(span(cases[i].text), &shown);
		assert_string_equal(shown.data, cases[i].shown);
	}
}

static void test_value_without_nul(void **state)
{
	static const char text[] = "A: 1\0002\n";
	struct span rest = {text, sizeof(text) - 1};
	struct mime_scan_field field;
	_cleanup_free_ char *value = NULL;

	(void)state;
	assert_true(mime_scan_field(&rest, &field));
	value = mime_scan_value(&field);
	assert_string_equal(value, "1 2");
}

static void test_is(void **state)
{
	struct span rest = span("From : a\n");
	struct mime_scan_field field;

	(void)state;
	assert_true(mime_scan_field(&rest, &field));
	assert_true(mime_scan_is(&field, "From"));
	assert_true(mime_scan_is(&field, "fROM"));
	assert_false(mime_scan_is(&field, "Fro"));
	assert_false(mime_scan_is(&field, "From "));
}

static void test_from_line(void **state)
{
	static const struct {
		const char *text;
		const char *rest;
	} cases[] = {
		{"From a@x Mon\nA: 1\n", "A: 1\n"},
		{">From a@x Mon\r\nA: 1\n", "A: 1\n"},
		{">>From a@x Mon:\r\nA: 1\n", "A: 1\n"},
		{"From a@x", ""},
		{"From: a@x\n", "From: a@x\n"},
		{"From : a@x\n", "From : a@x\n"},
		{"From", "From"},
		{"", ""},
		{"A: 1\nFrom a\n", "A: 1\nFrom a\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct span message = span(cases[i].text);

		mime_scan_drop_from_line(&message);
		assert_int_equal(message.len, strlen(cases[i].rest));
		assert_memory_equal(message.data, cases[i].rest, message.len);
	}
}

static void show_parts(const char *text, const char *boundary, struct buf *out)
{
	struct mime_scan_parts parts;
	enum mime_scan_result result;
	struct span part;

	if (mime_scan_parts_begin(&parts, span(text), boundary) < 0) {
		buf_add_str(out, "bad");
		return;
	}
	do {
		result = mime_scan_parts_next(&parts, &part);
		if (result == MIME_SCAN_PART || part.len > 0) {
			buf_add_char(out, '[');
			add_span(out, part);
			buf_add_char(out, ']');
		}
	} while (result == MIME_SCAN_PART);
	buf_add_str(out, result == MIME_SCAN_END ? "end" : "eof");
	/* It stays at its end. */
	assert_int_equal(mime_scan_parts_next(&parts, &part), result);
	assert_int_equal(part.len, 0);
}

static void test_parts(void **state)
{
	static const struct {
		const char *text;
		const char *boundary;
		const char *shown;
	} cases[] = {
		{"--b\r\n1\r\n--b\r\n2\r\n--b--\r\n", "b", "[1][2]end"},
		{"x\n--b\n1\n--b--", "b", "[1]end"},
		{"--b\r\n--b\r\n\r\n--b--", "b", "[][]end"},
		{"--b\r\n1\r\r\n--b--", "b", "[1\r]end"},
		{"--b\r\n1", "b", "[1]eof"},
		{"--b\r\n", "b", "eof"},
		{"--b", "b", "eof"},
		{"", "b", "eof"},
		{"--b--", "b", "end"},
		{"--b--\n--b\n1\n--b--", "b", "end"},
		{"x--b\n--b--", "b", "end"},
		{"--b\n1\n--b--x\n2\n--b-- \t\r\n", "b", "[1\n--b--x\n2]end"},
		{"--b \n1\n--b\t\r\n2\n--b--", "b", "[1][2]end"},
		{"--bb\n--b\n1\n--bb--\n--b--", "b", "[1\n--bb--]end"},
		{"--b  \n1\n--b--", "b  ", "[1]end"},
		{"--\n", "", "bad"},
		{"--  \n", "  ", "bad"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf shown = BUF_INIT;

		show_parts(cases[i].text, cases[i].boundary, &shown);
		if (strcmp(shown.data, cases[i].shown) != 0)
			fail_msg("case %zu: %s", i, shown.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_value_without_nul),
		cmocka_unit_test(test_is),
		cmocka_unit_test(test_from_line),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
