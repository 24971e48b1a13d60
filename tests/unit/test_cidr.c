/*
 * Lists of networks: what is in them, what is refused.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>

#include "core/base/cidr.h"
#include "core/base/mem.h"

static bool has(const char *networks, const char *address)
{
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;
	union {
		struct sockaddr any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} peer = {.any.sa_family = AF_INET};
	struct err err = ERR_INIT;

	if (cidr_list_parse(networks, &list, &err) < 0)
		fail_msg("%s: %s", networks, err.text);
	if (inet_pton(AF_INET, address, &peer.in.sin_addr) == 1)
		return cidr_list_has(&list, &peer.any);
	peer.in6 = (struct sockaddr_in6){.sin6_family = AF_INET6};
	assert_int_equal(inet_pton(AF_INET6, address, &peer.in6.sin6_addr), 1);
	return cidr_list_has(&list, &peer.any);
}

static void test_membership(void **state)
{
	static const struct {
		const char *networks;
		const char *address;
		bool in;
	} cases[] = {
		{"", "127.0.0.1", false},
		{" , ", "127.0.0.1", false},
		{"127.0.0.0/8", "127.0.0.1", true},
		{"127.0.0.0/8", "127.255.255.255", true},
		{"127.0.0.0/8", "128.0.0.0", false},
		{"127.0.0.0/8", "126.255.255.255", false},
		{"10.1.2.3", "10.1.2.3", true},
		{"10.1.2.3", "10.1.2.4", false},
		{"10.1.2.3/32", "10.1.2.3", true},
		{"10.1.2.2/31", "10.1.2.3", true},
		{"10.1.2.2/31", "10.1.2.4", false},
		{"172.16.0.0/12", "172.31.255.255", true},
		{"172.16.0.0/12", "172.32.0.0", false},
		{"0.0.0.0/0", "203.0.113.9", true},
		{"0.0.0.0/0", "::1", false},
		{"::/0", "2001:db8::1", true},
		{"::/0", "10.0.0.1", false},
		{"::/0", "::ffff:10.0.0.1", false},
		{"[::1]/128", "::1", true},
		{"[::1]", "::1", true},
		{"::1", "::1", true},
		{"::1", "::2", false},
		{"[2001:db8::]/33", "2001:db8:7fff::1", true},
		{"[2001:db8::]/33", "2001:db8:8000::1", false},
		{"10.0.0.0/8", "::ffff:10.9.9.9", true},
		{"10.0.0.0/8", "::ffff:11.9.9.9", false},
		{"::ffff:10.0.0.0/104", "10.9.9.9", true},
		{"::ffff:10.0.0.0/104", "::ffff:10.9.9.9", true},
		{"::ffff:0:0/96", "203.0.113.9", true},
		{"10.0.0.1", "::a00:1", false},
		{"127.0.0.0/8 [::1]/128 10.1.2.3", "10.1.2.3", true},
		{"127.0.0.0/8 [::1]/128 10.1.2.3", "::1", true},
		{"127.0.0.0/8,[::1]/128 ,\t10.1.2.3,", "10.1.2.3", true},
		{"127.0.0.0/8\n10.1.2.3", "10.1.2.3", true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (has(cases[i].networks, cases[i].address) != cases[i].in)
			fail_msg("%s in \"%s\": not %d", cases[i].address, cases[i].networks,
				cases[i].in);
}

/* What is excepted is not in the list, whatever the order; other lists have no
 * exceptions. */
