/*
 * addr_header: whom receivers could see in a From field.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/address/addr_header.h"

struct header_case {
	const char *value;
	const char *joined;  /* the domains that must be found, by blanks */
	const char *mailbox; /* NULL: none */
};

static void check_domains(const struct header_case *c, const struct addr_header *header)
{
	_cleanup_strv_ struct strv wanted = STRV_INIT;

	strv_split(&wanted, c->joined, ' ');
	for (size_t i = 0; i < wanted.n; i++)
		if (!strv_has(&header->domains, wanted.items[i]))
			fail_msg("%s: no %s", c->value, wanted.items[i]);
	if (wanted.n == 0 && header->domains.n > 0)
		fail_msg("%s: %s", c->value, header->domains.items[0]);
	for (size_t i = 0; i < header->domains.n; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(header->domains.items[i], header->domains.items[k]);
}

static void check(const struct header_case *cases, size_t n, bool unclear)
{
	for (size_t i = 0; i < n; i++) {
		const struct header_case *c = &cases[i];
		_cleanup_addr_header_ struct addr_header header;

		addr_header_read(c->value, &header);
		check_domains(c, &header);
		if (header.unclear != unclear)
			fail_msg("%s: unclear is %d", c->value, header.unclear);
		if ((header.mailbox == NULL) != (c->mailbox == NULL) ||
			(c->mailbox && !str_eq(header.mailbox, c->mailbox)))
			fail_msg("%s: mailbox %s", c->value,
				header.mailbox ? header.mailbox : "none");
	}
}

/* Honest mail: everybody sees this, and exactly these domains are found. */
static void test_clear(void **state)
{
	static const struct header_case cases[] = {
		{"", "", NULL},
		{"root", "", NULL},
		{"a@example.com", "example.com", "a@example.com"},
		{" A <a@Example.COM> ", "example.com", "a@example.com"},
		{"A\r\n <a@example.com>", "example.com", "a@example.com"},
		{"root@example.com (Cron Daemon)", "example.com", "root@example.com"},
		{"a (b (c) \\) d) <a@example.com>", "example.com", "a@example.com"},
		{"\"Doe, J. (x) <y>; :\" <a@example.com>", "example.com", "a@example.com"},
		{"Doe, John <a@example.com>", "example.com", "a@example.com"},
		{"AC\\DC <a@example.com>", "example.com", "a@example.com"},
		{"=?utf-8?q?J=C3=B6rg?= <a@example.com>", "example.com", "a@example.com"},
		{"J\xf6rg <a@example.com>", "example.com", "a@example.com"},
		/* windows-1252 by the name of Latin-1 */
		{"=?iso-8859-1?q?Bob=92s?= <a@example.com>", "example.com", "a@example.com"},
		{"Amazon.com <a@example.com>", "example.com", "a@example.com"},
		{"a@bücher.example", "xn--bcher-kva.example", "a@xn--bcher-kva.example"},
		{"a@xn--n3h.example", "xn--n3h.example", "a@xn--n3h.example"},
		{"a@XN--BCHER-KVA.example", "xn--bcher-kva.example", "a@xn--bcher-kva.example"},
		{"\"a@example.com\" <a@example.com>", "example.com", "a@example.com"},
		{"\"q u\"@example.com", "example.com", "\"q u\"@example.com"},
		{"b%x.com@example.com", "example.com", "b%x.com@example.com"},
		/* people see another sender in these */
		{"\"b@x.com\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com\xe2\x80\x9d\" <a@example.com>", "example.com x.com", NULL},
		{"\"b @ x.com\" <a@example.com>", "example.com x.com", NULL},
		{"\"b\xef\xbc\xa0x.com\" <a@example.com>", "example.com x.com", NULL},
		{"b\xef\xbc\xa0x.com Chief <a@example.com>", "example.com x.com", NULL},
		{"\"b\xef\xb9\xabx.com, Chief\" <a@example.com>", "example.com x.com", NULL},
		{"b\xef\xbc\xa0x.com\xc2\xa0"
		 "Chief <a@example.com>",
			"example.com x.com", NULL},
		{"=?utf-8?q?b=EF=BC=A0x.com_Chief?= <a@example.com>", "example.com x.com", NULL},
		{"\"b@\xe2\x80\x8bx.com\" <a@example.com>", "example.com x.com", NULL},
		{"a@example.com (b@x.com)", "example.com x.com", NULL},
		{"a@example.com (=?utf-8?q?b=40x.com?=)", "example.com x.com", NULL},
		{"=?utf-8?q?b=40x=2Ecom?= <a@example.com>", "example.com x.com", NULL},
		{"=?utf-8?b?YkB4LmNvbQ==?= <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com (Boss)\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com via c@y.com\" <a@example.com>", "example.com y.com", NULL},
		{"\"b@x.com via \" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com via .\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com via \u3164\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com via \u200b\" <a@example.com>", "example.com x.com", NULL},
		{"\"<b@x.com> via c\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com,c via d\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com\u00a0\u00a0\u00a0 via c\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com\u2014Chief via c\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com/Chief via c\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x.com@c via d\" <a@example.com>", "example.com x.com", NULL},
		/* nothing shows there */
		{"\"b@\u115fx.com\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@\u3164x.com\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@\uffa0x.com\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@\u17b4x.com\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@\u034fx.com\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@\u2800x.com\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@\ufe0fx.com\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x\u2024com\" <a@example.com>", "example.com x.com", NULL},
		{"\"b@x\ufe52com\" <a@example.com>", "example.com x.com", NULL},
		/* nobody else in these */
		{"=?x-gbk?q?J=F6rg?= <a@example.com>", "example.com", "a@example.com"},
		{"=?cp850?q?J=94rg_-_What=3F?= <a@example.com>", "example.com", "a@example.com"},
		{"J\xf6rg | Co <a@example.com>", "example.com", "a@example.com"},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases), false);
}

