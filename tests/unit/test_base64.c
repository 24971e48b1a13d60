/*
 * Base64 as mail programs and JSON clients send it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/base64.h"
#include "core/base/mem.h"

static void test_good(void **state)
{
	static const struct {
		const char *text;
		const char *bytes;
		size_t len;
	} cases[] = {
		/* The vectors of RFC 4648 section 10. */
		{"", "", 0},
		{"Zg==", "f", 1},
		{"Zm8=", "fo", 2},
		{"Zm9v", "foo", 3},
		{"Zm9vYg==", "foob", 4},
		{"Zm9vYmE=", "fooba", 5},
		{"Zm9vYmFy", "foobar", 6},
		/* Without padding. */
		{"Zg", "f", 1},
		{"Zm8", "fo", 2},
		{"Zm9vYg", "foob", 4},
		/* With blanks and line ends. */
		{"Zm9v\r\nYmFy\r\n", "foobar", 6},
		{" Z g = = ", "f", 1},
		{"Zg=\n=", "f", 1},
		{"\tZm9v\n", "foo", 3},
		{"  ", "", 0},
		{"\n", "", 0},
		/* All of the alphabet that is not letters. */
		{"+/+/", "\xfb\xff\xbf", 3},
		{"AAAA", "\0\0\0", 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		buf_add_str(&out, ">");
		if (base64_decode(cases[i].text, strlen(cases[i].text), &out) < 0)
			fail_msg("\"%s\"", cases[i].text);
		assert_int_equal(out.len, cases[i].len + 1);
		assert_memory_equal(
			out.data + 1, cases[i].bytes, cases[i].len + 1);
	}
}

static void test_bad(void **state)
{
	static const char *const cases[] = {"Z", "Zm9vY",
		"Zg=", "Zg===", "Zm8==", "Zm9v=", "Zm9v====", "=",
		"==", "Zg==Zg==", "Z=g=", "Zm9v!", "Zm-_", "Zh", "Zm9",
		"Zm9vYh==", "data:Zg==", "Z\vg==", "Zg\xc2\xa0", "Zm9vYmFyZ"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		buf_add_str(&out, "before");
		if (base64_decode(cases[i], strlen(cases[i]), &out) == 0)
			fail_msg("accepted \"%s\"", cases[i]);
		assert_string_equal(buf_str(&out), "before");
	}
}

static void test_nul_is_no_character(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(base64_decode("Zm9v\0Zm9v", 9, &out), -1);
	assert_int_equal(base64_decode("Zm9v\0", 5, &out), -1);
	assert_int_equal(out.len, 0);
}

/* No byte beyond ASCII is a character, wherever it stands. */
static void test_high_bytes(void **state)
{
	(void)state;
	for (int byte = 0x80; byte <= 0xff; byte++) {
		for (size_t at = 0; at < 8; at++) {
			_cleanup_buf_ struct buf out = BUF_INIT;
			char text[] = "Zm9vYmFy";

			text[at] = (char)byte;
			assert_int_equal(base64_decode(text, 8, &out), -1);
		}
	}
}

/* Only len characters are read. */
static void test_length(void **state)
{
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(base64_decode("Zm9vYmFy", 4, &out), 0);
	assert_string_equal(buf_str(&out), "foo");
}

static void test_large(void **state)
{
	enum { GROUPS = 100000 };
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	for (int i = 0; i < GROUPS; i++)
		buf_add_str(&text, i % 19 == 18 ? "YmFy\r\n" : "YmFy");
	assert_int_equal(base64_decode(text.data, text.len, &out), 0);
	assert_int_equal(out.len, 3 * GROUPS);
	for (size_t i = 0; i < out.len; i += 3)
		assert_memory_equal(out.data + i, "bar", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_nul_is_no_character),
		cmocka_unit_test(test_high_bytes),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
