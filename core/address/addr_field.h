/*
 * addr_field: a header field with addresses as Postfix reads it.
 *
 * cleanup(8) takes such a field apart (tok822(3)), completes and rewrites its
 * addresses, and writes it anew where that changed one. It never refuses: of
 * `Doe, John <a@example.com>` it makes three addresses, of which two are of this
 * host. So what it would read otherwise, or change, must not be handed to it.
 */
#ifndef POSTERN_ADDRESS_ADDR_FIELD_H
#define POSTERN_ADDRESS_ADDR_FIELD_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/span.h"

/* Words and separators of a field, comments among them: what is behind so many
 * cleanup(8) drops, without a word (header_address_token_limit). */
enum { ADDR_FIELD_TOKENS_MAX = 10240 };

/* Whether cleanup(8) rewrites addresses in the field of this name. */
bool addr_field_is(const char *name);

/* Whether it leaves the value of such a field as it is: each address is
 * `local@domain`, with a dot in the domain or in brackets, and nothing else
 * passes for one. Comments, groups and a field without any address are fine, and
 * so are quotes that a local part does not need, which it takes off.
 * ERR_INVALID names what is wrong, and where quotes are missing shows them. The
 * value may be folded. */
int addr_field_check(struct span value, struct err *err);

#endif
