/*
 * Text that is safe on a terminal, and its width.
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

static void test_what_acts_is_shown(void **state)
{
	static const struct {
		const char *text;
		const char *shown;
	} cases[] = {
		{"", ""}, {"plain text", "plain text"}, {"Größe 文 😀", "Größe 文 😀"},
		{"\x1b[31mred", "\\x1b[31mred"}, {"a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"},
		{"\x7f", "\\x7f"},
		{"\xc2\x9b"
		 "31m",
			"\\u{009b}31m"}, /* CSI in C1 */
		{"\xc2\xa0", "\xc2\xa0"},
		{"\xe2\x80\xae"
		 "abc",
			"\\u{202e}abc"}, /* right to left */
		{"\xe2\x81\xa6", "\\u{2066}"}, {"\xe2\x80\x8e", "\\u{200e}"},
		{"\xef\xbb\xbf", "\\u{feff}"}, {"\xf3\xa0\x81\xa1", "\\u{e0061}"}, /* a tag */
		{"\xff", "\\xff"}, {"a\xc3", "a\\xc3"}, {"\xe2\x82z", "\\xe2\\x82z"},
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* a surrogate */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		visible_add(&out, cases[i].text);
		assert_string_equal(buf_str(&out), cases[i].shown);
	}
}

/* Nothing below a blank comes through, whatever is put in. */
static void test_no_byte_slips_through(void **state)
{
	(void)state;
	for (int a = 1; a < 256; a++) {
		for (int b = 1; b < 256; b++) {
			char text[] = {(char)a, (char)b, '\0'};
			_cleanup_buf_ struct buf out = BUF_INIT;

			visible_add(&out, text);
			for (size_t i = 0; i < out.len; i++) {
				unsigned char c = (unsigned char)out.data[i];

				if (c < 0x20 || c == 0x7f)
					fail_msg("%02x %02x", a, b);
			}
		}
	}
}

static void test_lines_stay(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	visible_add_lines(&out, "a\tb\nc\r\n\x1b");
	assert_string_equal(buf_str(&out), "a\tb\nc\\x0d\n\\x1b");
}

static void test_width(void **state)
{
	static const struct {
		const char *text;
		size_t width;
	} cases[] = {
		{"", 0},
		{"abc", 3},
		{"Größe", 5},
		{"e\xcc\x81", 1}, /* combining accent */
		{"文字", 4},      /* two columns each */
		{"a文b", 4},
		{"\xff", 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(visible_width(cases[i].text), cases[i].width);
}

static void test_cut(void **state)
{
	static const struct {
		const char *text;
		size_t width;
		size_t bytes;
	} cases[] = {
		{"", 3, 0},
		{"abc", 0, 0},
		{"abc", 2, 2},
		{"abc", 3, 3},
		{"Größe", 3, 4},
		{"文字", 3, 3}, /* half a character does not fit */
		{"文字", 4, 6},
		{"e\xcc\x81x", 1, 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(visible_cut(cases[i].text, cases[i].width), cases[i].bytes);
}

static void test_wrapped(void **state)
{
	static const struct {
		const char *text;
		size_t indent, width;
		const char *shown;
	} cases[] = {
		{"", 2, 10, "  \n"},
		{"one two  three", 0, 80, "one two  three\n"},
		{"one two three", 2, 9, "  one two\n  three\n"},
		{"one two", 0, 3, "one\ntwo\n"},
		{"abcdefgh ij", 0, 3, "abc\ndef\ngh\nij\n"}, /* no blank */
		{"  Größe Größe", 1, 6, " Größe\n Größe\n"},
		{"文字文字", 0, 5, "文字\n文字\n"},
		{"文", 4, 5, "    文\n"}, /* too wide whatever is done */
		{"a\nb\x1b[m c", 0, 9, "a\\x0ab\\x1\nb[m c\n"},
		{"ab", 9, 3, "         a\n         b\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		visible_add_wrapped(&out, cases[i].text, cases[i].indent, cases[i].width);
		assert_string_equal(buf_str(&out), cases[i].shown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_acts_is_shown),
		cmocka_unit_test(test_no_byte_slips_through),
		cmocka_unit_test(test_lines_stay),
		cmocka_unit_test(test_width),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_wrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
