/*
 * dkim: what receivers make of a record of a key.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/dns/dkim.h"
#include "core/dns/domain_dns.h"

static void test_records(void **state)
{
	static const struct {
		const char *text;
		enum dkim_record record;
		const char *key;
	} cases[] = {
		{"v=DKIM1; k=rsa; p=AAAB", DKIM_RECORD_KEY, "AAAB"},
		{"v=DKIM1;k=rsa;p=AAAB;", DKIM_RECORD_KEY, "AAAB"},
		{"p=AAAB", DKIM_RECORD_KEY, "AAAB"},
		{" v = DKIM1 ; p = AA \t AB == ", DKIM_RECORD_KEY, "AAAB"},
		{"v=DKIM1; h=sha1:sha256; s=*; p=AAAB", DKIM_RECORD_KEY, "AAAB"},
		{"v=DKIM1; s=other:email; t=y; n=note; p=AAAB", DKIM_RECORD_KEY, "AAAB"},
		{"v=DKIM1; x=unknown; p=AAAB", DKIM_RECORD_KEY, "AAAB"},
		{"v=DKIM1; p=", DKIM_RECORD_REVOKED, NULL},
		{"v=DKIM1; p= ;", DKIM_RECORD_REVOKED, NULL},
		{"v=DKIM1; k=rsa", DKIM_RECORD_INVALID, NULL},
		{"v=DKIM1; k=ed25519; p=AAAB", DKIM_RECORD_INVALID, NULL},
		{"v=DKIM1; h=sha1; p=AAAB", DKIM_RECORD_INVALID, NULL},
		{"v=DKIM1; s=other; p=AAAB", DKIM_RECORD_INVALID, NULL},
		{"k=rsa; v=DKIM1; p=AAAB", DKIM_RECORD_INVALID, NULL},
		{"v=DKIM1; p=AAAB; p=AAAC", DKIM_RECORD_INVALID, NULL},
		{"v=DKIM1; nonsense; p=AAAB", DKIM_RECORD_INVALID, NULL},
		{"v=DKIM2; p=AAAB", DKIM_RECORD_NONE, NULL},
		{"v=dkim1; p=AAAB", DKIM_RECORD_NONE, NULL},
		{"v=spf1 -all", DKIM_RECORD_NONE, NULL},
		{"hello", DKIM_RECORD_NONE, NULL},
		{"", DKIM_RECORD_NONE, NULL},
		{";;;", DKIM_RECORD_NONE, NULL},
		{"=", DKIM_RECORD_NONE, NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *key = NULL;
		enum dkim_record record = dkim_record_parse(cases[i].text, &key);

		if (record != cases[i].record)
			fail_msg("%s: %d", cases[i].text, record);
		if (cases[i].key)
			assert_string_equal(key, cases[i].key);
		else
			assert_null(key);
	}
}

static void test_many_tags(void **state)
{
	char text[1000] = "v=DKIM1; p=AAAB", other[1000] = "";
	_cleanup_free_ char *key = NULL;

	(void)state;
	for (int i = 0; i < 100; i++)
		strcat(text, "; a=b");
	assert_int_equal(dkim_record_parse(text, &key), DKIM_RECORD_INVALID);
	assert_null(key);
	/* Empty ones count, too. */
	for (int i = 0; i < 32; i++)
		snprintf(other + strlen(other), sizeof(other) - strlen(other), "a%d=1;", i);
	strcat(other, ";p=AAAB");
	assert_int_equal(dkim_record_parse(other, &key), DKIM_RECORD_INVALID);
	assert_null(key);
}

/* Without a resolver there is what is to be set, and nothing is told of it. */
static void test_records_to_set(void **state)
{
	_cleanup_dns_records_ struct dns_records records = {0};
	_cleanup_strv_ struct strv addresses = STRV_INIT;
	const struct dns_host host = {"mail.example.org", &addresses};
	const struct dkim_key_public keys[] = {{"s1", "AAAB", ""}, {"s2", "AAAC", "not yet"}};
	const struct dns_domain domain = {"example.com", "postern-domain=1", keys, 2};
	static const char *const wanted[][3] = {
		{"PROOF", "_postern.example.com", "postern-domain=1"},
		{"SPF", "example.com", "v=spf1 ip4:192.0.2.1 ip6:2001:db8::1 ~all"},
		{"DKIM", "s1._domainkey.example.com", "v=DKIM1; k=rsa; p=AAAB"},
		{"DKIM", "s2._domainkey.example.com", "v=DKIM1; k=rsa; p=AAAC"},
		{"DMARC", "_dmarc.example.com", "v=DMARC1; p=none"},
		{"MX", "example.com", "10 mail.example.org"},
	};

	(void)state;
	strv_add(&addresses, "192.0.2.1");
	strv_add(&addresses, "2001:db8::1");
	domain_dns_check(NULL, &domain, &host, &records);
	assert_int_equal(records.n, ARRAY_SIZE(wanted));
	for (size_t i = 0; i < records.n; i++) {
		assert_string_equal(records.items[i].kind, wanted[i][0]);
		assert_string_equal(records.items[i].name, wanted[i][1]);
		assert_string_equal(records.items[i].value, wanted[i][2]);
		assert_int_equal(records.items[i].status, DNS_STATUS_UNKNOWN);
	}
}

/* A name that only this host knows is in no record to publish. */
static void test_host_without_domain(void **state)
{
	static const struct {
		const char *helo, *spf, *mx;
	} cases[] = {
		{"vm", NULL, NULL},
		{"vm.", NULL, NULL},
		{"localhost.localdomain", NULL, NULL},
		{"vm.example.org", "v=spf1 a:vm.example.org ~all", "10 vm.example.org"},
	};
	static const struct dns_domain domain = {.name = "example.com"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_dns_records_ struct dns_records records = {0};
		_cleanup_strv_ struct strv addresses = STRV_INIT;
		const struct dns_host host = {cases[i].helo, &addresses};

		domain_dns_check(NULL, &domain, &host, &records);
		assert_int_equal(records.n, 3);
		if (cases[i].spf) {
			assert_string_equal(records.items[0].value, cases[i].spf);
			assert_string_equal(records.items[2].value, cases[i].mx);
		} else {
			assert_null(records.items[0].value);
			assert_null(records.items[2].value);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_many_tags),
		cmocka_unit_test(test_records_to_set),
		cmocka_unit_test(test_host_without_domain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
