/*
 * mime_words: encoded words (RFC 2047), the way of non-ASCII text in a header.
 *
 * GMime is not used for them: it remembers the name of every charset for ever,
 * so that anyone could fill the memory, and of adjacent words in base64 it
 * loses what follows the first one with padding.
 */
#ifndef POSTERN_MIME_MIME_WORDS_H
#define POSTERN_MIME_MIME_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mime/mime_header.h"

/* The value of a header field with its encoded words decoded, wherever they
 * stand; a new string, valid UTF-8 without NUL, possibly with line breaks.
 * What is malformed or of an unknown charset stays as it is. */
char *mime_words_decode(const char *value);

/* How those decode who rather show something. All of them take an unknown
 * charset, and bytes that are wrong in UTF-8, for Latin-1. */
struct mime_words_reading {
	bool joined;         /* adjacent words of one charset and encoding are
			      * put together first, padding within goes */
	bool wide;           /* a word ends at ?= or not at all, and
			      * may have a ? */
	bool apart;          /* a blank divides a word from what stands
			      * right beside it, and from other words
			      * unless they are joined */
	const char *charset; /* of what is has_question, see below: all words whose
			      * charset is; "" Latin-1; NULL their own */
	bool everywhere;     /* and of text outside of words that is */
};

/* The value as such a reader decodes it; else as mime_words_decode(). */
char *mime_words_read(const char *value, const struct mime_words_reading *reading);

/* Whether programs may take the value for different text: it has words in a
 * charset that not all know, escapes (ISO 2022), or bytes that are not
 * UTF-8. */
bool mime_words_doubtful(const char *value);

/* Adds len bytes of UTF-8 text as encoded words, each after a blank. What they
 * decode to is the text, byte for byte. They may stand for text and for words
 * of a phrase. */
void mime_words_add(struct mime_fold *fold, const char *text, size_t len);

/* The same, with the first word not after a blank but where the line is. */
void mime_words_attach(struct mime_fold *fold, const char *text, size_t len);

#endif
