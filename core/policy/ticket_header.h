/*
 * ticket_header: the header field that ties a message to its staged row.
 *
 * httpd puts it on the message, the milter looks its value up and takes every
 * occurrence off again, so that it never leaves this host. Its value is one
 * ticket of secret_ticket(), the name is matched in any letter case.
 */
#ifndef POSTERN_POLICY_TICKET_HEADER_H
#define POSTERN_POLICY_TICKET_HEADER_H

#define TICKET_HEADER "X-Postern-Ticket"

/* The field that may carry the id of a recorded email out into the world. */
#define TRACE_HEADER "X-Postern-Email-Id"

#endif
