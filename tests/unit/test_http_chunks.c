/* http_chunks: where chunked bodies end, in one piece and in many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/mem.h"
#include "httpd/http/http1.h"

static const struct {
	const char *name;
	const char *text;
	enum http_chunks_result result;
	size_t used; /* with CHUNKS_END */
	size_t size;
} cases[] = {
	{"empty", "0\r\n\r\n", CHUNKS_END, 5, 0},
	{"one", "3\r\nabc\r\n0\r\n\r\n", CHUNKS_END, 13, 3},
	{"two", "1\r\na\r\n2\r\nbc\r\n0\r\n\r\nGET", CHUNKS_END, 18, 3},
	{"hex", "A\r\n0123456789\r\n0\r\n\r\n", CHUNKS_END, 20, 10},
	{"leading zeros", "0003\r\nabc\r\n0\r\n\r\n", CHUNKS_END, 16, 3},
	{"extension", "1;a=b\r\na\r\n0\r\n\r\n", CHUNKS_END, 15, 1},
	{"blank and extension", "1 ; a\r\na\r\n0\r\n\r\n", CHUNKS_END, 15, 1},
	{"trailer", "0\r\nX: a\r\nY: b\r\n\r\n", CHUNKS_END, 17, 0},
	{"content like framing", "5\r\n0\r\n\r\n\r\n0\r\n\r\n", CHUNKS_END, 15, 5},
	{"not complete", "3\r\nab", CHUNKS_MORE, 0, 3},
	{"nothing", "", CHUNKS_MORE, 0, 0},
	{"no size", "\r\n", CHUNKS_BAD, 0, 0},
	{"no digit", "g\r\n", CHUNKS_BAD, 0, 0},
	{"sign", "-1\r\n", CHUNKS_BAD, 0, 0},
	{"bare LF", "1\na", CHUNKS_BAD, 0, 0},
	{"bare LF after extension", "1;a\na", CHUNKS_BAD, 0, 0},
	{"no CRLF after content", "1\r\nab\r\n", CHUNKS_BAD, 0, 1},
	{"LF after content", "1\r\na\n0", CHUNKS_BAD, 0, 1},
	{"bare LF in trailer", "0\r\nX: a\n\r\n", CHUNKS_BAD, 0, 0},
	{"trailer without colon", "0\r\nX\r\n\r\n", CHUNKS_BAD, 0, 0},
	{"trailer without name", "0\r\n: a\r\n\r\n", CHUNKS_BAD, 0, 0},
	{"folded trailer", "0\r\nX: a\r\n b\r\n\r\n", CHUNKS_BAD, 0, 0},
	{"blank in trailer name", "0\r\nX : a\r\n\r\n", CHUNKS_BAD, 0, 0},
	{"control in trailer name", "0\r\nX\001: a\r\n\r\n", CHUNKS_BAD, 0, 0},
	{"control in trailer", "0\r\nX: a\001\r\n\r\n", CHUNKS_BAD, 0, 0},
	{"tab in trailer", "0\r\nX:\ta\tb\r\n\r\n", CHUNKS_END, 13, 0},
	{"bare CR in trailer", "0\r\nX: a\rb\r\n\r\n", CHUNKS_BAD, 0, 0},
	{"CR without LF at the end", "0\r\n\rX", CHUNKS_BAD, 0, 0},
	{"too large", "1000000000000\r\n", CHUNKS_BAD, 0, 0},
};

static void test_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = mem_strdup(cases[i].text);
		struct http_chunks chunks = {0};
		size_t used = 0;
		enum http_chunks_result result = http_chunks_scan(
			&chunks, text, strlen(text), &used);

		if (result != cases[i].result || chunks.size != cases[i].size ||
			(result == CHUNKS_END && used != cases[i].used))
			fail_msg("%s: result %d, used %zu, size %zu", cases[i].name, result, used,
				(size_t)chunks.size);
	}
}

static void test_byte_by_byte(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_chunks chunks = {0};
		enum http_chunks_result result = CHUNKS_MORE;
		_cleanup_free_ char *text = mem_strdup(cases[i].text);
		size_t at = 0, used;

		while (result == CHUNKS_MORE && text[at])
			result = http_chunks_scan(&chunks, text + at++, 1, &used);
		if (result != cases[i].result || (result == CHUNKS_END && at != cases[i].used))
			fail_msg("%s: result %d at %zu", cases[i].name, result, at);
	}
}

static void test_endless_lines(void **state)
{
	static const char *const starts[] = {"1;", "0\r\nX: "};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		_cleanup_free_ char *start = mem_strdup(starts[i]);
		struct http_chunks chunks = {0};
		char x[] = "x";
		size_t used, n = 0;

		http_chunks_scan(&chunks, start, strlen(start), &used);
		while (http_chunks_scan(&chunks, x, 1, &used) == CHUNKS_MORE)
			assert_true(n++ < 10000);
	}
}

static void test_extensions_are_blanked(void **state)
{
	char text[] = "1;name=\"value\"\r\na\r\n0\r\n\r\n";
	struct http_chunks chunks = {0};
	size_t used;

	(void)state;
	http_chunks_scan(&chunks, text, sizeof(text) - 1, &used);
	assert_string_equal(text, "1             \r\na\r\n0\r\n\r\n");
}

/* evhttp makes header fields of them, and ends at a NUL. */
static void test_trailers_are_hidden(void **state)
{
	char text[] = "0\r\nConnection: close\r\nY:\r\n\r\nNext: x";
	char nul[] = "0\r\nX: a\0b\r\n\r\n", first[] = "0\r\n\0: a\r\n\r\n";
	struct http_chunks chunks = {0}, with_nul = {0}, with_first = {0};
	size_t used;

	(void)state;
	assert_int_equal(http_chunks_scan(&chunks, text, sizeof(text) - 1, &used), CHUNKS_END);
	assert_string_equal(text, "0\r\nxxxxxxxxxx:xxxxxx\r\nx:\r\n\r\nNext: x");
	assert_int_equal(http_chunks_scan(&with_nul, nul, sizeof(nul) - 1, &used), CHUNKS_BAD);
	assert_int_equal(
		http_chunks_scan(&with_first, first, sizeof(first) - 1, &used), CHUNKS_BAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_byte_by_byte),
		cmocka_unit_test(test_endless_lines),
		cmocka_unit_test(test_extensions_are_blanked),
		cmocka_unit_test(test_trailers_are_hidden),
	};

	return cmocka_run_group_tests_name("http_chunks", tests, NULL, NULL);
}
