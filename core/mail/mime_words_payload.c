/*
 * mime_words_payload: see the header.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_words_payload.h"

#include <stdbool.h>
#include <stdint.h>

#include "core/base/ascii.h"
#include "core/base/base64.h"
#include "core/mail/mime_transfer.h"

void mime_words_payload_q(struct mime_span text, struct buf *out)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];
		int byte = -1;

		if (c == '=' && text.len - i >= 3)
			byte = ascii_hex_pair(text.data + i + 1);
		if (byte >= 0) {
			c = (char)byte;
			i += 2;
		} else if (c == '_') {
			c = ' ';
		}
		buf_add_char(out, c);
	}
}

static void decode_leniently(
	struct mime_span text, bool skip_padding, struct buf *out)
{
	uint32_t bits = 0;
	int n = 0;
	bool padded = false;

	for (size_t i = 0; i < text.len; i++) {
		int number = base64_number(text.data[i]);

		if (text.data[i] == '=' && !skip_padding) {
			padded = true;
			n = 0;
		}
		if (number < 0)
			continue;
		if (padded)
			buf_add_char(out, ' ');
		padded = false;
		bits = bits << 6 | (uint32_t)number;
		n += 6;
		if (n < 8)
			continue;
		n -= 8;
		buf_add_char(out, (char)(bits >> n & 0xff));
	}
}

void mime_words_payload_b(
	struct mime_span text, enum mime_words_base64 way, struct buf *out)
{
	if (way != MIME_WORDS_BASE64_USUAL)
		decode_leniently(text, way == MIME_WORDS_BASE64_WHOLE, out);
	else if (base64_decode(text.data, text.len, out) < 0)
		mime_transfer_decode("base64", text, out);
}
