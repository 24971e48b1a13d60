/* idempotency_key: what is a key, and that it is all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "httpd/admission/credentials.h"

/* Reads the key of a request with these lines in its head. */
static int read_key(const char *lines, uint8_t hash[static SECRET_HASH_LEN])
{
	_cleanup_free_ char *text = mem_printf("POST /emails HTTP/1.1\r\nHost: x\r\n%s\r\n", lines);
	struct http_fault fault;
	struct http_head head;

	assert_int_equal(http_head_parse(text, strlen(text), &head, &fault), 0);
	return idempotency_key_read(&head, hash);
}

static void test_keys(void **state)
{
	static const struct {
		const char *lines;
		const char *key; /* NULL: none or a bad one */
		int result;
	} cases[] = {
		{"", NULL, 0},
		{"Idempotency-Keys: x\r\n", NULL, 0},
		{"Idempotency-Key: x\r\n", "x", 1},
		{"IDEMPOTENCY-key:\t a b \r\n", "a b", 1},
		{"Idempotency-Key: \xfc\xff\r\n", "\xfc\xff", 1},
		{"Idempotency-Key:\r\n", NULL, -1},
		{"Idempotency-Key: \t \r\n", NULL, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t hash[SECRET_HASH_LEN] = {0}, wanted[SECRET_HASH_LEN] = {0};

		if (cases[i].key)
			secret_hash(cases[i].key, strlen(cases[i].key), wanted);
		assert_int_equal(read_key(cases[i].lines, hash), cases[i].result);
		assert_memory_equal(hash, wanted, sizeof(hash));
	}
}

static void test_lengths(void **state)
{
	static const char *const characters[] = {"x", "é", "€", "😀", "\xe9"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(characters); i++) {
		_cleanup_buf_ struct buf lines = BUF_INIT;
		uint8_t hash[SECRET_HASH_LEN];

		buf_add_str(&lines, "Idempotency-Key: ");
		for (size_t n = 1; n <= IDEMPOTENCY_KEY_MAX + 1; n++) {
			_cleanup_free_ char *field = NULL;

			buf_add_str(&lines, characters[i]);
			field = mem_printf("%s\r\n", buf_str(&lines));
			assert_int_equal(read_key(field, hash), n <= IDEMPOTENCY_KEY_MAX ? 1 : -1);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
