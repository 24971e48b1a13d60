/*
 * addr_logged: compares addresses with those in Postfix's log.
 *
 * With info_log_address_format = internal the log leaves out the quotes of the local part, and
 * with smtputf8_enable = no it replaces each non-ASCII byte by `?`.
 */
#ifndef POSTERN_ADDRESS_ADDR_LOGGED_H
#define POSTERN_ADDRESS_ADDR_LOGGED_H

#include <stdbool.h>

/* True if both may be the same address. Case is ignored. */
bool addr_logged_eq(const char *a, const char *b);
/* A hash that is equal for all addresses that may be the same. */
unsigned addr_logged_hash(const char *address);

#endif
