/* mime_read: what messages say, well made and not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <glib.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/read/mime_read.h"

#define MULTI(type, boundary) "Content-Type: multipart/" type "; boundary=" boundary "\r\n\r\n"
#define PLAIN                 "Content-Type: text/plain\r\n\r\n"
#define HTML                  "Content-Type: text/html\r\n\r\n"

static void show_list(struct buf *out, char name, const struct strv *texts)
{
	_cleanup_free_ char *joined = strv_join(texts, "][");

	if (texts->n > 0)
		buf_printf(out, "%c[%s] ", name, joined);
}

/* One line with what the message has: from [..] for each, then each value. */
static char *show_header(const char *message)
{
	_cleanup_mime_summary_ struct mime_summary summary;
	struct buf out = BUF_INIT;
	const struct addr_list *lists[] = {&summary.to, &summary.cc, &summary.reply_to};

	mime_read(message, strlen(message), &summary);
	show_list(&out, 'f', &summary.from_fields);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		_cleanup_strv_ struct strv texts = STRV_INIT;

		for (size_t k = 0; k < lists[i]->n; k++)
			strv_take(&texts, addr_format(&lists[i]->items[k]));
		show_list(&out, "tcr"[i], &texts);
	}
	if (*summary.subject)
		buf_printf(&out, "s[%s] ", summary.subject);
	if (summary.message_id)
		buf_printf(&out, "m[%s] ", summary.message_id);
	if (summary.has_date)
		buf_add_str(&out, "date");
	return buf_take(&out);
}

static const struct {
	const char *name;
	const char *message;
	const char *shown;
} headers[] = {
	{"nothing", "", ""},
	{"all",
		"From: Ann <a@x.org>\r\nTo: b@x.org\r\nCc: c@x.org\r\n"
		"Reply-To: d@x.org\r\nSubject: Hi\r\nMessage-ID: <1@x>\r\n"
		"Date: today\r\n\r\n",
		"f[Ann <a@x.org>] t[b@x.org] c[c@x.org] r[d@x.org] s[Hi] m[<1@x>] date"},
	{"case, blanks before the colon, LF",
		"FROM : a@x.org\nto: b@x.org\nSUBJECT:Hi\nmessage-id: <1@[x]>\n",
		"f[a@x.org] t[b@x.org] s[Hi] m[<1@[x]>] "},
	{"several From", "From: a@x.org\nFrom:\nFrom: b@x.org\n", "f[a@x.org][][b@x.org] "},
	{"From as it is, unfolded", "From: =?utf-8?Q?A?=\r\n\t<a@x.org>,\r\n b@x.org\r\n",
		"f[=?utf-8?Q?A?=\t<a@x.org>, b@x.org] "},
	{"only in the body", "\nFrom: a@x.org\nSubject: x\n", ""},
	{"behind the end of the header", "A: 1\nhello\nFrom: a@x.org\n", ""},
	{"mailbox line", "From a@x.org Mon\nFrom: b@x.org\n", "f[b@x.org] "},
	{"encoded Subject",
		"Subject: =?utf-8?B?w6k=?= =?iso-8859-1?Q?=E9?=\r\n =?utf-8"
		"?Q?!?=\r\n",
		"s[\xc3\xa9\xc3\xa9!] "},
	{"charsets by the names of smaller ones",
		"Subject: =?gb2312?Q?=E9F?= =?shift_jis?Q?=87=40?= =?KS_C_5601-1987?B?x9GMYw==?=\n",
		"s[\xe9\x95\x95\xe2\x91\xa0\xed\x95\x9c\xeb\x98\xa0] "},
	{"line break in a Subject", "Subject: =?utf-8?Q?a=0D=0Ab?=\n", "s[a  b] "},
	{"raw UTF-8 Subject", "Subject: \xc3\xa9\n", "s[\xc3\xa9] "},
	{"first of two",
		"Subject: a\nSubject: b\nMessage-ID: <1@x>\n"
		"Message-ID: <2@x>\n",
		"s[a] m[<1@x>] "},
	{"Message-ID of no form",
		"Message-ID: 1@x\nMessage-ID: <a b>\nMessage-ID: <>\n"
		"Message-ID: <a>b>\nMessage-ID: <\xc3\xa9@x>\n"
		"Message-ID: <1>\nMessage-ID: <@x>\nMessage-ID: <1@>\n"
		"Message-ID: <1@x@y>\nMessage-ID: @\nMessage-ID: <1@x\n",
		""},
	{"blank Date", "Date: \n", ""},
	{"lists",
		"To: \"Doe, J\" <j@x.org>, =?utf-8?Q?=C3=A9?= <e@x.org>\r\n"
		"To: Team: t1@x.org, t2@x.org;, u@X.ORG (Comment)\r\n",
		"t[Doe, J <j@x.org>][\xc3\xa9 <e@x.org>][t1@x.org][t2@x.org]"
		"[Comment <u@x.org>] "},
	{"malformed mailboxes are left out",
		"To: a@x.org, @, nobody, b@, <c@x.org>, undisclosed:;\n", "t[a@x.org][c@x.org] "},
	{"name of an unknown charset", "To: =?x-no?Q?a?= <a@x.org>\n",
		"t[=?x-no?Q?a?= <a@x.org>] "},
	{"name in several words",
		"To: =?utf-8?B?YQ==?=\n =?utf-8?B?YsM=?= =?utf-8?B?qQ==?= c <a@x.org>, "
		"\"=?utf-8?Q?=C3=A9?=\" <b@x.org>\n",
		"t[ab\xc3\xa9 c <a@x.org>][\xc3\xa9 <b@x.org>] "},
	{"line break in a name", "To: =?utf-8?Q?a=0Ab?= <a@x.org>\n", "t[a@x.org] "},
};

