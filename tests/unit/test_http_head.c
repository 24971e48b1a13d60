/* http_head: what is read, and what is refused, of request heads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "httpd/http/http1.h"

#define HOST "Host: a\r\n"

static int parse(const char *text, size_t len, struct http_head *head)
{
	struct http_fault fault = {0, NULL};
	size_t end = http_head_end(text, len, 0, &fault);

	if (fault.status != 0)
		return fault.status;
	if (end == 0)
		return 0;
	if (http_head_parse(text, end, head, &fault) == 0)
		return 200;
	assert_non_null(fault.text);
	return fault.status;
}

static const struct {
	const char *name;
	const char *text;
	int status; /* 200: good, 0: not complete */
} cases[] = {
	{"plain", "GET / HTTP/1.1\r\n" HOST "\r\n", 200},
	{"1.0 without Host", "GET / HTTP/1.0\r\n\r\n", 200},
	{"not complete", "GET / HTTP/1.1\r\n" HOST, 0},
	{"nothing", "", 0},
	{"bare LF in request line", "GET / HTTP/1.1\n" HOST "\r\n", 400},
	{"bare LF in field", "GET / HTTP/1.1\r\nHost: a\n\r\n", 400},
	{"bare LF at end", "GET / HTTP/1.1\r\n" HOST "\n", 400},
	{"LF first", "\nGET / HTTP/1.1\r\n" HOST "\r\n", 400},
	{"CRLF first", "\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 400},
	{"bare CR in value", "GET / HTTP/1.1\r\nHost: a\rb\r\n\r\n", 400},
	{"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
	{"two Hosts", "GET / HTTP/1.1\r\n" HOST HOST "\r\n", 400},
	{"empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 200},
	{"Host with a port", "GET / HTTP/1.1\r\nHost: a_b.c:80\r\n\r\n", 200},
	{"Host with an empty port", "GET / HTTP/1.1\r\nHost: a:\r\n\r\n", 200},
	{"Host with two empty ports", "GET / HTTP/1.1\r\nHost: a::\r\n\r\n", 400},
	{"Host that is an empty port", "GET / HTTP/1.1\r\nHost: :\r\n\r\n", 400},
	{"Host with an IPv6 address", "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n", 200},
	{"Host with a blank", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
	{"Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
	{"Host with a user", "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", 400},
	{"Host with a port that is none", "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n", 400},
	{"8-bit Host in 1.0", "GET / HTTP/1.0\r\nHost: \xc3\xa4\r\n\r\n", 400},
	{"malformed Host beside an absolute target", "GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n",
		400},
	{"two keys",
		"GET / HTTP/1.1\r\n" HOST "Authorization: Bearer a\r\n"
		"authorization: Bearer b\r\n\r\n",
		400},
	{"two types",
		"GET / HTTP/1.1\r\n" HOST "Content-Type: a/b\r\n"
		"Content-Type: a/b\r\n\r\n",
		400},
	{"no target", "GET HTTP/1.1\r\n" HOST "\r\n", 400},
	{"two blanks", "GET  / HTTP/1.1\r\n" HOST "\r\n", 400},
	{"absolute target", "GET http://a/ HTTP/1.1\r\n" HOST "\r\n", 200},
	{"absolute target, no Host", "GET http://a/ HTTP/1.1\r\n\r\n", 400},
	{"absolute target in 1.0", "GET http://a/ HTTP/1.0\r\n\r\n", 200},
	{"absolute target with a port", "GET HTTPS://a.b:65535/x HTTP/1.1\r\n" HOST "\r\n", 200},
	{"port too large", "GET http://a:65536/x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"empty port", "GET http://a:/x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"port no number", "GET http://a:b/x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"IPv6 address", "GET http://[::1]:80/x HTTP/1.1\r\n" HOST "\r\n", 200},
	{"no IPv6 address", "GET http://[::x]:80/x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"bracket open", "GET http://[::1/x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"bracket inside", "GET http://a[::1]/x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"no authority", "GET http:///x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"only a scheme", "GET http:// HTTP/1.1\r\n" HOST "\r\n", 400},
	{"only a port", "GET http://:80/x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"user", "GET http://u@a/x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"other scheme", "GET ftp://a/x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"NUL in the authority", "GET http://a%00/x HTTP/1.1\r\n" HOST "\r\n", 400},
	{"two slashes", "GET //a:b/ HTTP/1.1\r\n" HOST "\r\n", 200},
	{"fragment", "GET /#a HTTP/1.1\r\n" HOST "\r\n", 400},
	{"target with control", "GET /\x01 HTTP/1.1\r\n" HOST "\r\n", 400},
	{"target with 8-bit", "GET /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n", 400},
	{"method no token", "G(T / HTTP/1.1\r\n" HOST "\r\n", 400},
	{"2.0", "GET / HTTP/2.0\r\n" HOST "\r\n", 505},
	{"no version", "GET /\r\n" HOST "\r\n", 400},
	{"lower version", "GET / http/1.1\r\n" HOST "\r\n", 400},
	{"folded", "GET / HTTP/1.1\r\n" HOST "X: a\r\n b\r\n\r\n", 400},
	{"blank before colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
	{"no colon", "GET / HTTP/1.1\r\n" HOST "X\r\n\r\n", 400},
	{"empty name", "GET / HTTP/1.1\r\n" HOST ": x\r\n\r\n", 400},
	{"empty value", "GET / HTTP/1.1\r\n" HOST "X:\r\n\r\n", 200},
	{"8-bit value", "GET / HTTP/1.1\r\n" HOST "X: \xc3\xa4\r\n\r\n", 200},
	{"DEL in value", "GET / HTTP/1.1\r\n" HOST "X: \x7f\r\n\r\n", 400},
	{"length", "POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n", 200},
	{"two lengths",
		"POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n"
		"Content-Length: 6\r\n\r\n",
		400},
	{"two equal lengths",
		"POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n"
		"content-length: 5\r\n\r\n",
		400},
	{"length list", "POST / HTTP/1.1\r\n" HOST "Content-Length: 5, 5\r\n\r\n", 400},
	{"length sign", "POST / HTTP/1.1\r\n" HOST "Content-Length: +5\r\n\r\n", 400},
	{"length negative", "POST / HTTP/1.1\r\n" HOST "Content-Length: -5\r\n\r\n", 400},
	{"length hex", "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x5\r\n\r\n", 400},
	{"length empty", "POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", 400},
	{"length of 19 digits",
		"POST / HTTP/1.1\r\n" HOST "Content-Length: 1111111111111111111\r\n\r\n", 400},
	{"chunked", "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 200},
	{"Chunked", "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: Chunked\r\n\r\n", 200},
	{"chunked and length",
		"POST / HTTP/1.1\r\n" HOST
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
		400},
	{"gzip, chunked", "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n",
		501},
	{"two codings",
		"POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n"
		"Transfer-Encoding: chunked\r\n\r\n",
		501},
	{"chunked in 1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 501},
	{"expect", "POST / HTTP/1.1\r\n" HOST "Expect: 100-Continue\r\n\r\n", 200},
	{"expect more", "POST / HTTP/1.1\r\n" HOST "Expect: tea\r\n\r\n", 417},
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_head head;
		int status = parse(cases[i].text, strlen(cases[i].text), &head);

		if (status != cases[i].status)
			fail_msg("%s: %d instead of %d", cases[i].name, status, cases[i].status);
	}
}

static void test_nul_is_refused(void **state)
{
	static const char target[] = "GET /\0 HTTP/1.1\r\n" HOST "\r\n";
	static const char value[] = "GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n";
	struct http_head head;

	(void)state;
	assert_int_equal(parse(target, sizeof(target) - 1, &head), 400);
	assert_int_equal(parse(value, sizeof(value) - 1, &head), 400);
}

static void test_parts(void **state)
{
	static const char text[] =
		"POST /emails?x=1&y HTTP/1.1\r\nhost: a\r\n"
		"Content-Length: 012\r\nX-Blank: \t a b \t\r\n"
		"Expect: 100-continue\r\n\r\nbody";
	struct http_head head;

	(void)state;
	assert_int_equal(parse(text, sizeof(text) - 1, &head), 200);
	assert_true(span_is(head.method, "POST"));
	assert_true(span_is(head.path, "/emails"));
	assert_true(span_is(head.query, "x=1&y"));
	assert_int_equal(head.framing, HTTP_LENGTH);
	assert_int_equal(head.length, 12);
	assert_true(head.expects_continue);
	assert_true(span_is(*http_head_field(&head, "x-BLANK"), "a b"));
	assert_true(span_is_nocase(*http_head_field(&head, "EXPECT"), "100-CONTINUE"));
	assert_null(http_head_field(&head, "X-Other"));
}

/* RFC 9112 3.2.2: the host of the target counts, whatever Host says. */
static void test_absolute_form(void **state)
{
	static const struct {
		const char *target, *host, *path, *query;
	} forms[] = {
		{"http://b.test/emails?x=1", "b.test", "/emails", "x=1"},
		{"https://b.test:8080/", "b.test:8080", "/", ""},
		{"http://[::1]:80/a/b", "[::1]:80", "/a/b", ""},
		{"http://b.test", "b.test", "/", ""},
		{"http://b.test?x=/", "b.test", "/", "x=/"},
		{"//b.test/x", "a", "//b.test/x", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		_cleanup_free_ char *text = mem_printf(
			"GET %s HTTP/1.1\r\nX: y\r\n" HOST "\r\n", forms[i].target);
		struct http_head head;

		assert_int_equal(parse(text, strlen(text), &head), 200);
		assert_true(span_is(*http_head_field(&head, "Host"), forms[i].host));
		assert_true(span_is(head.path, forms[i].path));
		assert_true(span_is(head.query, forms[i].query));
	}
}

/* In HTTP/1.0, where Host is optional, too. */
static void test_absolute_form_without_host(void **state)
{
	static const char text[] = "GET http://b.test:81/x HTTP/1.0\r\n\r\n";
	struct http_head head;

	(void)state;
	assert_int_equal(parse(text, strlen(text), &head), 200);
	assert_non_null(http_head_field(&head, "Host"));
	assert_true(span_is(*http_head_field(&head, "Host"), "b.test:81"));
}

static void test_end_in_pieces(void **state)
{
	static const char text[] = "GET / HTTP/1.1\r\n" HOST "\r\nGET";
	const size_t whole = sizeof(text) - 1 - 3;

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++)
		for (size_t scanned = 0; scanned <= len && scanned < whole; scanned++) {
			struct http_fault fault = {0, NULL};
			size_t end = http_head_end(text, len, scanned, &fault);

			assert_int_equal(fault.status, 0);
			assert_int_equal(end, len >= whole ? whole : 0);
		}
}

static void test_limits(void **state)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	struct http_head head;

	(void)state;
	buf_add_str(&text, "GET / HTTP/1.1\r\n" HOST);
	for (int i = 1; i < HTTP_FIELDS_MAX; i++)
		buf_printf(&text, "X-%d: a\r\n", i);
	buf_add_str(&text, "\r\n");
	assert_int_equal(parse(text.data, text.len, &head), 200);
	text.len -= 2;
	buf_add_str(&text, "X: a\r\n\r\n");
	assert_int_equal(parse(text.data, text.len, &head), 431);

	buf_clear(&text);
	buf_add_str(&text, "GET / HTTP/1.1\r\nX: ");
	while (text.len < HTTP_HEAD_MAX)
		buf_add_char(&text, 'a');
	assert_int_equal(parse(text.data, text.len - 1, &head), 0);
	assert_int_equal(parse(text.data, text.len, &head), 431);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_nul_is_refused),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_absolute_form),
		cmocka_unit_test(test_absolute_form_without_host),
		cmocka_unit_test(test_end_in_pieces),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests_name("http_head", tests, NULL, NULL);
}
