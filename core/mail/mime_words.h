/*
 * mime_words: encoded words (RFC 2047), the way of non-ASCII text in a header.
 */
#ifndef POSTERN_MAIL_MIME_WORDS_H
#define POSTERN_MAIL_MIME_WORDS_H

#include <stddef.h>

#include "core/mail/mime_fold.h"

/* Adds len bytes of UTF-8 text as encoded words, each after a blank. What they
 * decode to is the text, byte for byte. They may stand for text and for words
 * of a phrase. */
void mime_words_add(struct mime_fold *fold, const char *text, size_t len);

/* The same, with the first word not after a blank but where the line is. */
void mime_words_attach(struct mime_fold *fold, const char *text, size_t len);

#endif
