/* forwarded: whom X-Forwarded-For may name, and whom it does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/admission/credentials.h"

#define FOR "X-Forwarded-For: "
#define END "\r\n"

static void test_cases(void **state)
{
	static const struct {
		const char *proxies, *peer, *fields, *client;
	} cases[] = {
		/* Nobody is believed unless the settings say so. */
		{"", "127.0.0.1", FOR "192.0.2.1" END, "127.0.0.1"},
		{"10.0.0.1", "127.0.0.1", FOR "192.0.2.1" END, "127.0.0.1"},
		{"10.0.0.1", "unix", FOR "192.0.2.1" END, "unix"},
		{"127.0.0.1", "127.0.0.1", "", "127.0.0.1"},
		{"127.0.0.1", "127.0.0.1", FOR "192.0.2.1" END, "192.0.2.1"},
		{"unix", "unix", FOR "192.0.2.1" END, "192.0.2.1"},
		{"unix", "127.0.0.1", FOR "192.0.2.1" END, "127.0.0.1"},
		{"127.0.0.0/8", "::ffff:127.0.0.1", FOR "192.0.2.1" END, "192.0.2.1"},
		/* What the client says stands before what the proxy adds. */
		{"127.0.0.1", "127.0.0.1", FOR "198.51.100.1, 192.0.2.1" END, "192.0.2.1"},
		{"127.0.0.1", "127.0.0.1", FOR "198.51.100.1" END "x-forwarded-FOR:192.0.2.1" END,
			"192.0.2.1"},
		{"127.0.0.1", "127.0.0.1",
			FOR "192.0.2.1" END "Forwarded: for=198.51.100.1" END
			    "X-Real-IP: 198.51.100.2" END,
			"192.0.2.1"},
		/* Proxies behind proxies. */
		{"127.0.0.1 10.0.0.0/8", "127.0.0.1",
			FOR "198.51.100.1, 192.0.2.1, 10.1.2.3,10.0.0.2" END, "192.0.2.1"},
		{"127.0.0.1 10.0.0.0/8", "127.0.0.1", FOR "192.0.2.1" END FOR "10.1.2.3" END,
			"192.0.2.1"},
		{"127.0.0.1", "127.0.0.1", FOR "192.0.2.1, 10.1.2.3" END, "10.1.2.3"},
		{"127.0.0.1 10.0.0.0/8", "127.0.0.1", FOR "10.0.0.9" END, "10.0.0.9"},
		/* The end of what can be believed: the last proxy. */
		{"127.0.0.1 10.0.0.0/8", "127.0.0.1", FOR "192.0.2.1, unknown, 10.0.0.2" END,
			"10.0.0.2"},
		{"127.0.0.1", "127.0.0.1", FOR "unknown" END, "127.0.0.1"},
		{"127.0.0.1", "127.0.0.1", FOR END, "127.0.0.1"},
		{"127.0.0.1", "127.0.0.1", FOR "192.0.2.1," END, "127.0.0.1"},
		{"127.0.0.1", "127.0.0.1", FOR "192.0.2.1/8" END, "127.0.0.1"},
		{"127.0.0.1", "127.0.0.1", FOR "unix" END, "127.0.0.1"},
		{"127.0.0.1 unix", "127.0.0.1", FOR "9.9.9.9, unix" END, "127.0.0.1"},
		{"127.0.0.1", "127.0.0.1", FOR "192.0.2.300" END, "127.0.0.1"},
		{"127.0.0.1", "127.0.0.1", FOR "a\" b=c" END, "127.0.0.1"},
		/* Ways of writing one. */
		{"127.0.0.1", "127.0.0.1", FOR "192.0.2.1:4711" END, "192.0.2.1"},
		{"127.0.0.1", "127.0.0.1", FOR "2001:DB8:0::1" END, "2001:db8::1"},
		{"127.0.0.1", "127.0.0.1", FOR "[2001:db8::1]" END, "2001:db8::1"},
		{"127.0.0.1", "127.0.0.1", FOR "[2001:db8::1]:80" END, "2001:db8::1"},
		{"127.0.0.1", "127.0.0.1", FOR "::ffff:192.0.2.1" END, "192.0.2.1"},
		{"127.0.0.1", "127.0.0.1", FOR "[2001:db8::1" END, "127.0.0.1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		_cleanup_free_ char *text = mem_printf(
			"GET / HTTP/1.1\r\nHost: a\r\n%s\r\n", cases[i].fields);
		_cleanup_cidr_list_ struct cidr_list proxies = CIDR_LIST_INIT;
		char client[CIDR_TEXT_SIZE];
		struct http_fault fault;
		struct http_head head;

		assert_int_equal(http_head_parse(text, strlen(text), &head, &fault), 0);
		assert_int_equal(cidr_list_parse_peers(cases[i].proxies, &proxies, NULL), 0);
		forwarded_client(&head, &proxies, cases[i].peer, client);
		if (!str_eq(client, cases[i].client))
			fail_msg("%s %s: %s", cases[i].proxies, cases[i].fields, client);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};

	return cmocka_run_group_tests_name("forwarded", tests, NULL, NULL);
}
