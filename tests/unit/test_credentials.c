/* credentials: keys in Authorization fields, as clients write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/mem.h"
#include "httpd/admission/credentials.h"

static const struct {
	const char *value;  /* of the field; NULL: no field */
	const char *bearer; /* the key that is found; NULL: none */
	const char *basic;
} cases[] = {
	{NULL, NULL, NULL},
	{"", NULL, NULL},
	{"Bearer", NULL, NULL},
	{"Bearer ", NULL, NULL},
	{"Bearer ps_abc", "ps_abc", NULL},
	{"bearer ps_abc", "ps_abc", NULL},
	{"BEARER   ps_abc", "ps_abc", NULL},
	{"Bearerps_abc", NULL, NULL},
	{"Bearer\tps_abc", NULL, NULL},
	{"Token ps_abc", NULL, NULL},
	{"ps_abc", NULL, NULL},
	{"Basic YXBpOnBzX2FiYw==", NULL, "ps_abc"},
	{"basic YXBpOnBzX2FiYw", NULL, "ps_abc"},
	{"Basic YXBpOg==", NULL, NULL},         /* api: */
	{"Basic YXBpOmE6Yg==", NULL, "a:b"},    /* api:a:b */
	{"Basic QVBJOnBzX2FiYw==", NULL, NULL}, /* API:ps_abc */
	{"Basic a2V5OnBzX2FiYw==", NULL, NULL}, /* key:ps_abc */
	{"Basic OnBzX2FiYw==", NULL, NULL},     /* :ps_abc */
	{"Basic cHNfYWJj", NULL, NULL},         /* ps_abc */
	{"Basic !", NULL, NULL},
	{"Basic ", NULL, NULL},
};

static void check(const char *value, bool found, const struct buf *key, const char *expected)
{
	if (found != (expected != NULL) || (found && strcmp(buf_str(key), expected) != 0))
		fail_msg("%s: %d %s", value, found, buf_str(key));
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *value = cases[i].value;
		_cleanup_free_ char *text = mem_printf("GET / HTTP/1.1\r\nHost: a\r\n%s%s%s\r\n",
			value ? "Authorization: " : "", value ? value : "", value ? "\r\n" : "");
		_cleanup_buf_ struct buf bearer = BUF_INIT;
		_cleanup_buf_ struct buf basic = BUF_INIT;
		struct http_fault fault;
		struct http_head head;

		assert_int_equal(http_head_parse(text, strlen(text), &head, &fault), 0);
		check(value, credentials_bearer(&head, &bearer), &bearer, cases[i].bearer);
		check(value, credentials_basic(&head, &basic), &basic, cases[i].basic);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};

	return cmocka_run_group_tests_name("credentials", tests, NULL, NULL);
}
