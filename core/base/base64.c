/*
 * base64: short texts are decoded with libsodium in constant time, because they may be secrets
 * (API keys in Basic authentication, RFC 7617). Long ones are attachments, which a table
 * decodes several times as fast.
 */
#include "core/base/base64.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SHORT_MAX = 1024 };

/* The value of a character plus one; 0: not base64. */
enum { SKIP = 0x80 };

/* clang-format off */
static const uint8_t numbers[256] = {
	['A'] = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13,
	['N'] = 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
	['a'] = 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
	['n'] = 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52,
	['0'] = 53, 54, 55, 56, 57, 58, 59, 60, 61, 62,
	['+'] = 63, ['/'] = 64,
	[' '] = SKIP, ['\t'] = SKIP, ['\r'] = SKIP, ['\n'] = SKIP,
};
/* clang-format on */

/* Encodes whole groups. Returns the end of the output. */
static char *encode_groups(const uint8_t *from, size_t groups, char *to)
{
	static const char alphabet[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (; groups > 0; groups--, from += 3, to += 4) {
		to[0] = alphabet[from[0] >> 2];
		to[1] = alphabet[(from[0] << 4 | from[1] >> 4) & 63];
		to[2] = alphabet[(from[1] << 2 | from[2] >> 6) & 63];
		to[3] = alphabet[from[2] & 63];
	}
	return to;
}

void base64_encode(const char *data, size_t len, size_t line_max, struct buf *out)
{
	const uint8_t *from = (const uint8_t *)data;
	size_t groups = (len + 2) / 3, per_line = line_max / 4;
	size_t breaks = per_line > 0 ? groups / per_line : 0;
	char *start = buf_reserve(out, groups * 4 + breaks), *to = start;

	while (len > 0) {
		size_t n = len / 3;

		if (to > start)
			*to++ = '\n';
		if (per_line > 0 && n > per_line)
			n = per_line;
		to = encode_groups(from, n, to);
		from += n * 3;
		len -= n * 3;
		if (len > 0 && len < 3 && (per_line == 0 || n < per_line)) {
			uint8_t last[3] = {from[0], len > 1 ? from[1] : 0, 0};

			to = encode_groups(last, 1, to);
			memset(to - (3 - len), '=', 3 - len);
			len = 0;
		}
	}
	buf_wrote(out, (size_t)(to - start));
}

/* Returns the length without blanks and padding at the end. *pads_r is the number of '='. */
static size_t without_tail(const char *text, size_t len, size_t *pads_r)
{
	size_t pads = 0;

	while (len > 0 && text[len - 1] != '\0' && strchr("= \t\r\n", text[len - 1]) != NULL) {
		if (text[len - 1] == '=')
			pads++;
		len--;
	}
	*pads_r = pads;
	return len;
}

/* True if there are bytes that libsodium would accept wrongly: it takes some non-ASCII bytes
 * for characters of the alphabet, and skips NUL. */
static bool has_odd_bytes(const char *text, size_t len)
{
	bool odd = false;

	for (size_t i = 0; i < len; i++)
		odd |= (signed char)text[i] <= 0;
	return odd;
}

static int decode_short(const char *text, size_t len, uint8_t *to, size_t *bytes_r)
{
	if (has_odd_bytes(text, len))
		return -1;
	return sodium_base642bin(to, len / 4 * 3 + 3, text, len, " \t\r\n", bytes_r, NULL,
		sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
}

/* Decodes groups of four characters with nothing between them. Returns the number of characters
 * decoded. */
static size_t decode_groups(const uint8_t *text, size_t len, uint8_t *to)
{
	size_t at;

	for (at = 0; at + 4 <= len; at += 4, to += 3) {
		uint32_t a = numbers[text[at]] - 1U;
		uint32_t b = numbers[text[at + 1]] - 1U;
		uint32_t c = numbers[text[at + 2]] - 1U;
		uint32_t d = numbers[text[at + 3]] - 1U;
		uint32_t bits = a << 18 | b << 12 | c << 6 | d;

		if ((a | b | c | d) > 63)
			break;
		to[0] = (uint8_t)(bits >> 16);
		to[1] = (uint8_t)(bits >> 8);
		to[2] = (uint8_t)bits;
	}
	return at;
}

/* Reads the next group of up to four characters and moves *at past it. Returns their number,
 * or -1. */
static int next_group(const uint8_t *text, size_t len, size_t *at, uint32_t *bits_r)
{
	uint32_t bits = 0;
	int n = 0;

	for (; n < 4 && *at < len; ++*at) {
		uint32_t number = numbers[text[*at]];

		if (number == 0)
			return -1;
		if (number == SKIP)
			continue;
		bits |= (number - 1) << (18 - 6 * n);
		n++;
	}
	*bits_r = bits;
	return n;
}

/* Writes the bytes of a group. The last group may have fewer than four characters; its unused
 * bits must be 0. Returns the number of bytes, or -1. */
static int put_group(uint32_t bits, int n, uint8_t *to)
{
	int bytes = n * 6 / 8;
	uint32_t left_over = (UINT32_C(1) << (24 - 8 * bytes)) - 1;

	if (n == 1 || (bits & left_over) != 0)
		return -1;
	for (int i = 0; i < bytes; i++)
		to[i] = (uint8_t)(bits >> (16 - 8 * i));
	return bytes;
}

static int decode_long(const char *chars, size_t len, uint8_t *to, size_t *bytes_r)
{
	const uint8_t *text = (const uint8_t *)chars;
	size_t at = 0, bytes = 0;

	while (at < len) {
		size_t fast = decode_groups(text + at, len - at, to + bytes);
		uint32_t bits;
		int n, written;

		at += fast;
		bytes += fast / 4 * 3;
		n = next_group(text, len, &at, &bits);
		if (n < 0 || (n < 4 && at < len))
			return -1;
		written = put_group(bits, n, to + bytes);
		if (written < 0)
			return -1;
		bytes += (size_t)written;
	}
	*bytes_r = bytes;
	return 0;
}

int base64_decode(const char *text, size_t len, struct buf *out)
{
	size_t pads, chars = without_tail(text, len, &pads), bytes;
	uint8_t *to = (uint8_t *)buf_reserve(out, chars / 4 * 3 + 3);
	int result = chars > SHORT_MAX ? decode_long(text, chars, to, &bytes)
				       : decode_short(text, chars, to, &bytes);

	if (result != 0 || (pads > 0 && pads != (3 - bytes % 3) % 3)) {
		buf_wrote(out, 0); /* restores the NUL */
		return -1;
	}
	buf_wrote(out, bytes);
	return 0;
}

void base64_decode_leniently(const char *text, size_t len, struct buf *out)
{
	uint8_t *to = (uint8_t *)buf_reserve(out, len / 4 * 3 + 3);
	uint32_t bits = 0;
	size_t bytes = 0, i;
	int n = 0;

	for (i = 0; i < len && text[i] != '='; i++) {
		int number = base64_number(text[i]);

		if (number < 0)
			continue;
		bits = bits << 6 | (uint32_t)number;
		if (++n < 4)
			continue;
		to[bytes++] = (uint8_t)(bits >> 16);
		to[bytes++] = (uint8_t)(bits >> 8);
		to[bytes++] = (uint8_t)bits;
		n = 0;
	}
	if (n >= 2 && i < len)
		to[bytes++] = (uint8_t)(bits << (4 - n) * 6 >> 16);
	if (n == 3 && i < len)
		to[bytes++] = (uint8_t)(bits << 6 >> 8);
	buf_wrote(out, bytes);
}

int base64_number(char c)
{
	uint8_t number = numbers[(unsigned char)c];

	return number & SKIP ? -1 : number - 1;
}