/* The form with its %s made the name. */
static void add_form(struct buf *out, const char *form, const char *name)
{
	const char *place = strstr(form, "%s");

	buf_add(out, form, (size_t)(place - form));
	buf_add_str(out, name);
	buf_add_str(out, place + 2);
}

static bool is_below(const char *domain, const char *parent)
{
	size_t len = strlen(domain), tail = strlen(parent);

	return len >= tail && str_eq(domain + len - tail, parent) &&
	       (len == tail || domain[len - tail - 1] == '.');
}

/* More labels than a name may have, all of them good. */
static void test_long_name(void **state)
{
	_cleanup_buf_ struct buf value = BUF_INIT;
	_cleanup_addr_header_ struct addr_header header;

	(void)state;
	buf_add_str(&value, "b@");
	for (int i = 0; i < 1000; i++)
		buf_add_str(&value, "a.");
	buf_add_str(&value, "x.com");
	addr_header_read(value.data, &header);
	assert_true(header.unclear);
	assert_true(header.domains.n > 0);
	assert_true(is_below(header.domains.items[0], "x.com"));
}

/* Lists name the author whom they speak for. */
static void test_via(void **state)
{
	static const char *const values[] = {
		"\"b@x.com via List\" <a@example.com>",
		"\"'b@x.com' via List\" <a@example.com>",
		"=?utf-8?q?b=40x.com_Via_L=C3=ADst?= <a@example.com>",
		"=?x-gbk?q?b=40x.com_via_L?= <a@example.com>",
		"\"b@x.com via L\xedst\" <a@example.com>",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		_cleanup_addr_header_ struct addr_header header;

		addr_header_read(values[i], &header);
		assert_false(header.unclear);
		assert_null(header.mailbox);
		assert_int_equal(header.domains.n, 1);
		assert_string_equal(header.domains.items[0], "example.com");
	}
}

