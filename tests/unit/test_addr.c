/*
 * addr: which mailboxes and domains are read, and how.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/buf.h"
#include "core/address/addr.h"
#include "core/address/addr_header.h"

#define X10 "xxxxxxxxxx"
#define X60 X10 X10 X10 X10 X10 X10
#define L63 X60 "xxx"
/* 253 bytes */
#define LONG_DOMAIN L63 "." L63 "." L63 "." X60 "x"

static void test_good(void **state)
{
	static const struct {
		const char *text, *name, *spec;
	} cases[] = {
		{"a@example.com", "", "a@example.com"},
		{"  a@example.com\t", "", "a@example.com"},
		{"<a@example.com>", "", "a@example.com"},
		{"Ann <a@example.com>", "Ann", "a@example.com"},
		{"Ann<a@example.com>", "Ann", "a@example.com"},
		{"A@EXAMPLE.Com", "", "A@example.com"},
		{"-f@example.com", "", "-f@example.com"},
		{"a.b+c=d/e{f}@x-y.example.com", "", "a.b+c=d/e{f}@x-y.example.com"},
		{"!#$%&'*+-/=?^_`{|}~@example.com", "", "!#$%&'*+-/=?^_`{|}~@example.com"},
		{"\"a b\"@example.com", "", "\"a b\"@example.com"},
		{"\"a@b\"@example.com", "", "\"a@b\"@example.com"},
		{"\"a\\\"b\"@example.com", "", "\"a\\\"b\"@example.com"},
		{"\"a\\\\b\"@example.com", "", "\"a\\\\b\"@example.com"},
		/* backslashes and quotes that nothing needs */
		{"\"a\\b\"@example.com", "", "ab@example.com"},
		{"\"a b\\ c\"@example.com", "", "\"a b c\"@example.com"},
		{"\"a\\@b\"@example.com", "", "\"a@b\"@example.com"},
		{"\"\\a\\\"\"@example.com", "", "\"a\\\"\"@example.com"},
		{"\"a\\.b\"@example.com", "", "a.b@example.com"},
		{"\"a.\\.b\"@example.com", "", "\"a..b\"@example.com"},
		{"\"\\ü\"@example.com", "", "ü@example.com"},
		{"\"" X60 "\\x\\x\\x\\x\"@example.com", "", X60 "xxxx@example.com"},
		{"X <\"a>b\"@example.com>", "X", "\"a>b\"@example.com"},
		{"\"<\"@example.com", "", "\"<\"@example.com"},
		{X60 "xxxx@example.com", "", X60 "xxxx@example.com"},
		{"a@" LONG_DOMAIN, "", "a@" LONG_DOMAIN},
		{"a@" L63 ".example", "", "a@" L63 ".example"},
		{"a@1.example", "", "a@1.example"},
		{"a@r3---x.example.com", "", "a@r3---x.example.com"},
		/* names */
		{"\"Doe, John\" <a@example.com>", "Doe, John", "a@example.com"},
		{"Doe, John <a@example.com>", "Doe, John", "a@example.com"},
		{"Acme (Support) <a@example.com>", "Acme (Support)", "a@example.com"},
		{"Dr. X. Y <a@example.com>", "Dr. X. Y", "a@example.com"},
		{"\"Ann \\\"A\\\" \\\\ B\" <a@example.com>", "Ann \"A\" \\ B", "a@example.com"},
		{"AC\\DC <a@example.com>", "AC\\DC", "a@example.com"},
		{"\"Ann\" B \"C D\" <a@example.com>", "Ann B C D", "a@example.com"},
		{"\"\" <a@example.com>", "", "a@example.com"},
		{"Ann \t  Lee <a@example.com>", "Ann Lee", "a@example.com"},
		{"a@example.com <a@example.com>", "a@example.com", "a@example.com"},
		{"\"a@x.com, b\" <c@example.com>", "a@x.com, b", "c@example.com"},
		{"x > y <a@example.com>", "x > y", "a@example.com"},
		{"\"<b@y.com>\" <a@example.com>", "<b@y.com>", "a@example.com"},
		/* UTF-8 */
		{"Zoë Müller <a@example.com>", "Zoë Müller", "a@example.com"},
		{"日本語 <a@example.com>", "日本語", "a@example.com"},
		{"\"😀\" <a@example.com>", "😀", "a@example.com"},
		{"jörg@example.com", "", "jörg@example.com"},
		{"用户@例子.广告", "", "用户@xn--fsqu00a.xn--4rr70v"},
		{"a@bücher.example", "", "a@xn--bcher-kva.example"},
		{"a@BÜCHER.Example", "", "a@xn--bcher-kva.example"},
		{"a@faß.example", "", "a@xn--fa-hia.example"},
		{"a@XN--BCHER-KVA.example", "", "a@xn--bcher-kva.example"},
		{"a@xn--n3h.example", "", "a@xn--n3h.example"},
		{"a@日本。example", "", "a@xn--wgv71a.example"},
		/* encoded words in names */
		{"=?utf-8?q?Zo=C3=AB?= <a@example.com>", "Zoë", "a@example.com"},
		{"=?UTF-8?B?5pel5pys?= =?utf-8?b?6Kqe?= <a@example.com>", "日本語",
			"a@example.com"},
		{"=?iso-8859-1?q?caf=E9?= bar <a@example.com>", "café bar", "a@example.com"},
		{"=?utf-8?b?Wm8=?= =?utf-8?b?w6s=?= <a@example.com>", "Zoë", "a@example.com"},
		{"\"=?utf-8?q?Zo=C3=AB?=\" <a@example.com>", "Zoë", "a@example.com"},
		{"=?utf-8?q?a=40b.com=2C?= <a@example.com>", "a@b.com,", "a@example.com"},
		{"=?utf-8?q?=3Cb=40y.com=3E?= <a@example.com>", "<b@y.com>", "a@example.com"},
		{"=? <a@example.com>", "=?", "a@example.com"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_addr_ struct addr addr = {0};
		_cleanup_free_ char *spec = NULL;
		struct err err = ERR_INIT;

		if (addr_parse(cases[i].text, &addr, &err) < 0)
			fail_msg("%s: %s", cases[i].text, err.text);
		spec = addr_spec(&addr);
		if (strcmp(addr.name, cases[i].name) != 0 || strcmp(spec, cases[i].spec) != 0)
			fail_msg("%s: [%s] [%s]", cases[i].text, addr.name, spec);
	}
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"", "the address is empty"},
		{"  ", "the address is empty"},
		{"<>", "the address is empty"},
		{"Ann <>", "the address is empty"},
		{"Ann", "it has no @"},
		{"Ann <a>", "it has no @"},
		{"@example.com", "nothing stands before the @"},
		{"\"\"@example.com", "nothing stands before the @"},
		{"<@example.com>", "nothing stands before the @"},
		{"a@", "it is empty"},
		{"a@localhost", "it has no dot"},
		{"a@example", "it has no dot"},
		{"a@[127.0.0.1]", "no domain name has"},
		{"a@127.0.0.1", "its last part is a number"},
		{"a@example.com.", "ends with a dot"},
		{"a@.example.com", "a part between dots is empty"},
		{"a@example..com", "a part between dots is empty"},
		{"a@-x.com", "a hyphen"},
		{"a@x-.com", "a hyphen"},
		{"a@x_y.com", "no domain name has"},
		{"a@b@example.com", "no domain name has"},
		{"a@exam ple.com", "no domain name has"},
		{"a@example.com/x", "no domain name has"},
		{"a@" L63 "x.com", "longer than 63"},
		{"a@x" LONG_DOMAIN, "longer than 253"},
		{"a@y." LONG_DOMAIN, "longer than 253"},
		{"a@xn--.com", "a hyphen"},
		{"a@bücher.xn--n3h.com", "IDNA"},
		{"a@☃☃\xe2\x80\x9d.com", "IDNA"},
		{".a@example.com", "begins or ends with a dot"},
		{"a.@example.com", "begins or ends with a dot"},
		{"a..b@example.com", "two dots"},
		{"a b@example.com", "needs quotes"},
		{"a(b)@example.com", "needs quotes"},
		{"a,b@example.com", "needs quotes"},
		{"< a@example.com>", "needs quotes"},
		{"<a@example.com >", "no domain name has"},
		{"\"a\"b@example.com", "needs quotes"},
		{"\"a@example.com", "a quote is not closed"},
		{"\"Ann <a@example.com>", "a quote is not closed"},
		{"\"a\\", "a quote is not closed"},
		{"\"a\tb\"@example.com", "a tab"},
		{"\"a\\\tb\"@example.com", "a tab"},
		{"\"@a:b\"@example.com", "begins with another @"},
		{"\"\\@a\"@example.com", "begins with another @"},
		{"\"" X60 "xxxxx\"@example.com", "longer than 64"},
		{"\"" X60 "xx x\"@example.com", "longer than 64"},
		{X60 "xxxxx@example.com", "longer than 64"},
		{"<a@example.com", "the closing > is missing"},
		{"Ann > <a@example.com", "the closing > is missing"},
		{"<a@example.com> junk", "behind the closing >"},
		{"<a@example.com>,", "behind the closing >"},
		{"<a@example.com>>", "no domain name has"},
		{"a <b <c@example.com>", "needs quotes"},
		{"a@example.com,", "more than one address"},
		{"a@example.com, b@example.com", "more than one address"},
		{"a@x.com, B <b@example.com>", "more than one address"},
		{"a@x.com; B <b@example.com>", "more than one address"},
		{"A <a@x.com>, B <b@example.com>", "more than one address"},
		{"G: a@example.com;", "needs quotes"},
		{"G: A <a@example.com>;", "behind the closing >"},
		{"a@example.com\r\nBcc: b@example.com", "line break"},
		{"a\n@example.com", "line break"},
		{"Ann\r <a@example.com>", "line break"},
		{"Ann\x7f <a@example.com>", "control"},
		{"Ann\xc2\x85 <a@example.com>", "control"},
		{"Ann\xff <a@example.com>", "UTF-8"},
		{"a\xc0\xaf@example.com", "UTF-8"},
		{"=?utf-8?q?a=0D=0ABcc:_b?= <a@example.com>", "encoded word"},
		{"=?utf-8?q?=3D=3Futf-8=3Fq=3Fx=3F=3D?= <a@example.com>", "encoded more than once"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct addr addr = {.name = (char *)"untouched"};
		struct err err = ERR_INIT;

		if (addr_parse(cases[i].text, &addr, &err) == 0)
			fail_msg("accepted: %s", cases[i].text);
		assert_int_equal(err.code, ERR_INVALID);
		assert_string_equal(addr.name, "untouched");
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("%s: %s", cases[i].text, err.text);
		assert_null(strpbrk(err.text, "\r\n"));
		assert_int_equal(addr_parse(cases[i].text, &addr, NULL), -1);
	}
}

