/*
 * addr_private: between the files of addr.
 */
#ifndef POSTERN_MAIL_ADDR_PRIVATE_H
#define POSTERN_MAIL_ADDR_PRIVATE_H

#include <stddef.h>

#include "core/base/err.h"

/* The display name in len bytes of text, which stand before the `<`: quoted
 * strings unquoted, encoded words (RFC 2047) decoded, runs of blanks made one;
 * a new string. The text is a valid header value. */
int addr_name_read(const char *text, size_t len, char **name_r, struct err *err);

/* The name so that addr_name_read() gives it back: as it is, but in quotes
 * where it would be taken for something else; a new string. */
char *addr_name_write(const char *name);

/* The domain as old readers make it of a name that is not ASCII (UTS 46,
 * transitional): a few letters become others. A new string; 0, or -1 when it
 * is none, or ASCII. */
int addr_domain_transitional(const char *text, char **domain_r);

#endif
