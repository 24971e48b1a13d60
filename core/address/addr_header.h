/*
 * addr_header: who a header field says that a message is from, as receivers
 * could read it: mail servers, mail programs and people.
 *
 * Programs read malformed fields differently, and a forger picks the reading
 * that a checker overlooks. So the question is not what a field means but
 * whether there is any doubt. In doubt all that looks like a domain counts;
 * whoever is honest can write a field that is clear.
 *
 * An address in a display name claims its domain: many programs show nothing
 * but the name. That refuses honest mail of ticket systems, which can leave the
 * address out or be exempt. Mailing lists cannot, so a name that says itself
 * that it is not Ann, `"ann@example.com via List" <list@other.test>`, passes:
 * with a bare address before `via`, and something readable behind it. Names
 * without an address, and domains that look alike, are not looked at.
 *
 * Two honest forms of RFC 5322 are unclear by this caution:
 * `a@other.test, "B at example.com" <b@other.test>` and
 * `example.com newsletter, x@other.test`: with more than one mailbox, or with
 * something that is none, all text counts.
 */
#ifndef POSTERN_ADDRESS_ADDR_HEADER_H
#define POSTERN_ADDRESS_ADDR_HEADER_H

#include <stdbool.h>

#include "core/base/strv.h"

/* How many fields that name a sender a message may have besides From, how long
 * those of a kind may be together, and how many domains all of them may name:
 * what has more is not checked but refused. */
enum {
	ADDR_SENDER_FIELDS = 16,
	ADDR_SENDER_BYTES = 32 * 1024,
	ADDR_SENDER_DOMAINS = 200,
};

struct addr_header {
	struct strv domains; /* every one that some reading sees, normalized,
			      * each once */
	bool unclear;        /* readings can differ in the mailbox */
	char *mailbox;       /* `local@domain`, when all see this one address
			      * and no other; else NULL */
};

/* Reads the value of a From field or of another one that names a sender,
 * folded or not, however malformed. It is clear when it is one mailbox after
 * RFC 5322 3.4, comments included, whose domain no reader can mistake. Then
 * an address in its display name still adds a domain, because people take it
 * for the sender, but for `ann@example.com via List`, as mailing lists name
 * themselves. One that only some readers see there, by the way they decode or
 * order the text, makes it unclear. Of an unclear value, all that looks like a
 * domain counts; one without @ and domains is clear, but has no mailbox. The
 * caller clears it. */
void addr_header_read(const char *value, struct addr_header *header_r);
void addr_header_clear(struct addr_header *header);
#define _cleanup_addr_header_ __attribute__((cleanup(addr_header_clear)))

#endif
