/*
 * mime_words_decode: encoded words (RFC 2047) read.
 *
 * GMime is not used for them: it remembers the name of every charset for ever,
 * so that anyone could fill the memory, and of adjacent words in base64 it
 * loses what follows the first one with padding.
 */
#ifndef POSTERN_MAIL_MIME_WORDS_DECODE_H
#define POSTERN_MAIL_MIME_WORDS_DECODE_H

/* The value of a header field with its encoded words decoded, wherever they
 * stand; a new string, valid UTF-8 without NUL, possibly with line breaks.
 * What is malformed or of an unknown charset stays as it is. */
char *mime_words_decode(const char *value);

/* How far the decoding goes of those who rather show something. */
enum mime_words_reading {
	MIME_WORDS_STRICT,  /* as mime_words_decode() */
	MIME_WORDS_GUESSED, /* an unknown charset, and bytes that are wrong in
			     * UTF-8, are taken for Latin-1 */
	MIME_WORDS_JOINED,  /* guessed too, and adjacent words of one charset
			     * and encoding are put together first */
};

/* The value as such a reader decodes it; else as mime_words_decode(). */
char *mime_words_read(const char *value, enum mime_words_reading reading);

/* The value so that GMime sees no encoded words in it, and back; new strings.
 * So GMime's parser of addresses gives names that are not decoded yet. */
char *mime_words_hide(const char *value);
char *mime_words_show(const char *hidden);

#endif