static void test_headers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(headers); i++) {
		_cleanup_free_ char *shown = show_header(headers[i].message);

		if (strcmp(shown, headers[i].shown) != 0)
			fail_msg("%s: got\n%s\nwanted\n%s", headers[i].name, shown,
				headers[i].shown);
	}
}

static const struct {
	const char *name;
	const char *message;
	const char *text;
	const char *html;
} bodies[] = {
	{"plain by default", "A: 1\r\n\r\nhi\r\nyou\r\n", "hi\nyou\n", ""},
	{"html", HTML "<p>", "", "<p>"},
	{"no empty line", "A: 1\nhello", "hello", ""},
	{"another type", "Content-Type: image/png\n\nhello", "", ""},
	{"malformed type", "Content-Type: text\n\nhello", "hello", ""},
	{"alternative",
		MULTI("alternative", "b") "--b\r\n" PLAIN "1\r\n--b\r\n" HTML "2\r\n--b--\r\n", "1",
		"2"},
	{"html first, boundary quoted",
		MULTI("Alternative", "\"b b\"") "x\r\n--b b\n" HTML "2\n--b b\n" PLAIN "1\n--b b--",
		"1", "2"},
	{"nested",
		MULTI("mixed", "a") "--a\r\n" MULTI("related", "b") "--b\r\n" MULTI("alternative",
			"c") "--c\r\n" PLAIN "1\r\n--c\r\n" HTML "2\r\n--c--\r\n--b--\r\n--a--\r\n",
		"1", "2"},
	{"not closed", MULTI("mixed", "b") "--b\r\n" PLAIN "1\r\n", "1\n", ""},
	{"first of several", MULTI("mixed", "b") "--b\r\n" PLAIN "1\r\n--b\r\n" PLAIN "2\r\n--b--",
		"1", ""},
	{"parts without a header", MULTI("mixed", "b") "--b\r\n\r\n1\r\n--b--", "1", ""},
	{"attachments",
		MULTI("mixed", "b") "--b\nContent-Disposition: Attachment\n\n1"
				    "\n--b\nContent-Disposition: inline; "
				    "filename=f\n\n2\n--b\nContent-Type: "
				    "text/html; name=x\n\n3\n--b\nContent-Type: "
				    "text/plain; name*=x\n\n4\n--b\n\n5\n--b--",
		"5", ""},
	{"a message that is attached",
		MULTI("mixed", "b") "--b\nContent-Type: message/rfc822\n\n"
				    "Subject: x\n\n1\n--b\n" HTML "2\n--b--",
		"", "2"},
	{"digest", MULTI("digest", "b") "--b\n\nSubject: x\n\n1\n--b--", "", ""},
	{"multipart without a boundary", "Content-Type: multipart/mixed\n\n--b\n\n1\n--b--", "",
		""},
	{"base64", "Content-Transfer-Encoding: Base64\r\n\r\naGkNCnlvdQ0K\r\n", "hi\nyou\n", ""},
	{"damaged base64", "Content-Transfer-Encoding: base64\n\naG!kN*", "hi\n", ""},
	{"quoted-printable",
		"Content-Transfer-Encoding: quoted-printable\nContent-Type: text/plain; "
		"charset=iso-8859-1\n\na=E9=\nb=zz",
		"a\xc3\xa9"
		"b=zz",
		""},
	{"unknown encoding", "Content-Transfer-Encoding: x-rot\n\nabc", "", ""},
	{"charset with a comment", "Content-Type: text/plain; charset=iso-8859-1 (latin)\n\n\xe9",
		"\xc3\xa9", ""},
	{"windows-1252 by the name of Latin-1",
		"Content-Type: text/plain; charset=ISO-8859-1\n\n\x80", "\xe2\x82\xac", ""},
	{"GBK by the name of its part", "Content-Type: text/plain; charset=GB2312\n\n\xe9\x46",
		"\xe9\x95\x95", ""},
	{"unknown charset", "Content-Type: text/plain; charset=x-no\n\na\xe9", "a\xef\xbf\xbd", ""},
	{"no charset", "\n\xc3\xa9", "\xc3\xa9", ""},
};

