/*
 * addr_reading: the texts that readers of an address make of it, before they
 * look for the address. Each result is a new string.
 */
#ifndef POSTERN_ADDRESS_ADDR_READING_H
#define POSTERN_ADDRESS_ADDR_READING_H

#include "core/base/strv.h"

/* With a blank for each comment (RFC 5322 3.2.2). */
char *addr_reading_without_comments(const char *text);

/* Without the quoted strings, but for those that are a local part. */
char *addr_reading_outside_quotes(const char *text);

/* Without all that does not show, and without what lenient readers skip:
 * blanks, control and format characters, quotes, backslashes, brackets; other
 * forms of @ and of the dot become one. The text is UTF-8. */
char *addr_reading_squeeze(const char *text);

/* With each run behind a control of the writing direction reversed, as that
 * can show it (Unicode UAX 9 2); NULL when there is none. The text is UTF-8. */
char *addr_reading_directed(const char *text);

/* The characters from the last to the first. The text is UTF-8. */
char *addr_reading_reverse(const char *text);

/* Adds each text once, as UTF-8, that some program could make of the encoded
 * words and bytes of the value. */
void addr_reading_decode(struct strv *texts, const char *value);

#endif
