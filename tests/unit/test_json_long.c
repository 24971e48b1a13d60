/*
 * json_long: what it reads is what jansson reads, whatever is taken out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "httpd/admission/json_text.h"
#include "httpd/json/json_long.h"

enum { FLAGS = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY };

static int setup(void **state)
{
	(void)state;
	return secret_init();
}

static const char *const texts[] = {
	/* Strings in every place. */
	"{\"a\":\"x\"}",
	"{\"a\" \t\r\n: \"x\", \"b\":[\"y\",{\"c\":\"z\"}], \"d\":\"\"}",
	"[\"a\",\"b\"]",
	"\"alone\"",
	"{\"long name\":1,\"b\":\"long name\"}",
	"{\"a\":\"same\",\"b\":\"same\"}",
	/* Escapes. */
	"{\"a\":\"\\n\\t\\r\\b\\f\\/\\\\\\\"\"}",
	"{\"a\":\"\\\\\",\"b\":\"\\\\\\\"\",\"c\":\"\\\\\\\\\"}",
	"{\"a\":\"\\u00e9\\u20ac\\uFFFD\\u007f\\u0001\"}",
	"{\"a\":\"\\ud83d\\ude00 and \\uD83D\\uDE00\"}",
	"{\"a\":\"\\u0000\",\"b\":\"x\\u0000y\"}",
	"{\"a\":\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"}",
	/* No JSON. */
	"",
	"{",
	"{\"a\":\"x",
	"{\"a\":\"x\\\"",
	"{\"a\":\"x\\\\\\\"}",
	"{\"a\":\"x\",}",
	"{\"a\":\"x\" \"y\"}",
	"{\"a\":\"x\":\"y\"}",
	"{\"a\":\"x\",\"a\":\"y\"}",
	"{:\"x\"}",
	"{\"a\"::\"x\"}",
	"{\"a\":\"\\q\"}",
	"{\"a\":\"\\u12\"}",
	"{\"a\":\"\\u12g4\"}",
	"{\"a\":\"\\ud83d\"}",
	"{\"a\":\"\\ud83d\\n\"}",
	"{\"a\":\"\\ud83d\\u0041\"}",
	"{\"a\":\"\\ude00\"}",
	"{\"a\":\"line\nbreak\"}",
	"{\"a\":\"\x01\"}",
	"{\"a\":\"\xff\"}",
	"{\"a\":\"\xc0\xaf\"}",
	"{\"a\":\"\xed\xa0\x80\"}",
	"{\"a\":\"cut \xe2\x82\"}",
};

static void check(const char *text, size_t len, size_t min)
{
	json_error_t error, wanted_error;
	json_t *found = json_long_load(text, len, min, FLAGS, &error);
	json_t *wanted = json_loadb(text, len, FLAGS, &wanted_error);

	if (wanted == NULL) {
		assert_null(found);
		assert_string_equal(error.text, wanted_error.text);
		assert_int_equal(error.line, wanted_error.line);
		assert_int_equal(error.column, wanted_error.column);
	} else if (!json_equal(found, wanted)) {
		fail_msg("%s, strings of %zu and more", text, min);
	}
	json_decref(found);
	json_decref(wanted);
}

static void test_as_jansson(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (size_t min = 0; min < 12; min++)
			check(texts[i], strlen(texts[i]), min);
}

/* A NUL is no blank, and no end. */
static void test_nul_bytes(void **state)
{
	static const char outside[] = "{\"a\":\0\"x\"}";
	static const char inside[] = "{\"a\":\"x\0y\"}";

	(void)state;
	check(outside, sizeof(outside) - 1, 0);
	check(inside, sizeof(inside) - 1, 0);
}

/* Many long strings, all of which find their way back. */
static void test_many(void **state)
{
	enum { STRINGS = 300 };
	_cleanup_buf_ struct buf text = BUF_INIT;

	(void)state;
	buf_add_str(&text, "{\"all\":[");
	for (int i = 0; i < STRINGS; i++)
		buf_printf(&text, "%s{\"text\":\"%d\\n%0*d\"}", i ? "," : "", i, JSON_LONG_MIN, i);
	buf_add_str(&text, "]}");
	check(text.data, text.len, JSON_LONG_MIN);
}

static void test_end(void **state)
{
	static const struct {
		const char *text;
		size_t at, end;
	} cases[] = {
		{"\"\"", 1, 1},
		{"\"ab\" \"", 1, 3},
		{"\"a\\\"b\"", 1, 5},
		{"\"a\\\\\"b", 1, 4},
		{"\"a\\\\\\\"", 1, 6},
		{"\"a", 1, 2},
		{"\"", 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(json_text_end(cases[i].text, strlen(cases[i].text), cases[i].at),
			cases[i].end);
}

/* What the decoder takes is right, or jansson would be asked; that it takes
 * what is well-formed, only this shows. */
static void test_decoder_takes(void **state)
{
	static const struct {
		const char *text, *bytes;
	} cases[] = {
		{"", ""},
		{"plain", "plain"},
		{"a\\nb\\\\c\\\"d\\/", "a\nb\\c\"d/"},
		{"\\b\\f\\r\\t", "\b\f\r\t"},
		{"\\u0041\\u00e9\\u20AC", "A\xc3\xa9\xe2\x82\xac"},
		{"\\ud83d\\ude00", "\xf0\x9f\x98\x80"},
		{"\xc3\xa9 longer than eight bytes", "\xc3\xa9 longer than eight bytes"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		assert_int_equal(json_string_decode(cases[i].text, strlen(cases[i].text), &out), 0);
		assert_string_equal(buf_str(&out), cases[i].bytes);
	}
}

static void test_decoder_leaves(void **state)
{
	static const char *const cases[] = {"\\", "\\q", "\\u", "\\u123", "\\u0000", "\\ud83d",
		"\\ude00", "\\ud83d\\u0041", "\n", "\xff", "\\ud83dx\\ude00", "\\u 123", "\\u+123"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = BUF_INIT;

		assert_int_equal(json_string_decode(cases[i], strlen(cases[i]), &out), -1);
	}
}

/* As jansson writes it, behind what the object has itself. */
static void test_dump(void **state)
{
	static const char *const written[] = {"", "plain \u00e4 / \x7f", "\"\\\b\f\n\r\t",
		"\x01\x1f\x1b", "<p class=\"a\">\n</p>", NULL};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(written); i++) {
		const struct json_long_member members[] = {
			{"first", written[i]},
			{"second", written[(i + 1) % ARRAY_SIZE(written)]},
		};
		json_t *object = json_pack("{s:s}", "own", "\"");
		json_t *whole = json_pack("{s:s, s:s?, s:s?}", "own", "\"", "first",
			members[0].text, "second", members[1].text);
		_cleanup_free_ char *wanted = json_dumps(whole, JSON_COMPACT);
		_cleanup_free_ char *found = json_long_dump(object, members, 2);

		assert_string_equal(found, wanted);
		json_decref(whole);
		json_decref(object);
	}
}

static void test_dump_not_utf8(void **state)
{
	static const char *const broken[] = {"\xff", "cut \xe2\x82", "\xc0\xaf"};
	json_t *object = json_pack("{s:s}", "own", "x");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		const struct json_long_member member = {"text", broken[i]};

		assert_null(json_long_dump(object, &member, 1));
	}
	assert_null(json_long_dump(NULL, NULL, 0));
	json_decref(object);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_jansson),
		cmocka_unit_test(test_nul_bytes),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_decoder_takes),
		cmocka_unit_test(test_decoder_leaves),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_dump_not_utf8),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
