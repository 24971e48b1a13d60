/*
 * mime_words: reads and writes encoded words (RFC 2047).
 *
 * Reading is lenient: blanks inside a word and words next to other text are common. Time is
 * linear in the length of the value.
 *
 * Written words have at most 75 characters, their lines at most 76, except for a word that is
 * attached. No word ends inside a character. Only the last base64 word of a text is padded,
 * because some programs decode the base64 of all words as one. If a text cannot be cut that
 * way, the word uses the Q encoding.
 */
#include "core/mime/mime_words.h"

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/span.h"
#include "core/base/str.h"
#include "core/mime/mime_charset.h"

/* Reading. */

/* Appends the decoded bytes of text in the Q encoding. */
static void decode_q(struct span text, struct buf *out)
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

/* Appends the decoded bytes of base64 that may be invalid: other characters are skipped. Programs
 * end or go on at padding inside, so a blank is put there; with skip_padding it is skipped too. */
static void decode_b_leniently(struct span text, bool skip_padding, struct buf *out)
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

enum { CHARSET_MAX = 40, ESCAPE = 0x1b };

struct word {
	char charset[CHARSET_MAX + 1];
	char encoding; /* one of bBqQ */
	struct span payload;
	const char *end;
};

/* Stands for mime_words_decode(), and is known by its address. */
static const struct mime_words_reading usual = {0};

/* Adjacent words with the same charset are converted together, because some programs split a
 * character between two words. */
struct decoder {
	const struct mime_words_reading *reading; /* &usual: as mime_words_decode() */
	const char *last;                         /* the last ?= of the value; NULL if none */
	struct buf out;
	struct buf payload; /* not decoded yet */
	struct buf bytes;   /* decoded but not converted */
	char encoding;
	char charset[CHARSET_MAX + 1];
};

static const char *last_end(const char *value)
{
	const char *p = value + strlen(value);

	while (p > value)
		if (*--p == '?' && p[1] == '=')
			return p;
	return NULL;
}

static size_t payload_len(const struct decoder *decoder, const char *payload)
{
	if (!decoder->reading->wide)
		return strcspn(payload, "?");
	if (decoder->last && payload <= decoder->last)
		return (size_t)(strstr(payload, "?=") - payload);
	return strlen(payload);
}

/* Reads `=?charset*language?encoding?`. Returns where the payload begins, or NULL. */
static const char *read_word_head(const char *p, struct word *word)
{
	size_t len;

	if (!str_starts(p, "=?"))
		return NULL;
	p += 2;
	len = strcspn(p, "?*");
	if (len > CHARSET_MAX) /* no known charset has such a long name */
		len = CHARSET_MAX;
	memcpy(word->charset, p, len);
	word->charset[len] = '\0';
	p += strcspn(p, "?"); /* skips the language (RFC 2231 5) */
	if (p[0] == '\0' || p[1] == '\0' || !strchr("bBqQ", p[1]) || p[2] != '?')
		return NULL;
	word->encoding = p[1];
	return p + 3;
}

/* Reads a word that ends with ?=. With `wide`, ?= may be missing. */
static bool read_word(const struct decoder *decoder, const char *p, struct word *word)
{
	bool ended;

	p = read_word_head(p, word);
	if (p == NULL)
		return false;
	word->payload = (struct span){p, payload_len(decoder, p)};
	p += word->payload.len;
	ended = str_starts(p, "?=");
	word->end = ended ? p + 2 : p;
	return ended || decoder->reading->wide;
}

/* True if not all programs read the text as UTF-8. */
static bool is_doubtful(const char *text, size_t len)
{
	return memchr(text, ESCAPE, len) || !str_utf8_valid(text, len);
}

static void decode_payload(struct decoder *decoder)
{
	const struct span payload = {buf_str(&decoder->payload), decoder->payload.len};
	struct buf *bytes = &decoder->bytes;

	if (payload.len == 0)
		return;
	if (decoder->encoding == 'q')
		decode_q(payload, bytes);
	else if (decoder->reading != &usual)
		decode_b_leniently(payload, decoder->reading->joined, bytes);
	else if (base64_decode(payload.data, payload.len, bytes) < 0)
		base64_decode_leniently(payload.data, payload.len, bytes);
	buf_clear(&decoder->payload);
}

