/* return_path: tokens that are found again, and those that are none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/policy/return_path.h"

#define ID    "26fbf7fd-d756-4004-98ba-63ab6c5a2230"
#define NONCE "0123456789abcdef0123456789abcdef"

static int setup(void **state)
{
	(void)state;
	return secret_init();
}

static char *made(enum return_use use)
{
	char token[RETURN_TOKEN_SIZE];

	assert_true(return_token_make(use, ID, NONCE, token));
	return return_address(use, token, "bounces.example.com");
}

static void finds_its_own(void **state)
{
	_cleanup_free_ char *address = made(RETURN_BOUNCE);
	_cleanup_free_ char *list = mem_printf("<mailto:x+y@z>, b+x, <%s>", address);
	_cleanup_free_ char *upper = mem_strdup(address);
	struct return_token token;

	(void)state;
	for (char *p = upper; *p; p++)
		if (*p >= 'a' && *p <= 'z')
			*p = (char)(*p - 'a' + 'A');
	for (int i = 0; i < 3; i++) {
		memset(&token, 0, sizeof(token));
		assert_true(return_token_find((const char *[]){address, list, upper}[i], &token));
		assert_string_equal(token.id, ID);
		assert_int_equal(token.use, RETURN_BOUNCE);
		assert_true(return_token_is(&token, NONCE));
	}
	/* The local part has 64 bytes at most (RFC 5321 4.5.3.1.1). */
	assert_true(strchr(address, '@') - address <= 64);
}

static void knows_no_other(void **state)
{
	_cleanup_free_ char *address = made(RETURN_BOUNCE);
	_cleanup_free_ char *other_use = made(RETURN_UNSUBSCRIBE);
	struct return_token token;

	(void)state;
	assert_string_not_equal(strchr(address, '+'), strchr(other_use, '+'));
	assert_true(return_token_find(address, &token));
	assert_false(return_token_is(&token, "1123456789abcdef0123456789abcdef"));
	assert_false(return_token_is(&token, ""));
	token.use = RETURN_UNSUBSCRIBE;
	assert_false(return_token_is(&token, NONCE));
	/* Each letter counts. */
	for (size_t i = 2; i < 2 + RETURN_TOKEN_SIZE - 1; i++) {
		_cleanup_free_ char *changed = mem_strdup(address);

		changed[i] = changed[i] == 'a' ? 'b' : 'a';
		if (return_token_find(changed, &token))
			assert_false(return_token_is(&token, NONCE));
	}
}

static void leaves_others_alone(void **state)
{
	static const char *const texts[] = {"", "b+", "+", "b+@x", "b+abc@x", "c+a",
		"b+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1@x",
		"b+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa@x",
		"b+aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	char made_token[RETURN_TOKEN_SIZE];
	struct return_token token;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(return_token_find(texts[i], &token));
	assert_false(return_token_make(RETURN_BOUNCE, ID, "", made_token));
	assert_false(return_token_make(RETURN_BOUNCE, "x", NONCE, made_token));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_its_own),
		cmocka_unit_test(knows_no_other),
		cmocka_unit_test(leaves_others_alone),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
