/*
 * span: a view of bytes that somebody else owns. Nothing is read beyond its end.
 */
#include "core/base/span.h"

#include <string.h>
#include <strings.h>

#include "core/base/mem.h"
#include "core/base/str.h"

bool span_is(struct span text, const char *word)
{
	return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

bool span_is_nocase(struct span text, const char *word)
{
	return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

uint64_t span_hash(struct span text)
{
	return mem_hash(MEM_HASH, text.data, text.len);
}

struct span span_trim(struct span text)
{
	while (text.len > 0 && ascii_is_space(text.data[0])) {
		text.data++;
		text.len--;
	}
	while (text.len > 0 && ascii_is_space(text.data[text.len - 1]))
		text.len--;
	return text;
}

struct span span_cut(struct span *rest, char separator)
{
	const char *end = memchr(rest->data, separator, rest->len);
	struct span head = *rest;

	if (end)
		head.len = (size_t)(end - rest->data);
	rest->data += head.len + (end != NULL);
	rest->len -= head.len + (end != NULL);
	return head;
}

bool span_percent_decode(struct span text, struct buf *out)
{
	char *to = buf_reserve(out, text.len);
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		int byte = (unsigned char)text.data[i];

		if (byte == '%') {
			byte = text.len - i >= 3 ? ascii_hex_pair(text.data + i + 1) : -1;
			if (byte < 0) {
				buf_wrote(out, 0); /* restores the NUL */
				return false;
			}
			i += 2;
		}
		to[n++] = (char)byte;
	}
	buf_wrote(out, n);
	return true;
}
