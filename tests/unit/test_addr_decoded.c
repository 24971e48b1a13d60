/*
 * addr_decoded: what programs could show for a value.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/address/addr_reading.h"

/* Each text is there, and when only says so, no other one. */
static void test_texts(void **state)
{
	static const struct {
		const char *value;
		const char *texts[3];
		bool only;
	} cases[] = {
		{"", {""}, true},
		{"a@x.com", {"a@x.com"}, true},
		{"\"J\u00f6rg\" \\", {"\"J\u00f6rg\" \\"}, true},
		{"=?utf-8?q?a=40x?=", {"a@x"}, true},
		{"=?utf-8?q?=3D=3Futf-8=3Fq=3Fa=3F=3D?=", {"=?utf-8?q?a?=", "a"}, true},
		{"=?utf-8?q?a?b?=", {"=?utf-8?q?a?b?=", "a?b"}, true},
		{"=?utf-8?q?=4?= =?utf-8?q?0?=", {"=40", "@", "=4 0"}, true},
		{"=?utf-8?q?a?=b", {"ab", "a b"}, true},
		{"\"=\\?utf-8?q?a?=\"", {"\"=\\?utf-8?q?a?=\"", "a"}, true},
		{"=?x?q?a+AEA-?=", {"a+AEA-", "a@"}, false},
		{"\xa3\xc0", {"\u00a3\u00c0", "\uff20"}, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strv_ struct strv texts = STRV_INIT;
		size_t n = 0;

		addr_reading_decode(&texts, cases[i].value);
		for (; n < 3 && cases[i].texts[n]; n++)
			if (!strv_has(&texts, cases[i].texts[n]))
				fail_msg("%s: no %s", cases[i].value, cases[i].texts[n]);
		if (cases[i].only && texts.n != n)
			fail_msg("%s: %zu texts", cases[i].value, texts.n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
