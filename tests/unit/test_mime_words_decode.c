/* mime_words_decode: encoded words, well made and not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/mime/mime_words.h"

#define BAD "\xef\xbf\xbd"
#define E   "\xc3\xa9"

static const struct {
	const char *value;
	const char *text; /* NULL: as the value */
} cases[] = {
	{"", NULL},
	{"plain text", NULL},
	{"raw " E, NULL},
	{"raw \xe9", "raw " BAD},
	{"=?utf-8?Q?caf=C3=A9?= au lait", "caf" E " au lait"},
	{"=?UTF-8?q?a_b=5F=2?=", "a b_=2"},
	{"=?utf-8?Q?a b?=", "a b"},
	{"=?ISO-8859-1?B?6Q==?=", E},
	{"=?iso-8859-1?b?6Q?=", E},
	{"=?ISO-8859-1?Q?=93a=92?=",
		"\xe2\x80\x9c"
		"a"
		"\xe2\x80\x99"},
	{"=?utf-8?B?w!6k=?=", E},
	{"=?utf-8*en-GB?Q?a?=", "a"},
	{"=?utf-8?Q?\?=", ""},
	/* In a row. */
	{"=?utf-8?Q?a?= \t=?iso-8859-1?Q?=E9?=", "a" E},
	{"=?utf-8?B?w6k=?= =?utf-8?B?w6k=?=", E E},
	{"=?utf-8?B?YcM=?=\r\n =?UTF-8?B?qQ==?=", "a" E},
	{"=?utf-8?Q?a=C3?= =?iso-8859-1?Q?=A9?=", "a" BAD "\xc2\xa9"},
	{"=?utf-8?Q?a?= b =?utf-8?Q?c?=", "a b c"},
	{"=?utf-8?Q?a?==?utf-8?Q?b?=", "ab"},
	{"a=?utf-8?Q?b?=c", "abc"},
	/* Not known, not whole. */
	{"=?x-unknown?Q?a?=", NULL},
	{"=?x-unknown?Q?a?= =?utf-8?Q?b?=", "=?x-unknown?Q?a?= b"},
	{"=?utf-8?Q?b?= =?x-unknown?Q?a?= c", "b =?x-unknown?Q?a?= c"},
	{"=?utf-8?Q?a =?utf-8?Q?b?=", "=?utf-8?Q?a b"},
	{"why=? =?utf-8?Q?a?=", "why=? a"},
	{"=?", NULL},
	{"=?utf-8", NULL},
	{"=?utf-8?", NULL},
	{"=?utf-8?Q", NULL},
	{"=?utf-8?Q?", NULL},
	{"=?utf-8?Q?a", NULL},
	{"=?utf-8?Q?a?", NULL},
	{"=?utf-8?X?a?=", NULL},
	{"=??Q?a?=", NULL},
	{"=?"
	 "0123456789012345678901234567890123456789x?Q?a?=",
		NULL},
	/* What it decodes to. */
	{"=?utf-8?Q?a=00b=0D=0A?=", "a" BAD "b\r\n"},
	{"=?utf-8?Q?=3D=3Futf-8=3FQ=3Fa=3F=3D?=", "=?utf-8?Q?a?="},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = mime_words_decode(cases[i].value);
		const char *wanted = cases[i].text ? cases[i].text : cases[i].value;

		if (strcmp(text, wanted) != 0)
			fail_msg("\"%s\": \"%s\"", cases[i].value, text);
	}
}

/* Of readers who guess, and of such as join what is cut. */
static void test_lenient(void **state)
{
	static const struct {
		const char *value;
		const char *guessed;
		const char *joined;
	} lenient[] = {
		{"raw \xe9 " E, "raw " E " " E, "raw " E " " E},
		{"=?x-unknown?Q?a=E9=00?=", "a" E BAD, "a" E BAD},
		{"=?x-unknown?Q?a=C3=A9?=", "a" E, "a" E},
		{"=?utf-8?Q?a=E9?=", "a" E, "a" E},
		{"=??Q?a?=", "a", "a"},
		{"=?us-ascii?Q?a=E9?=", "a" BAD, "a" BAD},
		{"=?x-unknown?Q?a?= =?utf-8?Q?b?=", "ab", "ab"},
		{"=?"
		 "0123456789012345678901234567890123456789x?Q?a?=",
			"a", "a"},
		{"=?utf-8?Q?=4?= =?UTF-8?q?1?=", "=41", "A"},
		{"=?utf-8?Q?=4?= =?utf-8?b?MQ==?=", "=41", "=41"},
		{"=?utf-8?Q?=4?= =?x?Q?1?=", "=41", "=41"},
		{"=?utf-8?B?YWJj?= =?utf-8?b?ZGVm?=", "abcdef", "abcdef"},
		/* padding inside, and what is no base64 */
		{"=?utf-8?B?YWI=YWI=?=", "ab ab", "ab\x18X"},
		{"=?utf-8?B?YW=Jj?=", "a &", "abc"},
		{"=?utf-8?B?YW!J_j=?=", "abc", "abc"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lenient); i++) {
		_cleanup_free_ char *guessed = mime_words_read(
			lenient[i].value, &(struct mime_words_reading){0});
		_cleanup_free_ char *joined = mime_words_read(
			lenient[i].value, &(struct mime_words_reading){.joined = true});

		assert_string_equal(guessed, lenient[i].guessed);
		assert_string_equal(joined, lenient[i].joined);
	}
}

