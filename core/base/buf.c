/*
 * buf: a byte buffer that grows by doubling.
 *
 * Invariant: data is NULL and cap is 0, or data[len] is NUL and len < cap. Threads: any; a
 * buffer is used by one thread at a time.
 */
#include "core/base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "core/base/mem.h"

/* Buffers of at least BUF_LARGE contain whole huge pages, whatever their alignment. */
enum { BUF_FIRST = 256, BUF_LARGE = 4 * 1024 * 1024, PAGE = 4096 };

/* Asks for huge pages. The kernel allocates each page when it is first touched. For a large
 * message this is a sixth of all work, with huge pages almost none. A kernel without huge pages
 * ignores the request. */
static void ask_for_large_pages(const struct buf *buf)
{
	uintptr_t begin = (uintptr_t)buf->data, end = begin + buf->cap;

	begin = (begin + PAGE - 1) / PAGE * PAGE;
	end = end / PAGE * PAGE;
	madvise((void *)begin, end - begin, MADV_HUGEPAGE);
}

char *buf_reserve(struct buf *buf, size_t len)
{
	assert(len < SIZE_MAX / 2 - buf->len);
	if (buf->cap - buf->len <= len) {
		size_t cap = buf->cap ? buf->cap : BUF_FIRST;

		while (cap - buf->len <= len)
			cap *= 2;
		buf->data = mem_grow(buf->data, cap, 1);
		buf->cap = cap;
		buf->data[buf->len] = '\0';
		if (cap >= BUF_LARGE)
			ask_for_large_pages(buf);
	}
	return buf->data + buf->len;
}

void buf_wrote(struct buf *buf, size_t len)
{
	assert(buf->cap - buf->len > len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_add(struct buf *buf, const void *data, size_t len)
{
	char *to = buf_reserve(buf, len);

	if (len > 0)
		memcpy(to, data, len);
	buf_wrote(buf, len);
}

void buf_add_str(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_add_char(struct buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_add_hex(struct buf *buf, const void *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (const unsigned char *byte = data, *end = byte + len; byte < end; byte++)
		buf_add(buf, (const char[]){digits[*byte >> 4], digits[*byte & 15]}, 2);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	char *to = buf_reserve(buf, 0);
	size_t room = buf->cap - buf->len;
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(to, room, format, args);
	va_end(args);
	assert(len >= 0);
	if ((size_t)len >= room) {
		va_start(args, format);
		vsnprintf(buf_reserve(buf, (size_t)len), (size_t)len + 1, format, args);
		va_end(args);
	}
	buf_wrote(buf, (size_t)len);
}

const char *buf_str(const struct buf *buf)
{
	return buf->data ? buf->data : "";
}

char *buf_take(struct buf *buf)
{
	char *data = buf->data ? buf->data : mem_dup("", 0);

	*buf = BUF_INIT;
	return data;
}

void buf_clear(struct buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

void buf_free(struct buf *buf)
{
	free(buf->data);
	*buf = BUF_INIT;
}
