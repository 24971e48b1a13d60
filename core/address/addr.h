/*
 * addr: mailbox addresses (RFC 5322 3.4, RFC 6531) and domains (RFC 5890).
 */
#ifndef POSTERN_ADDRESS_ADDR_H
#define POSTERN_ADDRESS_ADDR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/mem.h"

/* One mailbox. */
struct addr {
	char *name;   /* display name in UTF-8; "" if none */
	char *local;  /* local part as Postfix writes it: quotes and backslashes only where
		       * needed */
	char *domain; /* A-labels, lower case */
};

/* Parses `a@x`, `<a@x>` or `Name <a@x>`, with optional blanks around it. Name is an atom,
 * words, a quoted string, or any UTF-8 without control characters. Encoded words (RFC 2047) in
 * it are decoded, runs of blanks become one. Strict: no text before or after is ignored.
 * Address literals are not accepted. ERR_INVALID says what is wrong with which address. */
int addr_parse(const char *text, struct addr *addr_r, struct err *err);

/* Returns `local@domain` for the envelope. The caller frees it. */
char *addr_spec(const struct addr *addr);
/* Returns `Name <local@domain>`, or the bare address if there is no name, for people and JSON:
 * UTF-8, with the name not encoded and quoted only where it would be misread. addr_parse()
 * reads it back. The caller frees it. */
char *addr_format(const struct addr *addr);

/* True if both are the same mailbox. Names may differ; local parts are case-sensitive (RFC 5321
 * 2.4). */
bool addr_equal(const struct addr *a, const struct addr *b);

/* Returns an address in the form that lists compare: the domain in A-labels and lower case (RFC
 * 5321 2.4), and the local part case-folded. RFC 5321 leaves the local part to its host, but no
 * host in use has two people whose addresses differ only in case, and Bob@ must not bypass a
 * suppression of bob@. Dots and a part after + do make another address. Accepts any text. The
 * caller frees the result. */
char *addr_folded(const char *address);

void addr_clear(struct addr *addr);
#define _cleanup_addr_ __attribute__((cleanup(addr_clear)))

/* Mailboxes in order. Initialize with zeros. */
struct addr_list {
	struct addr *items;
	size_t n;
};

/* Appends a zeroed mailbox and returns it. Valid until the list grows again. */
struct addr *addr_list_add(struct addr_list *list);
/* Parses a comma-separated list of mailboxes, which may be empty, and appends them. On error
 * the list is unchanged. Commas inside quoted strings and inside <> do not separate. A comma
 * without an address on either side is an error. */
int addr_list_parse(const char *text, struct addr_list *list, struct err *err);
/* True if the list has the mailbox, see addr_equal(). */
bool addr_list_has(const struct addr_list *list, const struct addr *addr);
void addr_list_clear(struct addr_list *list);
#define _cleanup_addr_list_ __attribute__((cleanup(addr_list_clear)))

/* Converts a domain name to the form in which it is stored and compared: A-labels, lower case,
 * no dot at the end. It must have at least two labels; otherwise ERR_INVALID. The caller frees
 * it. */
int addr_domain_normalize(const char *text, char **domain_r, struct err *err);

/* Converts a non-ASCII domain name as IDNA 2003 readers do (UTS 46, transitional), which maps a
 * few letters differently. Returns 0, or -1 if it is ASCII or not a valid name. The caller
 * frees it. */
int addr_domain_transitional(const char *text, char **domain_r);

#endif
