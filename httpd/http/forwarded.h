/*
 * forwarded: for whom a proxy asks.
 */
#ifndef POSTERN_HTTPD_HTTP_FORWARDED_H
#define POSTERN_HTTPD_HTTP_FORWARDED_H

#include "core/base/cidr.h"
#include "httpd/http/http1.h"

/* The address of the client of a request from the peer (an address, or
 * CIDR_UNIX). Each proxy appends to X-Forwarded-For from whom it has the
 * request, so that the last address is the proxy's own word: it is taken where
 * the peer is a trusted proxy, and so is the one before it where the last is a
 * trusted proxy too, and so on. What is no address ends that. The result is the
 * peer, or an address as RFC 5952 writes it. */
void forwarded_client(const struct http_head *head, const struct cidr_list *proxies,
	const char *peer, char client_r[static CIDR_TEXT_SIZE]);

#endif
