/*
 * base64: decoding by libsodium, which works in constant time: keys come this
 * way too (RFC 7617).
 *
 * Threads: any; holds no state.
 */
#include "core/base/base64.h"

#include <sodium.h>
#include <stdbool.h>
#include <string.h>

/* The length without the blanks and the padding at the end; *pads_r tells how
 * many '=' were there. */
static size_t without_tail(const char *text, size_t len, size_t *pads_r)
{
	size_t pads = 0;

	while (len > 0 && strchr("= \t\r\n", text[len - 1]) != NULL) {
		if (text[len - 1] == '=')
			pads++;
		len--;
	}
	*pads_r = pads;
	return len;
}

/* Whether there are bytes that libsodium would not refuse: it takes some beyond
 * ASCII for characters of the alphabet, and NUL for one to skip. */
static bool has_odd_bytes(const char *text, size_t len)
{
	bool odd = false;

	for (size_t i = 0; i < len; i++)
		odd |= (signed char)text[i] <= 0;
	return odd;
}

int base64_decode(const char *text, size_t len, struct buf *out)
{
	size_t pads, chars = without_tail(text, len, &pads), bytes;
	unsigned char *to;

	if (has_odd_bytes(text, len))
		return -1;
	to = (unsigned char *)buf_reserve(out, chars / 4 * 3 + 3);
	if (sodium_base642bin(to, chars / 4 * 3 + 3, text, chars, " \t\r\n",
		    &bytes, NULL, sodium_base64_VARIANT_ORIGINAL_NO_PADDING) != 0 ||
		(pads > 0 && pads != (3 - bytes % 3) % 3)) {
		buf_wrote(out, 0); /* puts the NUL back */
		return -1;
	}
	buf_wrote(out, bytes);
	return 0;
}
