/*
 * private_headers: the header fields that are Postern's own; their names are
 * matched in any letter case.
 */
#ifndef POSTERN_POLICY_PRIVATE_HEADERS_H
#define POSTERN_POLICY_PRIVATE_HEADERS_H

/* Ties a message to its staged row: httpd puts it on, with one ticket of
 * secret_ticket(); the milter looks that up and takes every occurrence off
 * again, so that it never leaves this host. */
#define TICKET_HEADER "X-Postern-Ticket"

/* May carry the id of a recorded email out into the world. */
#define TRACE_HEADER "X-Postern-Email-Id"

#endif
