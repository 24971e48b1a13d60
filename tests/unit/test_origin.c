/*
 * Where mail of a client comes from, by its address.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>

#include "core/base/mem.h"
#include "milter/session.h"

static struct sockaddr_storage peer_at(const char *address, uint16_t port)
{
	struct sockaddr_storage peer = {0};
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

	if (inet_pton(AF_INET, address, &in.sin_addr) == 1)
		memcpy(&peer, &in, sizeof(in));
	else if (inet_pton(AF_INET6, address, &in6.sin6_addr) == 1)
		memcpy(&peer, &in6, sizeof(in6));
	else
		peer.ss_family = AF_UNIX;
	return peer;
}

static enum mail_origin origin_at(const char *address, uint16_t port)
{
	struct sockaddr_storage peer = peer_at(address, port);
	struct cidr_list hosts;
	enum mail_origin origin;

	assert_int_equal(cidr_list_parse("10.0.0.0/8 [2001:db8::]/32", &hosts, NULL), 0);
	origin = origin_of((struct sockaddr *)&peer, &hosts);
	cidr_list_clear(&hosts);
	return origin;
}

static void test_addresses(void **state)
{
	static const struct {
		const char *address;
		uint16_t port;
		enum mail_origin origin;
	} cases[] = {
		{"127.0.0.1", 0, ORIGIN_LOCAL},
		{"127.0.0.1", 25000, ORIGIN_EXTERNAL},
		{"127.0.0.2", 0, ORIGIN_EXTERNAL},
		{"10.1.2.3", 0, ORIGIN_INTERNAL},
		{"10.1.2.3", 25000, ORIGIN_INTERNAL},
		{"11.1.2.3", 25000, ORIGIN_EXTERNAL},
		{"192.0.2.1", 0, ORIGIN_EXTERNAL},
		{"::1", 0, ORIGIN_EXTERNAL},
		{"2001:db8::1", 25000, ORIGIN_INTERNAL},
		{"2001:db9::1", 25000, ORIGIN_EXTERNAL},
		{"::ffff:10.1.2.3", 25000, ORIGIN_INTERNAL},
		{"a Unix-domain socket", 0, ORIGIN_INTERNAL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (origin_at(cases[i].address, cases[i].port) != cases[i].origin)
			fail_msg("%s port %u is not %s", cases[i].address, cases[i].port,
				origin_name(cases[i].origin));
}

static void test_no_address(void **state)
{
	const struct cidr_list nobody = CIDR_LIST_INIT;

	(void)state;
	assert_int_equal(origin_of(NULL, &nobody), ORIGIN_INTERNAL);
}

/* Mail from sendmail(1) is ours also where no host is internal. */
static void test_no_internal_hosts(void **state)
{
	const struct cidr_list nobody = CIDR_LIST_INIT;
	struct sockaddr_in in = {.sin_family = AF_INET};

	(void)state;
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(origin_of((struct sockaddr *)&in, &nobody), ORIGIN_LOCAL);
	in.sin_port = htons(1);
	assert_int_equal(origin_of((struct sockaddr *)&in, &nobody), ORIGIN_EXTERNAL);
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(origin_name(ORIGIN_LOCAL), "local");
	assert_string_equal(origin_name(ORIGIN_INTERNAL), "internal");
	assert_string_equal(origin_name(ORIGIN_LOGIN), "login");
	assert_string_equal(origin_name(ORIGIN_EXTERNAL), "external");
}

static void test_client(void **state)
{
	static const struct {
		const char *address;
		uint16_t port;
		const char *client; /* NULL: none */
	} cases[] = {
		{"127.0.0.1", 0, NULL},
		{"127.0.0.1", 25000, "127.0.0.1"},
		{"192.0.2.1", 0, "192.0.2.1"},
		{"2001:db8::1", 25000, "2001:db8::1"},
		{"a Unix-domain socket", 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sockaddr_storage peer = peer_at(cases[i].address, cases[i].port);
		char client[ORIGIN_CLIENT_SIZE];
		bool found = origin_client((struct sockaddr *)&peer, client);

		assert_int_equal(found, cases[i].client != NULL);
		if (found)
			assert_string_equal(client, cases[i].client);
	}
	assert_false(origin_client(NULL, (char[ORIGIN_CLIENT_SIZE]){0}));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_client),
		cmocka_unit_test(test_no_address),
		cmocka_unit_test(test_no_internal_hosts),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
