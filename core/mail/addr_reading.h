/*
 * addr_reading: the texts that readers of an address make of it, before they
 * look for the address. Each result is a new string.
 */
#ifndef POSTERN_MAIL_ADDR_READING_H
#define POSTERN_MAIL_ADDR_READING_H

/* With a blank for each comment (RFC 5322 3.2.2). */
char *addr_reading_without_comments(const char *text);

/* Without the quoted strings, but for those that are a local part. */
char *addr_reading_outside_quotes(const char *text);

/* As people would see it: in UTF-8, whose charset is guessed, and encoded
 * words decoded. */
char *addr_reading_decode(const char *text);

/* Without all that does not show, and without what lenient readers skip:
 * blanks, control and format characters, quotes, backslashes, brackets; other
 * forms of @ become one. The text is UTF-8. */
char *addr_reading_squeeze(const char *text);

#endif