/* Of readers for whom a word may have a question mark. */
static void test_wide(void **state)
{
	static const struct {
		const char *value;
		const char *text;
	} wide[] = {
		{"=?utf-8?Q?a?= b", "a b"},
		{"=?utf-8?Q?a?b?\?= =?utf-8?Q?c?=", "a?b?c"},
		{"=?utf-8?B?YW?Jj?= d", "abc d"},
		{"=?utf-8?Q?a?b", "a?b"},
		{"=?utf-8?Q?a?= =?utf-8?Q?b?c", "ab?c"},
		{"=?utf-8?Q", "=?utf-8?Q"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wide); i++) {
		_cleanup_free_ char *text = mime_words_read(
			wide[i].value, &(struct mime_words_reading){.wide = true});

		assert_string_equal(text, wide[i].text);
	}
}

/* Of readers who part what others join. */
static void test_apart(void **state)
{
	static const struct {
		const char *value;
		const char *text;
	} apart[] = {
		{"=?utf-8?Q?a?=", "a"},
		{"=?utf-8?Q?a?=b", "a b"},
		{"b=?utf-8?Q?a?=", "b a"},
		{"b =?utf-8?Q?a?= b", "b a b"},
		{"=?utf-8?Q?a?= =?utf-8?Q?b?=", "a b"},
		{"=?utf-8?Q?a?==?utf-8?Q?b?=", "a b"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(apart); i++) {
		_cleanup_free_ char *text = mime_words_read(
			apart[i].value, &(struct mime_words_reading){.apart = true});

		assert_string_equal(text, apart[i].text);
	}
}

/* Of readers who know other charsets than this system. */
static void test_guessed_charset(void **state)
{
	static const struct {
		const char *value;
		const char *charset;
		bool everywhere;
		const char *text;
	} guessed[] = {
		{"=?x?Q?a+AEA-b?=", "UTF-7", false, "a@b"},
		{"=?x?Q?a?= =?utf-8?Q?+AEA-?=", "UTF-7", false, "a+AEA-"},
		{"=?utf-16?Q?=00a=00b?=", "UTF-16BE", false, "ab"},
		{"=?ibm273?Q?a=40b?=", "", false, "a@b"},
		{"=?x?Q?=81=97?=", "CP932", false, "\uff20"},
		{"\x81\x97", "CP932", true, "\uff20"},
		{"\x81\x97", "CP932", false, "\xc2\x81\xc2\x97"},
		{"\u00e9", "CP932", true, "\u00e9"},
		{"a\x1b$B!w\x1b(Bb", "ISO-2022-JP-2", true, "a\uff20b"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(guessed); i++) {
		_cleanup_free_ char *text = mime_words_read(
			guessed[i].value, &(struct mime_words_reading){
						  .charset = guessed[i].charset,
						  .everywhere = guessed[i].everywhere,
					  });

		assert_string_equal(text, guessed[i].text);
	}
}

static void test_doubtful(void **state)
{
	static const struct {
		const char *value;
		bool has_question;
	} values[] = {
		{"", false},
		{"a@x.com \u00e9", false},
		{"=?UTF-8?Q?a?= =?iso-8859-15*en?Q?a?= =?GB2312?B?YQ==?=", false},
		{"=?utf-8?Q?a?= =?utf-7?Q?a?=", true},
		{"=?x?Q?a?=", true},
		{"=??Q?a?=", true},
		{"\xe9", true},
		{"a\x1b(B", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		assert_int_equal(mime_words_doubtful(values[i].value), values[i].has_question);
}

/* Words that never end, and words without number, take no time to speak of. */
static void test_long(void **state)
{
	_cleanup_buf_ struct buf value = BUF_INIT;
	_cleanup_free_ char *text = NULL;

	(void)state;
	for (int i = 0; i < 200000; i++)
		buf_add_str(&value, "=?utf-8?Q?");
	for (int i = 0; i < 200000; i++)
		buf_add_str(&value, "=?utf-8?Q?a?= ");
	text = mime_words_decode(value.data);
	assert_int_equal(strlen(text), 10 * 200000 + 200000 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_lenient),
		cmocka_unit_test(test_wide),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_guessed_charset),
		cmocka_unit_test(test_doubtful),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
