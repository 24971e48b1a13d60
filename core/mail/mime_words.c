/*
 * mime_words: encoded words (RFC 2047).
 *
 * Each is at most 75 characters long, as is its line but for one, and none
 * ends inside a character. Only the last word of a text in the B encoding is
 * padded, because some programs read the base64 of all words as one: a word
 * that cannot be cut so is in the Q encoding.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_words.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"

enum {
	WORD_MAX = 75,
	FRAME = 12,  /* of =?UTF-8?Q? and ?= */
	USEFUL = 12, /* room for one character of 4 bytes */
};

/* What stands for itself in the Q encoding of a phrase (RFC 2047 5). */
static bool is_plain(char c)
{
	return g_ascii_isalnum(c) || (c != '\0' && strchr("!*+-/", c));
}

static size_t q_len(char c)
{
	return is_plain(c) || c == ' ' ? 1 : 3;
}

/* Q can be read without a program, and is taken unless it gets long. */
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

/* How many bytes of text, whole characters, fit into room characters. */
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

/* The same for B; 0 when the word would have to be padded. */
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
		if (is_plain(text[i]))
			buf_add_char(word, text[i]);
		else if (text[i] == ' ')
			buf_add_char(word, '_');
		else
			buf_printf(word, "=%02X", (unsigned char)text[i]);
	}
}

static void add_b(struct buf *word, const char *text, size_t len)
{
	char *base64 = g_base64_encode((const guchar *)text, len);

	buf_add_str(word, base64);
	g_free(base64);
}

/* The room for the payload of a word that starts after `blanks` more
 * characters on the line. */
static size_t room_for(const struct mime_fold *fold, size_t blanks)
{
	size_t at = fold->column + blanks + FRAME;
	size_t room = at < MIME_FOLD_WANTED ? MIME_FOLD_WANTED - at : 0;

	return room < WORD_MAX - FRAME ? room : WORD_MAX - FRAME;
}

/* Adds one word, in Q or, where it can be, in B; returns how many bytes of the
 * text it took. */
static size_t add_word(struct mime_fold *fold, const char *text, size_t len,
	bool q, bool attached)
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
		add_b(&word, text, n);
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

static void add_words(
	struct mime_fold *fold, const char *text, size_t len, bool attached)
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
