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

/* In front of a text these make it one that is decoded the other way. */
enum { GROUPS_BEFORE = 300 };

static void add_before(struct buf *text, struct buf *bytes)
{
	for (int i = 0; i < GROUPS_BEFORE; i++) {
		buf_add_str(text, "YmFy");
		buf_add_str(bytes, "bar");
	}
}

static const struct {
	const char *text;
	const char *bytes;
	size_t len;
} good[] = {
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

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		buf_add_str(&out, ">");
		if (base64_decode(good[i].text, strlen(good[i].text), &out) < 0)
			fail_msg("\"%s\"", good[i].text);
		assert_int_equal(out.len, good[i].len + 1);
		assert_memory_equal(out.data + 1, good[i].bytes, good[i].len + 1);
	}
}

static void test_good_and_long(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		_cleanup_buf_ struct buf text = BUF_INIT;
		_cleanup_buf_ struct buf wanted = BUF_INIT;
		_cleanup_buf_ struct buf out = BUF_INIT;

		add_before(&text, &wanted);
		buf_add_str(&text, good[i].text);
		buf_add(&wanted, good[i].bytes, good[i].len);
		if (base64_decode(text.data, text.len, &out) < 0)
			fail_msg("\"%s\"", good[i].text);
		assert_int_equal(out.len, wanted.len);
		assert_memory_equal(out.data, wanted.data, wanted.len);
	}
}

static const char *const bad[] = {"Z", "Zm9vY", "Zg=", "Zg===", "Zm8==", "Zm9v=", "Zm9v====", "=",
	"==", "Zg==Zg==", "Z=g=", "Zm9v!", "Zm-_", "Zh", "Zm9",
	"Zm9vYh==", "data:Zg==", "Z\vg==", "Zg\xc2\xa0", "Zm9vYmFyZ"};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		buf_add_str(&out, "before");
		if (base64_decode(bad[i], strlen(bad[i]), &out) == 0)
			fail_msg("accepted \"%s\"", bad[i]);
		assert_string_equal(buf_str(&out), "before");
	}
}

/* Behind many good characters, and before them. */
static void test_bad_and_long(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(bad); i++) {
		const char *piece = bad[i / 2];
		_cleanup_buf_ struct buf text = BUF_INIT;
		_cleanup_buf_ struct buf unused = BUF_INIT;
		_cleanup_buf_ struct buf out = BUF_INIT;

		/* What lacks padding is wrong at the end only. */
		if (i % 2 == 1 && strchr(piece, '=') == NULL)
			continue;
		if (i % 2 == 1)
			buf_add_str(&text, piece);
		add_before(&text, &unused);
		if (i % 2 == 0)
			buf_add_str(&text, piece);
		if (base64_decode(text.data, text.len, &out) == 0)
			fail_msg("accepted \"%s\"", piece);
		assert_int_equal(out.len, 0);
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

/* Nor is any byte besides the alphabet and what is skipped, in a long text. */
static void test_each_byte(void **state)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	(void)state;
	for (int byte = 0; byte <= 0xff; byte++) {
		_cleanup_buf_ struct buf text = BUF_INIT;
		_cleanup_buf_ struct buf unused = BUF_INIT;
		_cleanup_buf_ struct buf out = BUF_INIT;
		const char *found = byte ? strchr(alphabet, byte) : NULL;
		bool skipped = byte && strchr(" \t\r\n", byte);
		const char group[] = {'A', 'A', 'A', (char)byte};
		int result;

		buf_add(&text, group, sizeof(group));
		add_before(&text, &unused);
		if (skipped)
			buf_add_char(&text, 'A');
		result = base64_decode(text.data, text.len, &out);
		assert_int_equal(result, found || skipped ? 0 : -1);
		if (found)
			assert_int_equal(out.data[2], found - alphabet);
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

static void test_number(void **state)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	(void)state;
	for (int byte = 0; byte < 256; byte++) {
		const char *place = byte ? strchr(alphabet, byte) : NULL;

		assert_int_equal(base64_number((char)byte), place ? place - alphabet : -1);
	}
}

static void test_encode(void **state)
{
	static const struct {
		size_t len;
		size_t line_max;
		const char *text;
	} cases[] = {
		{0, 0, ""},
		{0, 4, ""},
		{1, 0, "Zg=="},
		{2, 0, "Zm8="},
		{3, 0, "Zm9v"},
		{6, 0, "Zm9vYmFy"},
		{6, 8, "Zm9vYmFy"},
		{6, 4, "Zm9v\nYmFy"},
		{7, 4, "Zm9v\nYmFy\n+w=="},
		{8, 0, "Zm9vYmFy+/8="},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		base64_encode("foobar\xfb\xff", cases[i].len, cases[i].line_max, &out);
		assert_string_equal(buf_str(&out), cases[i].text);
	}
}

static void test_lenient(void **state)
{
	static const char *const cases[][2] = {
		{"Zm9vYmFy", "foobar"},
		{"Zm9vYg==", "foob"},
		{"Z!m\n9\xffv", "foo"},
		/* left over */
		{"Zm9vYg", "foo"},
		{"Zm9vYm=", "foob"},
		{"Zm9vY=", "foo"},
		/* ends at the padding */
		{"Zg==Zm9v", "f"},
		{"=Zm9v", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		base64_decode_leniently(cases[i][0], strlen(cases[i][0]), &out);
		assert_string_equal(buf_str(&out), cases[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_good_and_long),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_bad_and_long),
		cmocka_unit_test(test_nul_is_no_character),
		cmocka_unit_test(test_high_bytes),
		cmocka_unit_test(test_each_byte),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_lenient),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