static void test_exceptions(void **state)
{
	static const char text[] = "!10.9.0.0/16 10.0.0.0/8, ::/0 !2001:db8::/32 192.0.2.1";
	static const struct {
		const char *address;
		bool in;
		const char *network;
		bool named;
	} cases[] = {
		{"10.8.255.255", true, "10.8.0.0/16", true},
		{"10.9.0.1", false, "10.9.1.0/24", true},
		{"::ffff:10.9.0.1", false, "11.0.0.0/8", false},
		{"2001:db8::1", false, "2001:db8::/48", true},
		{"2001:db9::1", true, "0.0.0.0/0", false},
		{"192.0.2.1", true, "192.0.2.0/31", false},
	};
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(cidr_list_parse_excepting(text, &list, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_cidr_list_ struct cidr_list one = CIDR_LIST_INIT;

		assert_int_equal(cidr_list_parse(cases[i].network, &one, NULL), 0);
		if (cidr_list_has_text(&list, cases[i].address) != cases[i].in ||
			cidr_list_names(&list, &one.items[0]) != cases[i].named)
			fail_msg("%s, %s", cases[i].address, cases[i].network);
	}
	assert_int_equal(cidr_list_parse_excepting("10.0.0.0/8 !here", &list, &err), -1);
	assert_non_null(strstr(err.text, "\"!here\": it is no IPv4"));
	assert_int_equal(cidr_list_parse("!10.0.0.0/8", &list, NULL), -1);
	assert_int_equal(cidr_list_parse_peers("!10.0.0.0/8", &list, NULL), -1);
}

static void test_faults(void **state)
{
	/* The faulty item of each list. */
	static const struct {
		const char *networks;
		const char *item;
		const char *why;
	} cases[] = {
		{"localhost", "\"localhost\"", "no IPv4 or IPv6"},
		{"::1 10.0.0", "\"10.0.0\"", "no IPv4 or IPv6"},
		{"10.0.0.0/33", "\"10.0.0.0/33\"", "0 to 32"},
		{"10.0.0.0/-1", "\"10.0.0.0/-1\"", "0 to 32"},
		{"10.0.0.0/", "\"10.0.0.0/\"", "0 to 32"},
		{"10.0.0.0/8/8", "\"10.0.0.0/8/8\"", "0 to 32"},
		{"10.0.0.0/8 ::/129", "\"::/129\"", "0 to 128"},
		{"10.0.0.1/8", "\"10.0.0.1/8\"", "bits set"},
		{"10.0.0.2/30", "\"10.0.0.2/30\"", "bits set"},
		{"2001:db8::1/64", "\"2001:db8::1/64\"", "bits set"},
		{"[10.0.0.1]", "\"[10.0.0.1]\"", "no IPv4 or IPv6"},
		{"[::1", "\"[::1\"", "no IPv4 or IPv6"},
		{"[::1/128]", "\"[::1/128]\"", "no IPv4 or IPv6"},
		{"::1]", "\"::1]\"", "no IPv4 or IPv6"},
		{"[]", "\"[]\"", "no IPv4 or IPv6"},
		{"[", "\"[\"", "no IPv4 or IPv6"},
		{"/8", "\"/8\"", "no IPv4 or IPv6"},
		{"10.0.0.1;10.0.0.2", "\"10.0.0.1;10.0.0.2\"", "no IPv4"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cidr_list list = {.n = 77};
		struct err err = ERR_INIT;

		assert_int_equal(cidr_list_parse(cases[i].networks, &list, &err), -1);
		assert_int_equal(err.code, ERR_CONFIG);
		assert_int_equal(list.n, 77);
		if (!strstr(err.text, cases[i].item) || !strstr(err.text, cases[i].why))
			fail_msg("\"%s\": %s", cases[i].networks, err.text);
	}
}

static void test_other_peers(void **state)
{
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;
	const struct sockaddr_un local = {.sun_family = AF_UNIX};

	(void)state;
	assert_int_equal(cidr_list_parse("0.0.0.0/0 ::/0", &list, NULL), 0);
	assert_int_equal(list.n, 2);
	assert_false(cidr_list_has(&list, (const struct sockaddr *)&local));
	assert_false(cidr_list_has(&list, NULL));
}

static void test_texts(void **state)
{
	static const struct {
		const char *address;
		bool inside;
	} cases[] = {
		{"10.1.2.3", true},
		{"[10.1.2.3]", false},
		{"::ffff:10.1.2.3", true},
		{"2001:db8::1", true},
		{"[2001:db8::1]", true},
		{"11.1.2.3", false},
		{"2001:db9::1", false},
		{"10.1.2.3/32", false},
		{"10.0.0.0/8", false},
		{"10.1.2", false},
		{"unknown", false},
		{"", false},
		{NULL, false},
	};
	_cleanup_cidr_list_ struct cidr_list list = CIDR_LIST_INIT;

	(void)state;
	assert_int_equal(cidr_list_parse("10.0.0.0/8 2001:db8::/32", &list, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (cidr_list_has_text(&list, cases[i].address) != cases[i].inside)
			fail_msg("%zu", i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_membership),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_faults),
		cmocka_unit_test(test_other_peers),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
