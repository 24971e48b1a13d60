/*
 * forwarded: the client of a request that came through a proxy.
 */
#ifndef POSTERN_HTTPD_HTTP_FORWARDED_H
#define POSTERN_HTTPD_HTTP_FORWARDED_H

#include "core/base/cidr.h"
#include "httpd/http/http1.h"

/* The address of the client of a request from peer (an address, or CIDR_UNIX).
 * Each proxy appends to X-Forwarded-For the address that it got the request
 * from, so the last entry is from the peer itself. It is used if the peer is a
 * trusted proxy; the entry before it, if the last one is a trusted proxy too;
 * and so on. An entry that is not an address ends the search. The result is the
 * peer, or an address as RFC 5952 writes it. */
void forwarded_client(const struct http_head *head, const struct cidr_list *proxies,
	const char *peer, char client_r[static CIDR_TEXT_SIZE]);

#endif