static void add_payload(struct decoder *decoder, const struct word *word)
{
	char encoding = strchr("qQ", word->encoding) ? 'q' : 'b';

	if (!decoder->reading->joined || encoding != decoder->encoding)
		decode_payload(decoder);
	decoder->encoding = encoding;
	buf_add(&decoder->payload, word->payload.data, word->payload.len);
}

/* Appends text that should be UTF-8. */
static void add_utf8(struct decoder *decoder, const char *text, size_t len)
{
	if (decoder->reading == &usual)
		mime_charset_add(&decoder->out, text, len, NULL);
	else
		mime_charset_add_guessed(&decoder->out, text, len);
}

/* Appends text outside of words. */
static void add_plain(struct decoder *decoder, const char *text, size_t len)
{
	const struct mime_words_reading *reading = decoder->reading;

	if (reading->everywhere && is_doubtful(text, len))
		mime_charset_add(&decoder->out, text, len, reading->charset);
	else
		add_utf8(decoder, text, len);
}

/* The charset that the decoder takes for the one of this name. */
static const char *charset_of(const struct decoder *decoder, const char *name)
{
	return decoder->reading == &usual ? mime_charset_of_name(name) : name;
}

static void flush_words(struct decoder *decoder)
{
	const char *charset = charset_of(decoder, decoder->charset);

	decode_payload(decoder);
	if (str_eq_nocase(charset, "utf-8") || !mime_charset_known(charset))
		add_utf8(decoder, buf_str(&decoder->bytes), decoder->bytes.len);
	else
		mime_charset_add(
			&decoder->out, buf_str(&decoder->bytes), decoder->bytes.len, charset);
	buf_clear(&decoder->bytes);
}

/* With `apart`, adds a blank between a word and adjacent text. */
static void add_gap(struct decoder *decoder, char next)
{
	const struct buf *out = &decoder->out;

	if (decoder->reading->apart && out->len > 0 && next != '\0' &&
		!ascii_is_space(out->data[out->len - 1]) && !ascii_is_space(next))
		buf_add_char(&decoder->out, ' ');
}

/* Decodes the adjacent words at p and drops the blanks between them (RFC 2047 6.2). Returns
 * where they end, or NULL if there is no word. */
static const char *decode_row(struct decoder *decoder, const char *p)
{
	const struct mime_words_reading *reading = decoder->reading;
	struct word word;
	const char *end = NULL;

	while (read_word(decoder, p, &word)) {
		/* A charset that not all programs know is replaced by that of the reading. */
		if (reading->charset && !mime_charset_common(word.charset))
			snprintf(word.charset, sizeof(word.charset), "%s", reading->charset);
		if (!str_eq_nocase(word.charset, decoder->charset)) {
			if (reading == &usual &&
				!mime_charset_known(charset_of(decoder, word.charset)))
				break;
			flush_words(decoder);
			memcpy(decoder->charset, word.charset, CHARSET_MAX + 1);
		}
		add_payload(decoder, &word);
		end = word.end;
		p = end + strspn(end, " \t\r\n");
		if (reading->apart && (p == end || !reading->joined))
			break;
	}
	flush_words(decoder);
	return end;
}