/* A name in which only some see another sender. */
static void test_unclear_names(void **state)
{
	static const struct header_case cases[] = {
		{"b@\xe3\x85\xa4x.com Chief <a@example.com>", "example.com x.com", NULL},
		/* charsets that are not known */
		{"=?x-sjis?q?b=40x.com?= <a@y.com>", "y.com x.com", NULL},
		{"=?x-euc-kr?b?YkB4LmNvbQ==?= <a@y.com>", "y.com x.com", NULL},
		{"=??q?b=40x.com?= <a@y.com>", "y.com x.com", NULL},
		{"=?01234567890123456789012345678901234567890?q?b=40x.com?= "
		 "<a@y.com>",
			"y.com x.com", NULL},
		{"b=?x-gbk?q?=40?=x.com <a@y.com>", "y.com x.com", NULL},
		{"\"=?x-gbk?q?b=40x.com?=\" <a@y.com>", "y.com x.com", NULL},
		{"a@y.com (=?x-gbk?q?b=40x.com?=)", "y.com x.com", NULL},
		{"=?utf-8?q?=3D=3Fx-gbk=3Fq=3Fb=3D40x.com=3F=3D?= <a@y.com>", "y.com x.com", NULL},
		/* bytes that are not UTF-8 */
		{"=?utf-8?q?b=40=FFx.com?= <a@y.com>", "y.com x.com", NULL},
		{"\"b@b\xfc"
		 "cher.example\" <a@y.com>",
			"y.com xn--bcher-kva.example", NULL},
		{"=?x-gbk?q?b=40=ADx.com?= <a@y.com>", "y.com x.com", NULL},
		/* a control character in Latin-1, dots in windows-1252 */
		{"=?iso-8859-1?q?b=40x.c=85om?= <a@y.com>", "y.com x.com", NULL},
		{"\"b@\xadx.com\" <a@y.com>", "y.com x.com", NULL},
		/* base64 cut inside a quantum */
		{"=?utf-8?b?YkBleG?= =?utf-8?b?FtcGxlLmNvbQ==?= <a@y.com>", "y.com example.com",
			NULL},
		{"=?utf-8?b?=YkBleG?= =?utf-8?b?FtcGxlLmNvbQ==?= <a@y.com>", "y.com example.com",
			NULL},
		/* base64 with padding, or what is none, inside */
		{"=?utf-8?b?YkB=4LmNvbQ==?= <a@y.com>", "y.com x.com", NULL},
		{"=?utf-8?b?YkA=eC5jb20=?= <a@y.com>", "y.com x.com", NULL},
		{"=?utf-8?b?YkB4LmNvbQ==eHh4?= <a@y.com>", "y.com x.com", NULL},
		/* a question mark in a word */
		{"=?utf-8?b?YkB4?LmNvbQ==?= <a@y.com>", "y.com x.com", NULL},
		{"=?utf-8?q?b=40x.com?\?= <a@y.com>", "y.com x.com", NULL},
		{"=?utf-8?q?b=40x.com?c?= <a@y.com>", "y.com x.com", NULL},
		{"=?utf-8?b?x=?utf-8?b?Yk?= =?utf-8?b?B4LmNvbQ==?= <a@y.com>", "y.com x.com", NULL},
		{"=?utf-8?b?YkB4LmNvbQ <a@y.com>", "y.com x.com", NULL},
		{"a@y.com (=?utf-8?q?b=40x.com?\?=)", "y.com x.com", NULL},
		/* a word with other text right beside it */
		{"=?utf-8?q?b=40x.com?=c <a@y.com>", "y.com x.com", NULL},
		{"=?utf-8?q?b=40x.com?= =?utf-8?q?c?= <a@y.com>", "y.com x.com", NULL},
		{"=?utf-8?q?b=40x.com?==?utf-8?q?c?= <a@y.com>", "y.com x.com", NULL},
		{"=?utf-8?q?b=40x.c?= =?utf-8?q?om?=c <a@y.com>", "y.com x.com", NULL},
		/* charsets that have ASCII in other bytes, or are read so */
		{"=?utf-16?b?AGIAQAB4AC4AYwBvAG0=?= <a@y.com>", "y.com x.com", NULL},
		{"=?utf-16?q?b=40x.com?= <a@y.com>", "y.com x.com", NULL},
		{"=?iso646-fr?q?b=40x.com?= <a@y.com>", "y.com x.com", NULL},
		{"=?ibm037?q?b=40x.com?= <a@y.com>", "y.com x.com", NULL},
		{"=?ibm01140?q?=82=7C=A7=4B=83=96=94?= <a@y.com>", "y.com x.com", NULL},
		{"=?unicode-1-1-utf-7?q?b+AEA-x.com?= <a@y.com>", "y.com x.com", NULL},
		{"=?x-sjis?q?b=81=97x.com?= <a@y.com>", "y.com x.com", NULL},
		{"\"b\xa3\xc0x.com\" <a@y.com>", "y.com x.com", NULL},
		{"\"b\x1b$B!w\x1b(Bx.com\" <a@y.com>", "y.com x.com", NULL},
		{"b@\x1b(Bx.com <a@y.com>", "y.com x.com", NULL},
		/* a quote or a backslash in a word */
		{"\"=\\?x-gbk?q?b=40x.com?=\" <a@y.com>", "y.com x.com", NULL},
		{"=?x-gbk?q?b=40x?=\"=?x-gbk?q?.com?=\" <a@y.com>", "y.com x.com", NULL},
		/* writing direction */
		{"\"\u202emoc.x@b\" <a@y.com>", "y.com x.com", NULL},
		{"\"b@\u202emoc.x\u202c\" <a@y.com>", "y.com x.com", NULL},
		{"=?utf-8?q?=E2=81=A7moc.x=40b?= <a@y.com>", "y.com x.com", NULL},
		{"\"\u200fcom\u200f.\u200fx\u200f@\u200fb\" <a@y.com>", "y.com x.com", NULL},
		{"a@y.com (\u202emoc.x@b)", "y.com x.com", NULL},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases), true);
}

