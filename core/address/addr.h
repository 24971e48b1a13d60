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
	char *name;   /* display name in UTF-8, "" when not given */
	char *local;  /* local part as Postfix writes it: in quotes, and with
		       * backslashes, only where it needs them */
	char *domain; /* A-labels, lower case */
};

/* Reads `a@x`, `<a@x>` or `Name <a@x>` (name: an atom, words, a quoted string,
 * or any UTF-8 without control characters), blanks around allowed. Encoded
 * words (RFC 2047) in the name are decoded, runs of blanks become one. Strict:
 * nothing before or behind is ignored. An address literal is no domain here.
 * ERR_INVALID says what is wrong with which address. */
int addr_parse(const char *text, struct addr *addr_r, struct err *err);

/* `local@domain`, as it goes into the envelope; a new string. */
char *addr_spec(const struct addr *addr);
/* `Name <local@domain>`, or the bare address without a name: for people and
 * for JSON (UTF-8, name not encoded, and quoted only where it could be taken
 * for something else). addr_parse() reads it back; a new string. */
char *addr_format(const struct addr *addr);

/* Whether they are the same mailbox; the names may differ, the case of the
 * local parts may not (RFC 5321 2.4). */
bool addr_equal(const struct addr *a, const struct addr *b);

/* An address as lists compare it: the domain in A-labels, without a difference of letter case
 * (RFC 5321 2.4), and the local part with its case folded, too. RFC 5321 leaves the local part
 * to its host, but no host in use has two people whose addresses differ in letter case alone,
 * and where a list keeps mail from somebody, Bob@ is to be no way around bob@. Dots and what
 * is behind a + make another address. For any text; a new string. */
char *addr_folded(const char *address);

void addr_clear(struct addr *addr);
#define _cleanup_addr_ __attribute__((cleanup(addr_clear)))

/* Mailboxes in their order. Starts zeroed. */
struct addr_list {
	struct addr *items;
	size_t n;
};

/* Appends a zeroed one and returns it; good until the list grows again. */
struct addr *addr_list_add(struct addr_list *list);
/* Reads a comma-separated list of mailboxes, an empty one included, and appends
 * them; on failure the list is as it was. Commas inside quoted strings and
 * inside <> do not separate; two in a row, or one at an end, are wrong. */
int addr_list_parse(const char *text, struct addr_list *list, struct err *err);
/* Whether the mailbox is among them, see addr_equal(). */
bool addr_list_has(const struct addr_list *list, const struct addr *addr);
void addr_list_clear(struct addr_list *list);
#define _cleanup_addr_list_ __attribute__((cleanup(addr_list_clear)))

/* A domain name as it is stored and compared: A-labels, lower case, without a
 * dot at the end; a new string. ERR_INVALID for what is no domain of at least
 * two labels. */
int addr_domain_normalize(const char *text, char **domain_r, struct err *err);

/* The domain as old readers make it of a name that is not ASCII (UTS 46,
 * transitional): a few letters become others. A new string; 0, or -1 when it
 * is none, or ASCII. */
int addr_domain_transitional(const char *text, char **domain_r);

#endif
