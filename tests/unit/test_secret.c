/*
 * Tokens, tickets, hashes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"

static void test_tokens(void **state)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	char before[SECRET_TOKEN_SIZE] = "";

	(void)state;
	assert_int_equal(secret_init(), 0);
	for (int i = 0; i < 100; i++) {
		char token[SECRET_TOKEN_SIZE];

		secret_token(token);
		assert_int_equal(strlen(token), SECRET_TOKEN_SIZE - 1);
		assert_true(str_starts(token, "ps_"));
		assert_int_equal(strspn(token, alphabet), strlen(token));
		assert_string_not_equal(token, before);
		memcpy(before, token, sizeof(before));
	}
}

static void test_form_of_tokens(void **state)
{
#define WHOLE "abcdefghijklmnopqrstuvwxyz0123456789-_ABCDE"
	static const struct {
		const char *text;
		bool key, user;
	} cases[] = {
		{"ps_" WHOLE, true, false},
		{"pa_" WHOLE, false, true},
		{"PS_" WHOLE, false, false},
		{"ps_" WHOLE "F", false, false},
		{"ps_bcdefghijklmnopqrstuvwxyz0123456789-_ABCDE", false, false},
		{"ps_=bcdefghijklmnopqrstuvwxyz0123456789-_ABCDE", false, false},
		{"ps_", false, false},
		{"", false, false},
		{"   " WHOLE, false, false},
	};
	char token[SECRET_TOKEN_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *text = cases[i].text;

		assert_int_equal(secret_is_token(text, strlen(text)), cases[i].key);
		assert_int_equal(secret_is_user_token(text, strlen(text)), cases[i].user);
	}
	secret_token(token);
	assert_true(secret_is_token(token, strlen(token)));
	token[10] = '\0';
	assert_false(secret_is_token(token, sizeof(token) - 1));
	secret_user_token(token);
	assert_true(secret_is_user_token(token, strlen(token)));
}

static void test_tickets(void **state)
{
	char before[SECRET_TICKET_SIZE] = "";

	(void)state;
	for (int i = 0; i < 100; i++) {
		char ticket[SECRET_TICKET_SIZE];

		secret_ticket(ticket);
		assert_int_equal(strlen(ticket), SECRET_TICKET_SIZE - 1);
		assert_int_equal(strspn(ticket, "0123456789abcdef"), strlen(ticket));
		assert_string_not_equal(ticket, before);
		memcpy(before, ticket, sizeof(before));
	}
}

/* The vectors of FIPS 180-4. */
static void test_hash(void **state)
{
	static const struct {
		const char *text;
		const char *hex;
	} cases[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t hash[SECRET_HASH_LEN];
		char hex[2 * SECRET_HASH_LEN + 1];

		secret_hash(cases[i].text, strlen(cases[i].text), hash);
		for (size_t k = 0; k < SECRET_HASH_LEN; k++)
			snprintf(hex + 2 * k, 3, "%02x", hash[k]);
		assert_string_equal(hex, cases[i].hex);
	}
}

static void test_wipe(void **state)
{
	char text[] = "secret";

	(void)state;
	secret_wipe(text, sizeof(text));
	for (size_t i = 0; i < sizeof(text); i++)
		assert_int_equal(text[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_form_of_tokens),
		cmocka_unit_test(test_tickets),
		cmocka_unit_test(test_hash),
		cmocka_unit_test(test_wipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