char *mime_words_read(const char *value, const struct mime_words_reading *reading)
{
	struct decoder decoder = {.reading = reading, .last = last_end(value), .charset = "UTF-8"};
	const char *plain = value, *p = value, *end;

	while ((p = strchr(p, '=')) != NULL) {
		struct word word;

		if (!read_word(&decoder, p, &word)) {
			p++;
			continue;
		}
		add_plain(&decoder, plain, (size_t)(p - plain));
		add_gap(&decoder, *p);
		end = decode_row(&decoder, p);
		add_gap(&decoder, end ? *end : '\0');
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
	return mime_words_read(value, &usual);
}

bool mime_words_doubtful(const char *value)
{
	if (is_doubtful(value, strlen(value)))
		return true;
	for (const char *p = strstr(value, "=?"); p; p = strstr(p + 1, "=?")) {
		struct word word;

		if (read_word_head(p, &word) && !mime_charset_common(word.charset))
			return true;
	}
	return false;
}

enum {
	WORD_MAX = 75,
	FRAME = 12,  /* length of =?UTF-8?Q? and ?= */
	USEFUL = 12, /* room for one character of 4 bytes */
};

/* True for characters that the Q encoding leaves as they are in a phrase (RFC 2047 5). */
static bool is_q_plain(char c)
{
	return g_ascii_isalnum(c) || (c != '\0' && strchr("!*+-/", c));
}

static size_t q_len(char c)
{
	return is_q_plain(c) || c == ' ' ? 1 : 3;
}

/* The Q encoding is readable without decoding, so it is used unless it gets long. */
static bool is_q_suitable(const char *text, size_t len)
{
	size_t q = 0;

	for (size_t i = 0; i < len; i++)
		q += q_len(text[i]);
	return q * 2 <= (len + 2) / 3 * 4 * 3;
}

static bool is_char_end(const char *text, size_t len, size_t n)
{
	return n == len || ((unsigned char)text[n] & 0xc0) != 0x80;
}

/* Returns how many bytes of text, in whole characters, fit into `room` characters of Q. */
static size_t fitting_q(const char *text, size_t len, size_t room)
{
	size_t used = 0, good = 0;

	for (size_t n = 0; n < len; n++) {
		used += q_len(text[n]);
		if (used > room)
			break;
		if (is_char_end(text, len, n + 1))
			good = n + 1;
	}
	return good;
}

/* Returns how much fits into a B encoded word; 0 if the word would need padding. */
static size_t fitting_b(const char *text, size_t len, size_t room)
{
	size_t n = room / 4 * 3;

	if (n >= len)
		return len;
	while (n > 0 && !is_char_end(text, len, n))
		n -= 3;
	return n;
}

static void add_q(struct buf *word, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (is_q_plain(text[i]))
			buf_add_char(word, text[i]);
		else if (text[i] == ' ')
			buf_add_char(word, '_');
		else
			buf_printf(word, "=%02X", (unsigned char)text[i]);
	}
}

/* Returns the room for the payload of a word that begins `blanks` characters further on. */
static size_t room_for(const struct mime_fold *fold, size_t blanks)
{
	size_t at = fold->column + blanks + FRAME;
	size_t room = at < MIME_FOLD_WANTED ? MIME_FOLD_WANTED - at : 0;

	return room < WORD_MAX - FRAME ? room : WORD_MAX - FRAME;
}

/* Adds one word, in B if that is wanted and fits, otherwise in Q. Returns the number of bytes
 * of the text that it encodes. */
static size_t add_word(struct mime_fold *fold, const char *text, size_t len, bool q, bool attached)
{
	_cleanup_buf_ struct buf word = BUF_INIT;
	size_t n = 0, room;

	if (!attached && room_for(fold, 1) < USEFUL)
		mime_fold_break(fold);
	room = room_for(fold, !attached);
	buf_add_str(&word, attached ? "=?UTF-8?" : " =?UTF-8?");
	if (!q)
		n = fitting_b(text, len, room);
	if (n > 0) {
		buf_add_str(&word, "B?");
		base64_encode(text, n, 0, &word);
	} else {
		n = fitting_q(text, len, room);
		buf_add_str(&word, "Q?");
		add_q(&word, text, n);
	}
	buf_add_str(&word, "?=");
	mime_fold_attach(fold, word.data);
	fold->first = false;
	return n;
}

static void add_words(struct mime_fold *fold, const char *text, size_t len, bool attached)
{
	bool q = is_q_suitable(text, len);

	while (len > 0) {
		size_t n = add_word(fold, text, len, q, attached);

		text += n;
		len -= n;
		attached = false;
	}
}

void mime_words_add(struct mime_fold *fold, const char *text, size_t len)
{
	add_words(fold, text, len, false);
}

void mime_words_attach(struct mime_fold *fold, const char *text, size_t len)
{
	add_words(fold, text, len, true);
}
