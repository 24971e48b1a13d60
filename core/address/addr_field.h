/*
 * addr_field: checks if Postfix would change a header field with addresses.
 *
 * cleanup(8) parses such a field (tok822(3)), completes and rewrites its addresses, and writes
 * the field anew if that changed one. It never refuses: it reads `Doe, John <a@example.com>` as
 * three addresses and appends this host's domain to two of them. So a field that it would
 * misread or change must not be submitted.
 */
#ifndef POSTERN_ADDRESS_ADDR_FIELD_H
#define POSTERN_ADDRESS_ADDR_FIELD_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/span.h"

/* The number of tokens of a field (words, separators and comments) that cleanup(8) reads. It
 * silently drops the rest (header_address_token_limit). */
enum { ADDR_FIELD_TOKENS_MAX = 10240 };

/* True if cleanup(8) rewrites the addresses in fields of this name. */
bool addr_field_is(const char *name);

/* Checks that cleanup(8) leaves the value unchanged: each address is `local@domain`, with a
 * domain that has a dot or is in brackets, and nothing else can be taken for an address.
 * Comments, groups and fields without addresses are accepted, and so are unneeded quotes of a
 * local part, which cleanup(8) removes. The value may be folded. Returns 0, or -1 with
 * ERR_INVALID that says what is wrong, and how to quote it if quotes are missing. */
int addr_field_check(struct span value, struct err *err);

#endif