/* One more than there may be. */
#define LONG_LABEL "0123456789012345678901234567890123456789012345678901234567890123"

/* Of a name that is none, what is behind a dot. */
static void test_subdomains(void **state)
{
	static const char *const names[] = {"☃.x.com", "☃。x。com", "x-.x.com", "-x.x.com",
		"x..x.com", "..x.com", "x\u2024y.x.com", "_x.x.com", "a+b.x.com", "a/b.x.com",
		"a_.x.com", "a*.x.com", LONG_LABEL ".x.com"};
	static const char *const forms[] = {
		"b@%s", "\"b@%s\" <a@y.com>", "a@y.com, b@%s", "a@y.com (b@%s)"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names) * ARRAY_SIZE(forms); i++) {
		const char *name = names[i / ARRAY_SIZE(forms)];
		_cleanup_buf_ struct buf value = BUF_INIT;
		_cleanup_addr_header_ struct addr_header header;
		bool found = false;

		add_form(&value, forms[i % ARRAY_SIZE(forms)], name);
		addr_header_read(value.data, &header);
		for (size_t k = 0; k < header.domains.n; k++)
			found |= is_below(header.domains.items[k], "x.com");
		if (!found)
			fail_msg("%s: not found", value.data);
		assert_null(header.mailbox);
	}
}

