/*
 * mime_transfer: contents taken out of their transfer encoding, by GMime and,
 * where it is to be strict, by libsodium.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_transfer.h"

#include <gmime/gmime.h>
#include <stdbool.h>

#include "core/base/base64.h"
#include "core/base/mem.h"
#include "core/base/str.h"

static const struct encoding {
	const char *name;
	GMimeContentEncoding code;
} encodings[] = {
	{"7bit", GMIME_CONTENT_ENCODING_7BIT},
	{"8bit", GMIME_CONTENT_ENCODING_8BIT},
	{"binary", GMIME_CONTENT_ENCODING_BINARY},
	{"base64", GMIME_CONTENT_ENCODING_BASE64},
	{"quoted-printable", GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE},
};

static const struct encoding *find(const char *name)
{
	if (str_empty(name))
		return &encodings[0];
	for (size_t i = 0; i < ARRAY_SIZE(encodings); i++)
		if (str_eq_nocase(name, encodings[i].name))
			return &encodings[i];
	return NULL;
}

static bool is_encoded(const struct encoding *encoding)
{
	return encoding->code == GMIME_CONTENT_ENCODING_BASE64 ||
	       encoding->code == GMIME_CONTENT_ENCODING_QUOTEDPRINTABLE;
}

static void decode(
	GMimeContentEncoding code, struct mime_span content, struct buf *out)
{
	GMimeEncoding state;
	size_t n;

	g_mime_encoding_init_decode(&state, code);
	n = g_mime_encoding_flush(&state, content.data, content.len,
		buf_reserve(out, g_mime_encoding_outlen(&state, content.len)));
	buf_wrote(out, n);
}

int mime_transfer_decode(
	const char *encoding, struct mime_span content, struct buf *out)
{
	const struct encoding *known = find(encoding);

	if (known == NULL)
		return -1;
	if (is_encoded(known))
		decode(known->code, content, out);
	else
		buf_add(out, content.data, content.len);
	return 0;
}

int mime_transfer_decode_strictly(
	const char *encoding, struct mime_span content, struct buf *out)
{
	const struct encoding *known = find(encoding);

	if (known && known->code == GMIME_CONTENT_ENCODING_BASE64)
		return base64_decode(content.data, content.len, out);
	return mime_transfer_decode(encoding, content, out);
}
