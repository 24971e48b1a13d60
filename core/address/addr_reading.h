/*
 * addr_reading: the texts that different programs make of an address field before they look for
 * the address. The caller frees each result.
 */
#ifndef POSTERN_ADDRESS_ADDR_READING_H
#define POSTERN_ADDRESS_ADDR_READING_H

#include "core/base/strv.h"

/* Replaces each comment (RFC 5322 3.2.2) by a blank. */
char *addr_reading_without_comments(const char *text);

/* Removes quoted strings, except those that are a local part. */
char *addr_reading_outside_quotes(const char *text);

/* Removes invisible characters and what lenient programs skip: blanks, control and format
 * characters, quotes, backslashes, brackets. Replaces variants of @ and of the dot. The text is
 * UTF-8. */
char *addr_reading_squeeze(const char *text);

/* The same with a blank for each blank and quote, behind which another word begins. */
char *addr_reading_spaced(const char *text);

/* Reverses each run after a bidirectional control character, as a display may do (Unicode UAX
 * 9 2). NULL if there is none. The text is UTF-8. */
char *addr_reading_directed(const char *text);

/* Reverses the order of the characters. The text is UTF-8. */
char *addr_reading_reverse(const char *text);

/* Adds every text, as UTF-8 and without duplicates, that some program could decode from the
 * encoded words and bytes of the value. */
void addr_reading_decode(struct strv *texts, const char *value);

#endif
