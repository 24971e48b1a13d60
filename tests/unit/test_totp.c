/*
 * totp: codes as RFC 6238 has them, and recovery codes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/totp.h"

/* RFC 6238 appendix B, of its eight digits the last six. */
static const uint8_t secret[TOTP_SECRET_LEN] = {'1', '2', '3', '4', '5', '6', '7', '8', '9', '0',
	'1', '2', '3', '4', '5', '6', '7', '8', '9', '0'};

static void test_vectors(void **state)
{
	static const struct {
		int64_t time_s;
		const char *code;
	} cases[] = {
		{59, "287082"},
		{1111111109, "081804"},
		{1111111111, "050471"},
		{1234567890, "005924"},
		{2000000000, "279037"},
		{20000000000, "353130"},
	};
	char code[TOTP_CODE_SIZE];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int64_t step = cases[i].time_s / TOTP_STEP_S;
		int64_t now_us = cases[i].time_s * INT64_C(1000000);

		totp_code(secret, step, code);
		assert_string_equal(code, cases[i].code);
		assert_int_equal(totp_step_of(secret, code, now_us, 0), step);
		assert_int_equal(totp_step_of(secret, code, now_us, step), 0);
	}
}

static void test_what_is_no_code(void **state)
{
	static const char *const texts[] = {"", "28708", "2870822", "28708a", "٢٨٧٠٨٢",
		"287082 287082", "-287083", "abcd-efgh-ijkl-mnop"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(totp_step_of(secret, texts[i], 59 * 1000000, 0), 0);
	assert_int_equal(totp_step_of(secret, " 287 082 ", 59 * 1000000, 0), 1);
}

static void test_secret(void **state)
{
	uint8_t one[TOTP_SECRET_LEN], two[TOTP_SECRET_LEN];
	char text[TOTP_SECRET_TEXT_SIZE];

	(void)state;
	totp_secret_text(secret, text);
	assert_string_equal(text, "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
	totp_secret(one);
	totp_secret(two);
	assert_memory_not_equal(one, two, sizeof(one));
}

static void test_recovery(void **state)
{
	uint8_t hash[SECRET_HASH_LEN], again[SECRET_HASH_LEN];
	char code[TOTP_RECOVERY_SIZE], other[TOTP_RECOVERY_SIZE];

	(void)state;
	totp_recovery(code);
	totp_recovery(other);
	assert_string_not_equal(code, other);
	assert_int_equal(strspn(code, "abcdefghijklmnopqrstuvwxyz234567-"), sizeof(code) - 1);
	assert_true(totp_recovery_hash(code, hash));
	assert_true(totp_recovery_hash(other, again));
	assert_memory_not_equal(hash, again, sizeof(hash));
	assert_true(totp_recovery_hash("abcd-efgh-ijkl-mnop", hash));
	assert_true(totp_recovery_hash(" ABCDefgh ijklMNOP", again));
	assert_memory_equal(hash, again, sizeof(hash));
	assert_false(totp_recovery_hash("", hash));
	assert_false(totp_recovery_hash("287082", hash));
	assert_false(totp_recovery_hash("abcd-efgh-ijkl-mnopq", hash));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_what_is_no_code),
		cmocka_unit_test(test_secret),
		cmocka_unit_test(test_recovery),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
