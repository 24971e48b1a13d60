/*
 * ticket: the address that stands for an email between httpd and the milter.
 *
 * httpd submits each email to TICKET@postern.invalid alone; the milter puts the
 * recipients of the email in its place. No mail ever reaches an address of this
 * domain (RFC 6761 6.4), so a Postfix that does not ask the milter delivers to
 * nobody.
 */
#ifndef POSTERN_POLICY_TICKET_H
#define POSTERN_POLICY_TICKET_H

#include <stddef.h>

#include "core/base/secret.h"

#define TICKET_DOMAIN "postern.invalid"

/* Each message has the id of its email in this field, in front of all others: a
 * message in which that email waits for its decision is the email, whatever
 * Postfix has made of its recipients. The id is known to nobody by then. The
 * milter takes the field off, or leaves it on for the world (trace_header). */
#define TICKET_TRACE_FIELD "X-Postern-Email-Id"

/* And a random number in this one, which stands in the email's row alone: `mailq` tells
 * tickets, recipients and backups tell ids and Message-IDs, but who has not read the
 * message on its way does not know this. The milter takes it off. */
#define TICKET_NONCE_FIELD "Postern-Nonce"

/* The length of the two fields where a message as it was submitted begins with them. */
size_t ticket_fields_len(const char *message, size_t len);

/* The address of a ticket, without <>; a new string. */
char *ticket_address(const char *ticket);

/* The Message-ID of a probe's message, by which the log and the milter know it;
 * a new string. */
char *ticket_message_id(const char *ticket);

/* The local part of a probe's From. Its domain is that of the host. */
#define TICKET_PROBE_FROM "postern-probe"

enum ticket_reading {
	TICKET_ELSEWHERE, /* the address is of another domain, or of none */
	TICKET_MALFORMED, /* of this one, but it is no ticket's */
	TICKET_READ,
};

/* What an address of the envelope, with or without <>, is to us; the ticket is
 * filled with TICKET_READ alone. */
enum ticket_reading ticket_read(const char *address, char ticket_r[static SECRET_TICKET_SIZE]);

#endif
