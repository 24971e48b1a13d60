/*
 * recipient_set: the recipients that a ticket is good for.
 *
 * A set is text: for each address 16 hexadecimal digits of its SHA-256. So a
 * thousand recipients are 16 KB, and compared without their names.
 */
#ifndef POSTERN_POLICY_RECIPIENT_SET_H
#define POSTERN_POLICY_RECIPIENT_SET_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/strv.h"

enum { RECIPIENT_DIGITS = 16 };

/* Adds an address, with or without <>. Its domain counts in any letter case. */
void recipient_set_add(struct buf *set, const char *address);

/* The set of the addresses, sorted; a new string. */
char *recipient_set_of(const struct strv *addresses);

/* Whether every address of set, and there is one, is in the sorted set whole.
 * Fewer are all right: Postfix may have refused some to the client. */
bool recipient_set_covers(const char *whole, const struct buf *set);

#endif
