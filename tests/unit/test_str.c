/*
 * Text helpers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <locale.h>

#include "core/base/mem.h"
#include "core/base/str.h"

static void test_compare(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		bool eq;
		bool eq_nocase;
	} cases[] = {
		{"", "", true, true},
		{"a", "", false, false},
		{"", "a", false, false},
		{"abc", "abc", true, true},
		{"abc", "aBC", false, true},
		{"abc", "abcd", false, false},
		{"az[", "AZ{", false, false}, /* not letters */
		{"@`", "`@", false, false},
		{"ä", "Ä", false, false}, /* ASCII only */
		{"\xc3\xa4", "\xc3\xa4", true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(str_eq(cases[i].a, cases[i].b), cases[i].eq);
		assert_int_equal(str_eq_nocase(cases[i].a, cases[i].b), cases[i].eq_nocase);
	}
}

static void test_starts(void **state)
{
	static const struct {
		const char *text;
		const char *prefix;
		bool starts;
		bool nocase;
	} cases[] = {
		{"", "", true, true},
		{"abc", "", true, true},
		{"abc", "ab", true, true},
		{"abc", "abc", true, true},
		{"abc", "abcd", false, false},
		{"abc", "AB", false, true},
		{"", "a", false, false},
		{"Bearer x", "bearer ", false, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(str_starts(cases[i].text, cases[i].prefix), cases[i].starts);
		assert_int_equal(
			str_starts_nocase(cases[i].text, cases[i].prefix), cases[i].nocase);
	}
}

static void test_empty(void **state)
{
	(void)state;
	assert_true(str_empty(NULL));
	assert_true(str_empty(""));
	assert_false(str_empty(" "));
}

static void test_trim(void **state)
{
	static const struct {
		const char *text;
		const char *trimmed;
	} cases[] = {
		{"", ""},
		{" \t\r\n", ""},
		{"a", "a"},
		{" a ", "a"},
		{"\r\n a b\t", "a b"},
		{"\va\f", "\va\f"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *trimmed = str_trim(cases[i].text, strlen(cases[i].text));

		assert_string_equal(trimmed, cases[i].trimmed);
	}
}

/* Only len bytes are looked at. */
static void test_trim_part(void **state)
{
	_cleanup_free_ char *trimmed = str_trim(" ab cd", 4);

	(void)state;
	assert_string_equal(trimmed, "ab");
}

static void test_unfolded(void **state)
{
	static const struct {
		const char *value;
		const char *line;
	} cases[] = {
		{"", ""},
		{"a b", "a b"},
		{"a\n b", "a b"},
		{"a\r\n\tb", "a b"},
		{"a \n  b", "a   b"},
		{"a\n\n b", "a b"},
		/* No folding, but nothing that would be a line of its own. */
		{"a\nb", "a b"},
		{"a\r\nb\r", "a  b "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *line = str_unfolded(cases[i].value);

		assert_string_equal(line, cases[i].line);
	}
}

static void test_lower(void **state)
{
	char text[] = "AZaz@[`{09\xc3\x84";

	(void)state;
	str_lower(text);
	assert_string_equal(text, "azaz@[`{09\xc3\x84");
}

static void test_int(void **state)
{
	static const struct {
		const char *text;
		int64_t min;
		int64_t max;
		int result;
		int64_t value;
	} cases[] = {
		{"0", 0, 10, 0, 0},
		{"10", 0, 10, 0, 10},
		{"11", 0, 10, -1, 0},
		{"-1", 0, 10, -1, 0},
		{"-1", -1, 10, 0, -1},
		{"-2", -1, 10, -1, 0},
		{"007", 0, 10, 0, 7},
		{"", 0, 10, -1, 0},
		{" 1", 0, 10, -1, 0},
		{"1 ", 0, 10, -1, 0},
		{"+1", 0, 10, -1, 0},
		{"1x", 0, 10, -1, 0},
		{"0x1", 0, 10, -1, 0},
		{"1.0", 0, 10, -1, 0},
		{"-", -10, 10, -1, 0},
		{"--1", -10, 10, -1, 0},
		{"9223372036854775807", 0, INT64_MAX, 0, INT64_MAX},
		{"9223372036854775808", 0, INT64_MAX, -1, 0},
		{"-9223372036854775808", INT64_MIN, 0, 0, INT64_MIN},
		{"-9223372036854775809", INT64_MIN, 0, -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t value = 77;

		if (str_int(cases[i].text, cases[i].min, cases[i].max, &value) != cases[i].result)
			fail_msg("\"%s\"", cases[i].text);
		assert_int_equal(value, cases[i].result == 0 ? cases[i].value : 77);
	}
}

static void test_within_domain(void **state)
{
	static const struct {
		const char *name, *domain;
		bool same, below; /* without, and with the domains below it */
	} cases[] = {
		{"acme.test", "acme.test", true, true},
		{"mail.acme.test", "acme.test", false, true},
		{"a.b.acme.test", "acme.test", false, true},
		{"notacme.test", "acme.test", false, false},
		{"-acme.test", "acme.test", false, false},
		{"acme.test", "mail.acme.test", false, false},
		{"test", "acme.test", false, false},
		{"acme.test.evil.test", "acme.test", false, false},
		{"acme.testing", "acme.test", false, false},
		{"Acme.test", "acme.test", false, false},
		{"acme.test.", "acme.test", false, false},
		{"", "acme.test", false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (str_within_domain(cases[i].name, cases[i].domain, false) != cases[i].same ||
			str_within_domain(cases[i].name, cases[i].domain, true) != cases[i].below)
			fail_msg("%s of %s", cases[i].name, cases[i].domain);
}

static void test_amount(void **state)
{
	static const struct unit units[] = {{"", 1}, {"K", 1 << 10}, {"ms", 5}, {"m", 7}, {0}};
	static const struct {
		const char *text;
		int64_t value; /* -1: none */
	} cases[] = {
		{"0", 0},
		{"3", 3},
		{"007m", 49},
		{"2K", 2048},
		{"2ms", 10},
		{"9223372036854775807", INT64_MAX},
		{"9223372036854775808", -1},
		{"9007199254740991K", INT64_MAX - 1023},
		{"9007199254740992K", -1},
		{"18014398509481985K", -1}, /* 1024, were it cut to 64 bits */
		{"", -1},
		{"K", -1},
		{"2k", -1},
		{"2Km", -1},
		{"2 K", -1},
		{" 2K", -1},
		{"2K ", -1},
		{"-2K", -1},
		{"+2K", -1},
		{"0x2", -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t value = -1;
		int result = str_amount(cases[i].text, units, &value);

		if (value != cases[i].value || (result == 0) != (value >= 0))
			fail_msg("\"%s\": %lld", cases[i].text, (long long)value);
	}
}

static void test_utf8_valid(void **state)
{
	static const struct {
		const char *text;
		bool valid;
	} cases[] = {
		{"", true},
		{"plain", true},
		{"\xc2\x80", true},         /* the first of two bytes */
		{"\xdf\xbf", true},         /* the last */
		{"\xe0\xa0\x80", true},     /* the first of three */
		{"\xed\x9f\xbf", true},     /* before the surrogates */
		{"\xee\x80\x80", true},     /* behind them */
		{"\xef\xbf\xbf", true},     /* the last of three */
		{"\xf0\x90\x80\x80", true}, /* the first of four */
		{"\xf4\x8f\xbf\xbf", true}, /* the last of all */
		{"a\xe2\x82\xacz", true},
		{"\x80", false}, /* no first byte */
		{"\xbf", false},
		{"\xc0\x80", false}, /* overlong */
		{"\xc1\xbf", false},
		{"\xe0\x9f\xbf", false},
		{"\xf0\x8f\xbf\xbf", false},
		{"\xed\xa0\x80", false}, /* surrogates */
		{"\xed\xbf\xbf", false},
		{"\xf4\x90\x80\x80", false}, /* beyond U+10FFFF */
		{"\xf5\x80\x80\x80", false},
		{"\xff", false},
		{"\xc2", false}, /* cut short */
		{"\xe2\x82", false},
		{"\xf0\x90\x80", false},
		{"\xc2z", false},
		{"\xe2\x82z", false},
		{"ok\xe2\x82\xac\xc2", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (str_utf8_valid(cases[i].text, strlen(cases[i].text)) != cases[i].valid)
			fail_msg("case %zu", i);
	assert_true(str_utf8_valid("a\0b", 3));
	/* Wherever the bad byte stands among good ones. */
	for (size_t at = 0; at < 24; at++) {
		char text[] = "abcdefghijklmnopqrstuvwx";

		assert_true(str_utf8_valid(text, 24));
		text[at] = '\x80';
		assert_false(str_utf8_valid(text, 24));
	}
	assert_false(str_utf8_valid("\xe2\x82\xac", 2));
}

/* Every code point, encoded as the RFC says, is valid; surrogates are not. */
static void test_utf8_every_code_point(void **state)
{
	(void)state;
	for (unsigned code = 0x80; code <= 0x10ffff; code++) {
		unsigned char text[4];
		size_t len = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
		static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
		bool surrogate = code >= 0xd800 && code <= 0xdfff;

		for (size_t i = len; i-- > 1;)
			text[i] = (unsigned char)(0x80 | ((code >> (6 * (len - 1 - i))) & 0x3f));
		text[0] = (unsigned char)(first[len] | code >> (6 * (len - 1)));
		if (str_utf8_valid((const char *)text, len) == surrogate)
			fail_msg("U+%04X", code);
	}
}

static void test_utf8_count(void **state)
{
	static const struct {
		const char *text;
		size_t n;
	} cases[] = {
		{"", 0},
		{"abc", 3},
		{"\u00e9\u20ac\U0001f600", 3},
		{"e\u0301", 2},
		{"\xc3\xa9\xff", 3}, /* not well-formed: bytes */
		{"\x80\x80", 2},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(str_utf8_count(cases[i].text, strlen(cases[i].text)), cases[i].n);
}

static void test_utf8_cut(void **state)
{
	static const struct {
		const char *text;
		size_t max;
		size_t cut;
	} cases[] = {
		{"", 0, 0},
		{"abc", 0, 0},
		{"abc", 2, 2},
		{"abc", 3, 3},
		{"abc", 9, 3},
		{"a\xe2\x82\xac", 1, 1},
		{"a\xe2\x82\xac", 2, 1},
		{"a\xe2\x82\xac", 3, 1},
		{"a\xe2\x82\xac", 4, 4},
		{"\xf0\x9f\x98\x80x", 3, 0},
		{"\xf0\x9f\x98\x80x", 4, 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(str_utf8_cut(cases[i].text, cases[i].max), cases[i].cut);
}

static void test_is_ascii(void **state)
{
	(void)state;
	assert_true(str_is_ascii(""));
	assert_true(str_is_ascii("\001 az\177"));
	assert_false(str_is_ascii("a\200"));
	assert_false(str_is_ascii("\377"));
}

static void test_eq_folded(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{"", "", true},
		{"Ann@x", "aNN@X", true},
		{"Ann@x", "anna@x", false},
		{"J\u00dcrgen@x", "j\u00fcRGEN@x", true},
		{"Stra\u00dfe", "STRASSE", true},
		{"\u03a3", "\u03c2", true},
		{"\u212a", "k", true},
		{"\u00fc", "u\u0308", false},
		{"\u0131", "i", false},
		{"\u00fc", "u", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(str_eq_folded(cases[i].a, cases[i].b), cases[i].same);
		assert_int_equal(str_eq_folded(cases[i].b, cases[i].a), cases[i].same);
	}
}

static void test_count(void **state)
{
	static const struct {
		int64_t n, max;
		const char *text;
	} cases[] = {
		{0, 0, "0"},
		{999, 0, "999"},
		{999, 1000, "999"},
		{1000, 0, "1,000"},
		{1000, 1000, "1,000 or more"},
		{123456, 0, "123,456"},
		{1234567, 0, "1,234,567"},
		{-100, 0, "-100"},
		{-1234, 0, "-1,234"},
		{INT64_MIN, 0, "-9,223,372,036,854,775,808"},
		{INT64_MAX, 1, "9,223,372,036,854,775,807 or more"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(STR_COUNT(cases[i].n, cases[i].max), cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_eq_folded),
		cmocka_unit_test(test_compare),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_trim_part),
		cmocka_unit_test(test_unfolded),
		cmocka_unit_test(test_lower),
		cmocka_unit_test(test_int),
		cmocka_unit_test(test_amount),
		cmocka_unit_test(test_within_domain),
		cmocka_unit_test(test_utf8_valid),
		cmocka_unit_test(test_utf8_every_code_point),
		cmocka_unit_test(test_utf8_count),
		cmocka_unit_test(test_utf8_cut),
		cmocka_unit_test(test_is_ascii),
		cmocka_unit_test(test_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
