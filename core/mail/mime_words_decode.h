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

/* The value so that GMime sees no encoded words in it, and back; new strings.
 * So GMime's parser of addresses gives names that are not decoded yet. */
char *mime_words_hide(const char *value);
char *mime_words_show(const char *hidden);

#endif