/* What is stored is read again later: it must give the same mailbox. */
static void test_format(void **state)
{
	static const struct {
		const char *text, *formatted;
	} cases[] = {
		{"a@example.com", "a@example.com"},
		{"<a@Example.com>", "a@example.com"},
		{"Ann Lee <a@example.com>", "Ann Lee <a@example.com>"},
		{"\"Doe, John\" <a@example.com>", "Doe, John <a@example.com>"},
		{"=?utf-8?q?Zo=C3=AB?= <a@example.com>", "Zoë <a@example.com>"},
		{"\"A \\\"B\\\" \\\\\" <a@example.com>", "\"A \\\"B\\\" \\\\\" <a@example.com>"},
		{"AC\\DC <a@example.com>", "AC\\DC <a@example.com>"},
		{"\"<b@y.com>\" <a@example.com>", "\"<b@y.com>\" <a@example.com>"},
		{"\"b@y.com, c\" <a@example.com>", "\"b@y.com, c\" <a@example.com>"},
		{"\"b@y.com; c\" <a@example.com>", "\"b@y.com; c\" <a@example.com>"},
		{"\"b@y.com\" <a@example.com>", "b@y.com <a@example.com>"},
		{"\"a b\"@example.com", "\"a b\"@example.com"},
		{"jörg@bücher.example", "jörg@xn--bcher-kva.example"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_addr_ struct addr first = {0};
		_cleanup_addr_ struct addr second = {0};
		_cleanup_free_ char *text = NULL;

		assert_int_equal(addr_parse(cases[i].text, &first, NULL), 0);
		text = addr_format(&first);
		assert_string_equal(text, cases[i].formatted);
		assert_int_equal(addr_parse(text, &second, NULL), 0);
		assert_string_equal(second.name, first.name);
		assert_string_equal(second.local, first.local);
		assert_string_equal(second.domain, first.domain);
	}
}

static void test_equal(void **state)
{
	static const struct {
		const char *other;
		bool equal;
	} cases[] = {
		{"a@b.cd", true},
		{"Ann <a@B.CD>", true},
		{"A@b.cd", false},
		{"a@b.ce", false},
		{"aa@b.cd", false},
	};
	_cleanup_addr_ struct addr addr = {0};

	(void)state;
	assert_int_equal(addr_parse("a@b.cd", &addr, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_addr_ struct addr other = {0};

		assert_int_equal(addr_parse(cases[i].other, &other, NULL), 0);
		assert_int_equal(addr_equal(&addr, &other), cases[i].equal);
	}
}

static void test_split(void **state)
{
	static const struct {
		const char *text;
		const char *joined; /* by |; NULL: refused */
	} cases[] = {
		{"", ""},
		{" \t ", ""},
		{"a@x.com", "a@x.com"},
		{"a@x.com,b@x.com", "a@x.com|b@x.com"},
		{" a@X.com , B <b@x.com> ", "a@x.com|B <b@x.com>"},
		{"\"Doe, J\" <a@x.com>, b@x.com", "Doe, J <a@x.com>|b@x.com"},
		{"\"a,b\"@x.com,c@x.com", "\"a,b\"@x.com|c@x.com"},
		{"<\"a,b\"@x.com>,c@x.com", "\"a,b\"@x.com|c@x.com"},
		{"\"a\\\",b\" <a@x.com>,c@x.com", "\"a\\\",b\" <a@x.com>|c@x.com"},
		{"Zoë <z@x.com>, 日本 <n@x.com>", "Zoë <z@x.com>|日本 <n@x.com>"},
		{"a@x.com,", NULL},
		{",a@x.com", NULL},
		{"a@x.com,,b@x.com", NULL},
		{",", NULL},
		{"a@x.com b@x.com", NULL},
		{"a@x.com;b@x.com", NULL},
		{"a@x.com,b", NULL},
		{"Doe, J <a@x.com>", NULL},
		{"a@x.com,\nb@x.com", NULL},
		{"a@x.com\n", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_addr_list_ struct addr_list list = {0};
		_cleanup_strv_ struct strv texts = STRV_INIT;
		_cleanup_free_ char *joined = NULL;
		struct err err = ERR_INIT;
		int result;

		assert_int_equal(addr_parse("here@x.com", addr_list_add(&list), &err), 0);
		result = addr_list_parse(cases[i].text, &list, &err);
		assert_int_equal(result, cases[i].joined ? 0 : -1);
		assert_int_equal(err.code, result ? ERR_INVALID : ERR_NONE);
		assert_string_equal(list.items[0].local, "here");
		for (size_t k = 1; k < list.n; k++)
			strv_take(&texts, addr_format(&list.items[k]));
		joined = strv_join(&texts, "|");
		assert_string_equal(joined, cases[i].joined ? cases[i].joined : "");
	}
}

static void test_domain(void **state)
{
	static const struct {
		const char *text, *domain;
	} cases[] = {
		{"example.com", "example.com"},
		{"EXAMPLE.com.", "example.com"},
		{"bücher.example", "xn--bcher-kva.example"},
		{"bu\xcc\x88"
		 "cher.example",
			"xn--bcher-kva.example"},
		{"BÜCHER。example。", "xn--bcher-kva.example"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"xn--I-7IQ.ws", "xn--i-7iq.ws"},
		{"xn--a.com", "xn--a.com"},
		{"ex\xe2\x80\x8b"
		 "ample.com",
			"example.com"},
		{"ｅｘ.com", "ex.com"},
		{LONG_DOMAIN ".", LONG_DOMAIN},
		{"", NULL},
		{".", NULL},
		{"..", NULL},
		{"com", NULL},
		{"com.", NULL},
		{"a..b", NULL},
		{"a.b..", NULL},
		{"a b.com", NULL},
		{"a\n.com", NULL},
		{"a.com\n", NULL},
		{"10.0.0.1", NULL},
		{"é\xff.com", NULL},
		{"é.b com", NULL},
		{"é@b.com", NULL},
		{"xn--.com", NULL},
		{"x" LONG_DOMAIN, NULL},
		{"*.example.com", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *domain = NULL;
		struct err err = ERR_INIT;
		int result = addr_domain_normalize(cases[i].text, &domain, &err);

		if (result != (cases[i].domain ? 0 : -1))
			fail_msg("%s: %s", cases[i].text, err.text);
		if (cases[i].domain == NULL)
			assert_int_equal(err.code, ERR_INVALID);
		else
			assert_string_equal(domain, cases[i].domain);
	}
}

static void test_domain_too_long(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	char *domain = NULL;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_add_str(&text, "é.");
	assert_int_equal(addr_domain_normalize(text.data, &domain, NULL), -1);
	assert_null(domain);
}

/* The strict readers on pieces of addresses put together at random: whatever is
 * accepted reads back, and the header reader finds it too. (tests/fuzz has that
 * one read the rest.) */
static void test_random(void **state)
{
	static const char *const pieces[] = {"a", "b.c", "@", "@x.com", ".", "<", ">", "\"", "\\",
		" ", ",", "é", "ü.de", "(", ")", ":", "=?utf-8?q?", "=40", "?=", "\t", "\r\n", "[",
		"\xff"};
	uint32_t random = 1;
	int accepted = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		char text[160] = "";
		_cleanup_addr_ struct addr addr = {0};
		_cleanup_addr_ struct addr again = {0};
		_cleanup_addr_list_ struct addr_list list = {0};
		_cleanup_addr_header_ struct addr_header header = {0};
		_cleanup_free_ char *formatted = NULL;

		for (int n = i % 5; n >= 0; n--) {
			random = random * 1664525 + 1013904223;
			strcat(text, pieces[(random >> 16) % ARRAY_SIZE(pieces)]);
		}
		addr_list_parse(text, &list, NULL);
		if (addr_parse(text, &addr, NULL) < 0)
			continue;
		accepted++;
		addr_header_read(text, &header);
		formatted = addr_format(&addr);
		if (addr_parse(formatted, &again, NULL) < 0 ||
			strcmp(addr.local, again.local) != 0 ||
			strcmp(addr.domain, again.domain) != 0 ||
			strcmp(addr.name, again.name) != 0)
			fail_msg("[%s] [%s]", text, formatted);
		if (!strv_has(&header.domains, addr.domain))
			fail_msg("[%s]: no %s", text, addr.domain);
	}
	assert_true(accepted > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_domain),
		cmocka_unit_test(test_domain_too_long),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
