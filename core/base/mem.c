/*
 * mem: the only place that handles running out of memory, with abort().
 */
#include "core/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void *checked(void *block)
{
	if (block == NULL) {
		fputs("postern: out of memory\n", stderr);
		abort();
	}
	return block;
}

void *mem_alloc(size_t n, size_t size)
{
	return checked(calloc(n ? n : 1, size ? size : 1));
}

void *mem_grow(void *block, size_t n, size_t size)
{
	return checked(reallocarray(block, n ? n : 1, size ? size : 1));
}

void *mem_append(void *block, size_t n, size_t size)
{
	if ((n & (n - 1)) == 0)
		block = mem_grow(block, n ? n * 2 : 1, size);
	memset((char *)block + n * size, 0, size);
	return block;
}

void *mem_dup(const void *data, size_t len)
{
	char *copy = checked(malloc(len + 1));

	if (len > 0)
		memcpy(copy, data, len);
	copy[len] = '\0';
	return copy;
}

uint64_t mem_hash(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
	return hash;
}

char *mem_strdup(const char *text)
{
	return text == NULL ? NULL : mem_dup(text, strlen(text));
}

char *mem_vprintf(const char *format, va_list args)
{
	char *text;

	return checked(vasprintf(&text, format, args) < 0 ? NULL : text);
}

char *mem_printf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = mem_vprintf(format, args);
	va_end(args);
	return text;
}
