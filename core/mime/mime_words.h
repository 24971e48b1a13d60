/*
 * mime_words: reads and writes encoded words (RFC 2047), which encode non-ASCII text in header
 * fields.
 *
 * GMime is not used for them: it caches every charset name forever, so that anyone could
 * exhaust the memory, and of adjacent base64 words it loses what follows the first one with
 * padding.
 */
#ifndef POSTERN_MIME_MIME_WORDS_H
#define POSTERN_MIME_MIME_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/mime/mime_header.h"

/* Decodes the encoded words of a header field's value, wherever they are. The result is valid
 * UTF-8 without NUL and may contain line breaks. Malformed words, and words in an unknown
 * charset, are kept. The caller frees it. */
char *mime_words_decode(const char *value);

/* Variants of lenient decoding. All of them take an unknown charset, and invalid UTF-8, for
 * Latin-1. */
struct mime_words_reading {
	bool joined;         /* adjacent words of one charset and encoding are joined before
			      * decoding; padding inside is skipped */
	bool wide;           /* a word ends only at ?= or at the end of the value, and may
			      * contain a ? */
	bool apart;          /* a blank separates a word from adjacent text, and from other
			      * words unless they are joined */
	const char *charset; /* the charset for words in a charset that not all programs know:
			      * "" for Latin-1; NULL: the word's own */
	bool everywhere;     /* use charset for text outside of words too, if
			      * mime_words_doubtful() */
};

/* Decodes the value in this variant. The caller frees it. */
char *mime_words_read(const char *value, const struct mime_words_reading *reading);

/* True if programs can decode the value differently: it has words in a charset that not all
 * programs know, ISO 2022 escapes, or bytes that are not UTF-8. */
bool mime_words_doubtful(const char *value);

/* Adds len bytes of UTF-8 text as encoded words, each after a blank. They decode to exactly
 * this text, and are valid both in text and in a phrase. */
void mime_words_add(struct mime_fold *fold, const char *text, size_t len);

/* Adds the words as mime_words_add() does, the first one without a blank before it. */
void mime_words_attach(struct mime_fold *fold, const char *text, size_t len);

#endif
