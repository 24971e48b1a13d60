/*
 * addr_shown: whom people see in the texts around an address, which mail
 * programs show instead of it.
 */
#ifndef POSTERN_MAIL_ADDR_SHOWN_H
#define POSTERN_MAIL_ADDR_SHOWN_H

#include <stdbool.h>

#include "core/mail/addr_scan.h"

/* Adds the domains of addresses that people see in a display name, but for
 * `ann@example.com via List`; returns whether they see another address than
 * this one. The name is UTF-8. */
bool addr_shown_name(struct addr_scan *scan, const char *name, const char *spec);

/* The same for a field with comments, which has that address too. */
bool addr_shown_field(struct addr_scan *scan, const char *text);

/* Adds all that could be a domain when controls of the writing direction turn
 * parts of the text round; nothing when it has none. The text is UTF-8. */
void addr_shown_turned(struct addr_scan *scan, const char *text);

#endif