static void test_bodies(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		_cleanup_mime_summary_ struct mime_summary summary;
		_cleanup_free_ char *html, *text;

		mime_read(bodies[i].message, strlen(bodies[i].message), &summary);
		mime_read_texts(bodies[i].message, strlen(bodies[i].message), &html, &text);
		assert_string_equal(html, summary.html);
		assert_string_equal(text, summary.text);
		if (strcmp(summary.text, bodies[i].text) != 0)
			fail_msg("%s: text is \"%s\"", bodies[i].name, summary.text);
		if (strcmp(summary.html, bodies[i].html) != 0)
			fail_msg("%s: html is \"%s\"", bodies[i].name, summary.html);
	}
}

/* The name of a file, as mail programs write it. */
static const struct {
	const char *header, *name;
} files[] = {
	{"Content-Disposition: attachment", NULL},
	{"Content-Disposition: attachment; filename=a.txt", "a.txt"},
	{"Content-Type: image/png; name=\"=?utf-8?q?=C3=A9?=.png\"", "\xc3\xa9.png"},
	{"Content-Disposition: attachment; filename=\"=?UTF-8?B?w6k=?=.txt\"", "\xc3\xa9.txt"},
	{"Content-Disposition: attachment; filename=\"\xc3\xa9.txt\"", "\xc3\xa9.txt"},
	{"Content-Disposition: attachment; filename=\"=?utf-8?b?w6k=?=\n =?utf-8?q?=C3=A9?=\"",
		"\xc3\xa9\xc3\xa9"},
	{"Content-Disposition: attachment; filename*=utf-8''%C3%A9.txt", "\xc3\xa9.txt"},
	{"Content-Type: image/png; name*=iso-8859-1'fr'%E9.png", "\xc3\xa9.png"},
	/* In pieces (RFC 2231 3, 4.1). */
	{"Content-Disposition: attachment;\n filename*0=long;\n filename*1=\" name.txt\"",
		"long name.txt"},
	{"Content-Disposition: attachment; filename*0*=utf-8''%C3; filename*1*=%A9;"
	 " filename*2=\"%20.txt\"",
		"\xc3\xa9%20.txt"},
	{"Content-Disposition: inline; filename*0*=utf-8''a; filename*1=b; filename*3=c", "ab"},
	{"Content-Type: text/plain; name*0=a; name*1=b", "ab"},
	/* What cannot be decoded is shown as it is. */
	{"Content-Disposition: inline; filename*=x-no''%C3", "x-no''%C3"},
	{"Content-Type: text/plain; name*=x", "x"},
	/* In a message %22 is no quote. */
	{"Content-Disposition: attachment; filename=\"a%22b\"", "a%22b"},
	/* Content-Disposition says it better (RFC 2183 2.3). */
	{"Content-Type: image/png; name=\"a.png\"\nContent-Disposition: attachment;"
	 " filename*=utf-8''%C3%A9",
		"\xc3\xa9"},
};