static void test_unclear(void **state)
{
	static const struct header_case cases[] = {
		{"\"b\xef\xbc\xa0x.com\"@y.com", "y.com x.com", NULL},
		/* several mailboxes */
		{"a@example.com, b@example.com", "example.com", NULL},
		{"A <a@x.com>, B <b@y.com>", "x.com y.com", NULL},
		{"G: a@x.com, B <b@y.com>;, c@z.com", "x.com y.com z.com", NULL},
		{"G: H: a@x.com;;", "x.com", NULL},
		{"a@x.com b@y.com", "x.com y.com", NULL},
		{"a@x.com; b@y.com", "x.com y.com", NULL},
		{"<a@x.com> <b@y.com>", "x.com y.com", NULL},
		{"b@x.com <a@y.com>", "x.com y.com", NULL},
		{"b@x.com via List <a@y.com>", "x.com y.com", NULL},
		{"<@x.com:b@y.com>", "x.com y.com", NULL},
		{"\"b@x.com\"@y.com", "x.com y.com", NULL},
		{"\"\\\"b@x.com\"@y.com", "x.com y.com", NULL},
		{"a@@y.com", "y.com", NULL},
		{"a@b@y.com", "y.com", NULL},
		{"a@x.com\x01"
		 "b@y.com",
			"x.com y.com", NULL},
		/* no mailbox */
		{"example.com", "example.com", NULL},
		{"b at example.com", "example.com", NULL},
		{"b%example.com", "example.com", NULL},
		{"example.com!b", "example.com", NULL},
		{"\"b@example.com\"", "example.com", NULL},
		{"<b@y.com", "y.com", NULL},
		{"b@y.com>", "y.com", NULL},
		{"\"b@y.com", "y.com", NULL},
		{"(b@y.com", "y.com", NULL},
		{"(b@y.com)", "y.com", NULL},
		{"mailto:b@y.com", "y.com", NULL},
		{"write @x.com. Now", "x.com", NULL},
		{"root@localhost", "", NULL},
		/* comments, folds and blanks inside */
		{"b@(c)y.com", "y.com", NULL},
		{"b@y(c).com", "y.com", NULL},
		{"b@y(c(d)\\)).com", "y.com", NULL},
		{"b@exam(c)ple.com", "example.com", NULL},
		{"b@exam\r\n ple.com", "example.com", NULL},
		{"b@exam ple.com", "example.com", NULL},
		{"b @ y . com", "y.com", NULL},
		{"b@y\r\n .com", "y.com", NULL},
		{"b@ y.com", "y.com", NULL},
		{"b@\"y.com\"", "y.com", NULL},
		{"b@[y.com]", "y.com", NULL},
		{"b@<y.com>", "y.com", NULL},
		/* what does not show */
		{"a@example.com.", "example.com", NULL},
		{"a@example.com..", "example.com", NULL},
		{"a@.example.com", "example.com", NULL},
		{"a@\x01"
		 "example.com",
			"example.com", NULL},
		{"a@exam\x7f"
		 "ple.com",
			"example.com", NULL},
		{"a@\xc2\xa0"
		 "example.com",
			"example.com", NULL},
		{"a@exam\xc2\xa0"
		 "ple.com",
			"example.com", NULL},
		{"a@\\example.com", "example.com", NULL},
		{"a@exam\\ple.com", "example.com", NULL},
		{"a\xef\xbc\xa0"
		 "example.com",
			"example.com", NULL},
		{"a@example.com\xe2\x80\x9d", "example.com", NULL},
		{"a@bücher.example\xe2\x80\x9d", "xn--bcher-kva.example", NULL},
		{"\xff\xfe@x.com\xff", "x.com", NULL},
		{"a@b\xfc"
		 "cher.example",
			"xn--bcher-kva.example", NULL},
		/* a name that IDNA 2003 reads as another one */
		{"a@straße.example", "xn--strae-oqa.example strasse.example", NULL},
		/* encoded words */
		{"=?utf-8?b?YUB4LmNvbQ==?=", "x.com", NULL},
		{"=?utf-8?q?a=40x?= =?utf-8?q?=2Ecom?=", "x.com", NULL},
		{"=?utf-8?b?YQ==?= =?utf-8?b?QHguY29t?=", "x.com", NULL},
		{"ceo=?utf-8?q?=40?=x.com", "x.com", NULL},
		{"a@=?utf-8?q?x.com?=", "x.com", NULL},
		{"=?utf-8?q?a=40x.com?=@y.com", "x.com y.com", NULL},
		{"=?utf-7?q?a+AEA-x.com?=", "x.com", NULL},
		{"=?iso-8859-1?q?a=40b=FCcher.example?=", "xn--bcher-kva.example", NULL},
		{"=?utf-8?q?=3D=3Futf-8=3Fb=3FYUB4LmNvbQ=3D=3D=3F=3D?= <b@y.com>", "x.com y.com",
			NULL},
	};

	(void)state;
	check(cases, ARRAY_SIZE(cases), true);
}

