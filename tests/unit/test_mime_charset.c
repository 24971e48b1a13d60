/* mime_charset: text in any charset made UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/mime/mime_charset.h"

#define BAD "\xef\xbf\xbd"

static void test_add(void **state)
{
	static const struct {
		const char *charset;
		const char *text;
		size_t len;
		const char *utf8;
	} cases[] = {
		{NULL, "a\xc3\xa9", 3, "a\xc3\xa9"},
		{"UTF-8", "a\xc3\xa9", 3, "a\xc3\xa9"},
		{"utf-8",
			"a\xff"
			"b",
			3, "a" BAD "b"},
		{"utf-8", "a\0b", 3, "a" BAD "b"},
		{"utf-8", "\xe2\x82", 2, BAD BAD},
		{"x-unknown", "a\xff", 2, "a" BAD},
		{"", "a", 1, "a"},
		{"us-ascii", "a\xe9", 2, "a" BAD},
		{"ISO-8859-1", "a\xe9", 2, "a\xc3\xa9"},
		{"windows-1252", "\x80\x81", 2, "\xe2\x82\xac" BAD},
		{"koi8-r", "\xf0", 1, "\xd0\x9f"},
		{"iso-2022-jp", "\x1b$B$\"\x1b(B", 8, "\xe3\x81\x82"},
		{"shift_jis", "\x82\xa0\x82", 3, "\xe3\x81\x82" BAD},
		{"utf-16le", "a\0b\0", 4, "ab"},
		{"utf-16le", "a\0\0\0", 4, "a" BAD},
		{"utf-16le", "a\0b", 3, "a" BAD},
		{"UTF-8//IGNORE", "\xff", 1, BAD},
		{"ISO-8859-1", "", 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		buf_add_str(&out, ">");
		mime_charset_add(&out, cases[i].text, cases[i].len, cases[i].charset);
		if (strcmp(out.data + 1, cases[i].utf8) != 0)
			fail_msg("case %zu: %s", i, out.data);
	}
}

/* More than fits at once, with characters across every edge. */
static void test_long(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	_cleanup_buf_ struct buf out = BUF_INIT;

	(void)state;
	buf_add_str(&text, "a");
	for (int i = 0; i < 10000; i++)
		buf_add_str(&text, "\x82\xa0");
	mime_charset_add(&out, text.data, text.len, "shift_jis");
	assert_int_equal(out.len, 1 + 3 * 10000);
	for (size_t i = 1; i < out.len; i += 3)
		assert_memory_equal(out.data + i, "\xe3\x81\x82", 3);
}

static void test_known(void **state)
{
	(void)state;
	assert_true(mime_charset_known("utf-8"));
	assert_true(mime_charset_known("ISO-8859-15"));
	assert_false(mime_charset_known("x-unknown"));
	assert_false(mime_charset_known(""));
	assert_false(mime_charset_known("utf-8//TRANSLIT"));
	assert_false(mime_charset_known("../utf-8"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