static void test_names_of_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_free_ char *message = mem_printf("%s\n\nx", files[i].header);
		_cleanup_mime_files_ struct mime_files found;
		const char *name;

		mime_read_files(message, strlen(message), &found);
		if (found.n != 1)
			fail_msg("%s: %zu files", files[i].header, found.n);
		name = found.items[0].name;
		if (g_strcmp0(name, files[i].name) != 0)
			fail_msg("%s: \"%s\"", files[i].header, name);
	}
}

/* Neither depth nor number of parts is followed without end. */
static void test_bounds(void **state)
{
	_cleanup_buf_ struct buf deep = BUF_INIT;
	_cleanup_buf_ struct buf wide = BUF_INIT;
	_cleanup_mime_summary_ struct mime_summary summary = {0};

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_printf(&deep, MULTI("mixed", "b%d") "--b%d\r\n", i, i);
	buf_add_str(&deep, PLAIN "1");
	mime_read(deep.data, deep.len, &summary);
	assert_string_equal(summary.text, "");
	mime_summary_clear(&summary);

	buf_add_str(&wide, MULTI("mixed", "b"));
	for (int i = 0; i < 100000; i++)
		buf_add_str(&wide, "--b\r\nContent-Type: image/png\r\n\r\n\r\n");
	buf_add_str(&wide, "--b\r\n" PLAIN "1\r\n--b--");
	mime_read(wide.data, wide.len, &summary);
	assert_string_equal(summary.text, "");
}

static void test_many_addresses(void **state)
{
	_cleanup_buf_ struct buf message = BUF_INIT;
	_cleanup_mime_summary_ struct mime_summary summary;

	(void)state;
	for (int i = 0; i < 30; i++) {
		buf_add_str(&message, "To: a@x.org");
		for (int j = 0; j < 99; j++)
			buf_add_str(&message, ", a@x.org");
		buf_add_str(&message, "\n");
	}
	mime_read(message.data, message.len, &summary);
	assert_int_equal(summary.to.n, 2000);
}

static void test_many_from(void **state)
{
	_cleanup_buf_ struct buf message = BUF_INIT;
	_cleanup_mime_summary_ struct mime_summary summary;

	(void)state;
	for (int i = 0; i < 100; i++)
		buf_printf(&message, "From: a%d@x.org\n", i);
	mime_read(message.data, message.len, &summary);
	assert_int_equal(summary.from_fields.n, MIME_READ_FROM_MAX);
	assert_string_equal(summary.from_fields.items[0], "a0@x.org");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_headers),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_names_of_files),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_many_addresses),
		cmocka_unit_test(test_many_from),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
