/*
 * Fuzzes http_head and http_chunks: a request head, and a chunked body behind
 * it. What they find must not depend on the pieces in which bytes arrive.
 */
#include <string.h>

#include "core/base/mem.h"
#include "httpd/http/http1.h"
#include "tests/fuzz/fuzz.h"

static void check_inside(struct span text, const char *data, size_t len)
{
	CHECK(text.data >= data && text.data + text.len <= data + len);
	CHECK(memchr(text.data, '\n', text.len) == NULL);
	CHECK(memchr(text.data, '\r', text.len) == NULL);
}

static void parse(const char *data, size_t len)
{
	struct http_head head = {0};
	struct http_fault fault = {0, NULL};

	if (http_head_parse(data, len, &head, &fault) < 0) {
		CHECK(fault.status >= 400 && fault.text);
		return;
	}
	check_inside(head.method, data, len);
	check_inside(head.path, data, len);
	check_inside(head.query, data, len);
	CHECK(head.fields_n <= HTTP_FIELDS_MAX);
	for (size_t i = 0; i < head.fields_n; i++) {
		check_inside(head.fields[i].name, data, len);
		check_inside(head.fields[i].value, data, len);
	}
}

/* Where the head ends, found when each byte arrives by itself. */
static size_t end_bytewise(const char *data, size_t len, struct http_fault *fault)
{
	for (size_t n = 1; n <= len; n++) {
		size_t end = http_head_end(data, n, n - 1, fault);

		if (end > 0 || fault->status != 0)
			return end;
	}
	return 0;
}

static enum http_chunks_result scan_bytewise(
	struct http_chunks *chunks, char *data, size_t len, size_t *used_r)
{
	for (size_t i = 0; i < len; i++) {
		enum http_chunks_result result;
		size_t used = 0;

		result = http_chunks_scan(chunks, data + i, 1, &used);
		*used_r = i + used;
		if (result != CHUNKS_MORE)
			return result;
	}
	*used_r = len;
	return CHUNKS_MORE;
}

/* The scan may change what it is given. */
static void scan(const char *data, size_t len)
{
	_cleanup_free_ char *a = mem_dup(data, len);
	_cleanup_free_ char *b = mem_dup(data, len);
	struct http_chunks whole = {0}, bytes = {0};
	size_t used = 0, used_bytes = 0;
	enum http_chunks_result result = http_chunks_scan(&whole, a, len, &used);

	CHECK(result == scan_bytewise(&bytes, b, len, &used_bytes));
	if (result == CHUNKS_BAD)
		return;
	CHECK(used == used_bytes && used <= len);
	CHECK(whole.size == bytes.size && whole.left == bytes.left);
	CHECK(memcmp(a, b, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *text = mem_dup(data, size);
	struct http_fault fault = {0, NULL}, fault_bytes = {0, NULL};
	size_t end = http_head_end(text, size, 0, &fault);

	if (size <= HTTP_HEAD_MAX)
		CHECK(end == end_bytewise(text, size, &fault_bytes) &&
			fault.status == fault_bytes.status);
	CHECK(end <= size);
	if (end > 0)
		parse(text, end);
	scan(text + end, size - end);
	return 0;
}
