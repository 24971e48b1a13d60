/*
 * mime_words_decode: encoded words read, leniently: blanks inside a word and
 * words right beside other text are common.
 *
 * Time is linear in the length of the value. Threads: any; holds no state.
 */
#include "core/mail/mime_words_decode.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/ascii.h"
#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_charset.h"
#include "core/mail/mime_transfer.h"

/* Stands for "=?": a code point that no text has (Unicode 23.7). */
#define HIDDEN "\xef\xbf\xbf"

enum { CHARSET_MAX = 40 };

struct word {
	char charset[CHARSET_MAX + 1];
	char encoding; /* of bBqQ */
	struct mime_span payload;
	const char *end;
};

/* Words in a row with the same charset are converted together: some programs
 * cut between the bytes of a character. */
struct decoder {
	enum mime_words_reading reading;
	struct buf out;
	struct buf payload; /* not decoded yet */
	struct buf bytes;   /* decoded, but not converted */
	char encoding;
	char charset[CHARSET_MAX + 1];
};

/* Reads `=?charset*language?encoding?payload?=`. */
static bool read_word(const char *p, struct word *word)
{
	size_t len;

	if (!str_starts(p, "=?"))
		return false;
	p += 2;
	len = strcspn(p, "?*");
	if (len > CHARSET_MAX) /* no charset that is known has such a name */
		len = CHARSET_MAX;
	memcpy(word->charset, p, len);
	word->charset[len] = '\0';
	p += strcspn(p, "?"); /* over the language, RFC 2231 5 */
	if (p[0] == '\0' || p[1] == '\0' || !strchr("bBqQ", p[1]) || p[2] != '?')
		return false;
	word->encoding = p[1];
	p += 3;
	word->payload = (struct mime_span){p, strcspn(p, "?")};
	word->end = p + word->payload.len + 2;
	return str_starts(p + word->payload.len, "?=");
}

static void decode_q(struct mime_span text, struct buf *out)
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

static void decode_payload(struct decoder *decoder)
{
	const struct mime_span payload = {
		buf_str(&decoder->payload), decoder->payload.len};
	struct buf *bytes = &decoder->bytes;

	if (payload.len == 0)
		return;
	if (decoder->encoding == 'q')
		decode_q(payload, bytes);
	else if (base64_decode(payload.data, payload.len, bytes) < 0)
		mime_transfer_decode("base64", payload, bytes);
	buf_clear(&decoder->payload);
}

static void add_payload(struct decoder *decoder, const struct word *word)
{
	char encoding = strchr("qQ", word->encoding) ? 'q' : 'b';

	if (decoder->reading != MIME_WORDS_JOINED || encoding != decoder->encoding)
		decode_payload(decoder);
	decoder->encoding = encoding;
	buf_add(&decoder->payload, word->payload.data, word->payload.len);
}

/* Text in UTF-8, as it should be. */
static void add_plain(struct decoder *decoder, const char *text, size_t len)
{
	if (decoder->reading == MIME_WORDS_STRICT)
		mime_charset_add(&decoder->out, text, len, NULL);
	else
		mime_charset_add_guessed(&decoder->out, text, len);
}

static void flush(struct decoder *decoder)
{
	const char *charset = decoder->charset;

	decode_payload(decoder);
	if (str_eq_nocase(charset, "utf-8") || !mime_charset_known(charset))
		add_plain(decoder, buf_str(&decoder->bytes), decoder->bytes.len);
	else
		mime_charset_add(&decoder->out, buf_str(&decoder->bytes),
			decoder->bytes.len, charset);
	buf_clear(&decoder->bytes);
}

static bool can_read(const struct decoder *decoder, const struct word *word)
{
	return decoder->reading != MIME_WORDS_STRICT ||
	       mime_charset_known(word->charset);
}

static bool is_same_charset(const struct decoder *decoder, const struct word *word)
{
	return str_eq_nocase(word->charset, decoder->charset);
}

/* Decodes the words in a row that p begins with; where they end, or NULL when
 * there is none. Blanks between them go (RFC 2047 6.2). */
static const char *decode_row(struct decoder *decoder, const char *p)
{
	struct word word;
	const char *end = NULL;

	while (read_word(p, &word)) {
		if (!is_same_charset(decoder, &word)) {
			if (!can_read(decoder, &word))
				break;
			flush(decoder);
			memcpy(decoder->charset, word.charset, CHARSET_MAX + 1);
		}
		add_payload(decoder, &word);
		end = word.end;
		p = end + strspn(end, " \t\r\n");
	}
	flush(decoder);
	return end;
}

char *mime_words_read(const char *value, enum mime_words_reading reading)
{
	struct decoder decoder = {.reading = reading, .charset = "UTF-8"};
	const char *plain = value, *p = value, *end;

	while ((p = strchr(p, '=')) != NULL) {
		struct word word;

		if (!read_word(p, &word)) {
			p++;
			continue;
		}
		add_plain(&decoder, plain, (size_t)(p - plain));
		end = decode_row(&decoder, p);
		plain = end ? end : p;
		p = end ? end : p + 1;
	}
	add_plain(&decoder, plain, strlen(plain));
	buf_free(&decoder.payload);
	buf_free(&decoder.bytes);
	return buf_take(&decoder.out);
}

char *mime_words_decode(const char *value)
{
	return mime_words_read(value, MIME_WORDS_STRICT);
}

/* The text with each `from` made `to`. */
static char *replace(const char *text, const char *from, const char *to)
{
	struct buf out = BUF_INIT;
	const char *found;

	while ((found = strstr(text, from)) != NULL) {
		buf_add(&out, text, (size_t)(found - text));
		buf_add_str(&out, to);
		text = found + strlen(from);
	}
	buf_add_str(&out, text);
	return buf_take(&out);
}

char *mime_words_hide(const char *value)
{
	return replace(value, "=?", HIDDEN);
}

char *mime_words_show(const char *hidden)
{
	return replace(hidden, HIDDEN, "=?");
}
