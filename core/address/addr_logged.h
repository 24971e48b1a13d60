/*
 * addr_logged: addresses as Postfix's log writes them.
 *
 * With info_log_address_format = internal the local part has no quotes, and
 * with smtputf8_enable = no each byte that is not ASCII is a `?`.
 */
#ifndef POSTERN_ADDRESS_ADDR_LOGGED_H
#define POSTERN_ADDRESS_ADDR_LOGGED_H

#include <stdbool.h>

/* Whether both may be the same address, in any letter case. */
bool addr_logged_eq(const char *a, const char *b);
/* The same for all that are. */
unsigned addr_logged_hash(const char *address);

#endif
