/*
 * addr_header: finds whom a header field names as the sender, in every way that receivers could
 * read it: mail servers, mail programs and people.
 *
 * Programs read malformed fields differently, and an attacker picks the reading that a checker
 * overlooks. So the question is not what a field means but if it can be misread. In doubt,
 * everything that looks like a domain counts. An honest sender can write a field that is clear.
 *
 * An address in a display name claims its domain, because many programs show only the name.
 * That refuses honest mail of ticket systems, which can leave the address out or get an
 * exemption. Mailing lists cannot, so a name that itself says that it is not Ann,
 * `"ann@example.com via List" <list@other.test>`, passes: a bare address before `via` and
 * something readable after it. Names without an address and look-alike domains are not
 * checked.
 *
 * Two honest forms of RFC 5322 count as unclear: `a@other.test, "B at example.com"
 * <b@other.test>` and `example.com newsletter, x@other.test`. If there is more than one
 * mailbox, or a part that is none, all text counts.
 */
#ifndef POSTERN_ADDRESS_ADDR_HEADER_H
#define POSTERN_ADDRESS_ADDR_HEADER_H

#include <stdbool.h>

#include "core/base/strv.h"

/* The limits of a message: fields that name a sender besides From, bytes of all fields of one
 * kind together, and domains that they name. A message that exceeds one is refused unchecked. */
enum {
	ADDR_SENDER_FIELDS = 16,
	ADDR_SENDER_BYTES = 32 * 1024,
	ADDR_SENDER_DOMAINS = 200,
};

struct addr_header {
	struct strv domains; /* every domain that some reading sees, normalized, without
			      * duplicates */
	bool unclear;        /* readings can differ in the mailbox */
	char *mailbox;       /* `local@domain` if all readings see this one address and no
			      * other; otherwise NULL */
};

/* Reads the value of a From field, or of another field that names a sender, folded or not,
 * however malformed. It is clear if it is one mailbox by RFC 5322 3.4, comments included, whose
 * domain no reader can mistake. An address in its display name still adds a domain, because
 * people take it for the sender; `ann@example.com via List`, as mailing lists write it, does
 * not. An address that only some readers see there, because of how they decode or order the
 * text, makes the value unclear. Of an unclear value everything that looks like a domain
 * counts. A value without @ and domains is clear, but has no mailbox. The caller calls
 * addr_header_clear(). */
void addr_header_read(const char *value, struct addr_header *header_r);
void addr_header_clear(struct addr_header *header);
#define _cleanup_addr_header_ __attribute__((cleanup(addr_header_clear)))

#endif