/* Full-width letters and dots are those of the domain. */
static void test_forms_of_one_domain(void **state)
{
	static const char *const values[] = {
		"a@ｅｘａｍｐｌｅ.com",
		"a@example。com",
		"a@example．com",
		"a@example｡com",
		"a@ex\xe2\x80\x8b"
		"ample.com",
		"a@ex\xc2\xad"
		"ample.com",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		_cleanup_addr_header_ struct addr_header header;

		addr_header_read(values[i], &header);
		if (!strv_has(&header.domains, "example.com"))
			fail_msg("%s: not found", values[i]);
	}
}

/* A value of one text, over and over: must neither crash nor take for ever. */
static void test_hostile(void **state)
{
	static const char *const texts[] = {"@", "<", "(", "\"", "\\", ":", ";", "a:", "@(", "(@",
		"@a.b,", "a@b.c ", "@é.", "@a .", "@ ", "@\"", "=?",
		"=?utf-8?q?=40a=2Eb?=", "=?utf-8?b?", "\xff", "@\xff", "g:a@b.c;", "<@a.b:", ".",
		"@.", "@-", "@xn--a.b", " ", "a@[", "@(()", "@é é.", "é.", "ß.", "\"@", "＠",
		"a.b\\"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_buf_ struct buf value = BUF_INIT;
		_cleanup_addr_header_ struct addr_header header;

		while (value.len < 20000)
			buf_add_str(&value, texts[i]);
		buf_add_str(&value, "\n@example.com");
		addr_header_read(value.data, &header);
		if (!strv_has(&header.domains, "example.com"))
			fail_msg("%s: nothing found", texts[i]);
	}
}

/* Many domains, each once. */
static void test_many(void **state)
{
	_cleanup_buf_ struct buf value = BUF_INIT;
	_cleanup_addr_header_ struct addr_header header;
	size_t known = 0;

	(void)state;
	for (int i = 0; i < 4000; i++)
		buf_printf(&value, "a@d%d.example,b@d%d.example,", i, i);
	addr_header_read(value.data, &header);
	for (size_t i = 0; i < header.domains.n; i++)
		known += header.domains.items[i][0] == 'd';
	assert_int_equal(known, 4000);
}

/* A plain address is read without a look at all readings. In brackets it is not, and means the
 * same. */
static void test_plain(void **state)
{
	static const char *const values[] = {
		"a@x.test",
		"a.b-c_d@Sub.X.Test",
		"a@x.test.",
		"a@x.test-",
		"a@-x.test",
		"a@x_y.test",
		"a@x",
		"a..b@x.test",
		".a@x.test",
		"a.@x.test",
		"@x.test",
		"a@b@x.test",
		"a@xn--bcher-kva.test",
		"a@xn--.test",
		"x.test",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		_cleanup_free_ char *field = mem_printf("<%s>", values[i]);
		_cleanup_addr_header_ struct addr_header plain, full;
		_cleanup_free_ char *seen = NULL, *expected = NULL;

		addr_header_read(values[i], &plain);
		addr_header_read(field, &full);
		seen = strv_join(&plain.domains, " ");
		expected = strv_join(&full.domains, " ");
		assert_string_equal(seen, expected);
		assert_int_equal(plain.unclear, full.unclear);
		assert_string_equal(
			plain.mailbox ? plain.mailbox : "", full.mailbox ? full.mailbox : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clear),
		cmocka_unit_test(test_via),
		cmocka_unit_test(test_unclear_names),
		cmocka_unit_test(test_subdomains),
		cmocka_unit_test(test_long_name),
		cmocka_unit_test(test_unclear),
		cmocka_unit_test(test_forms_of_one_domain),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
