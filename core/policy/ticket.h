/*
 * ticket: the address that stands for an email between httpd and the milter.
 *
 * httpd submits each email to the single recipient TICKET@postern.invalid, and the milter
 * replaces it by the email's recipients. No address of this domain can receive mail (RFC 6761
 * 6.4), so if Postfix does not ask the milter, the message is delivered to nobody.
 */
#ifndef POSTERN_POLICY_TICKET_H
#define POSTERN_POLICY_TICKET_H

#include <stddef.h>

#include "core/base/secret.h"

#define TICKET_DOMAIN "postern.invalid"

/* The first field of each submitted message: the id of its email. Until the email is decided
 * nobody outside its company can know the id, so a message with it is that email, whatever
 * Postfix has done to its recipients. The milter removes the field, or keeps it for the
 * recipients (trace_header). */
#define TICKET_TRACE_FIELD "X-Postern-Email-Id"

/* The second field, and the first of a probe: a random number that is stored only in the row of
 * the email or probe. `mailq` shows tickets, and recipients and backups show ids and Message-IDs,
 * but only somebody who has read the message on its way knows this number. The milter removes the
 * field. */
#define TICKET_NONCE_FIELD "Postern-Nonce"

/* The length of these two fields, if a submitted message begins with them. */
size_t ticket_fields_len(const char *message, size_t len);

/* Returns the address of a ticket, without <>. The caller frees it. */
char *ticket_address(const char *ticket);

/* Returns the Message-ID of a probe, by which the log and the milter recognize it. The caller
 * frees it. */
char *ticket_message_id(const char *ticket);

/* The local part of a probe's From. Its domain is the host's. */
#define TICKET_PROBE_FROM "postern-probe"

enum ticket_reading {
	TICKET_ELSEWHERE, /* another domain, or no address */
	TICKET_MALFORMED, /* the tickets' domain, but not a valid ticket */
	TICKET_READ,
};

/* Classifies an envelope address, with or without <>. ticket_r is set only for TICKET_READ. */
enum ticket_reading ticket_read(const char *address, char ticket_r[static SECRET_TICKET_SIZE]);

#endif
