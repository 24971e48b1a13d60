/*
 * credentials: reads from a head who makes the request and from where, and its
 * Idempotency-Key. The admission decides what follows.
 *
 * Threads: any.
 */
#ifndef POSTERN_HTTPD_ADMISSION_CREDENTIALS_H
#define POSTERN_HTTPD_ADMISSION_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/cidr.h"
#include "core/base/secret.h"
#include "httpd/http/http1.h"

/* Append the API key of `Bearer KEY` (RFC 6750 2.1) or `Basic BASE64(api:KEY)`
 * (RFC 7617). False if there is none, or the user is not `api`. */
bool credentials_bearer(const struct http_head *head, struct buf *key);
bool credentials_basic(const struct http_head *head, struct buf *key);

/* Writes the name of the session's cookie. A browser sends the cookies of a host to all of its
 * ports, so the name has the port of the dashboard as the browser knows it: that of the URL, which
 * may be "", or else that of the Host field (NULL or empty: none). With https no other host of the
 * domain can set it (__Host-, RFC 6265bis 4.1.3.2). */
enum { SESSION_COOKIE_SIZE = 40 };
void credentials_cookie_name(
	struct span host, const char *url, char name_r[static SESSION_COOKIE_SIZE]);
/* Appends the value of this cookie. False if there is none. */
bool credentials_cookie(const struct http_head *head, const char *name, struct buf *token);

/* The address of the client of a request from peer (an address, or CIDR_UNIX).
 * Each proxy appends to X-Forwarded-For the address that it got the request
 * from, so the last entry is from the peer itself. It is used if the peer is a
 * trusted proxy; the entry before it, if the last one is a trusted proxy too;
 * and so on. An entry that is not an address ends the search. The result is the
 * peer, or an address as RFC 5952 writes it. */
void forwarded_client(const struct http_head *head, const struct cidr_list *proxies,
	const char *peer, char client_r[static CIDR_TEXT_SIZE]);

/* Where the request comes from, by Origin (RFC 6454) and Sec-Fetch-Site (W3C
 * Fetch Metadata): a page of this server, no browser page, or a page of another
 * site. url is our scheme and host; "" takes the host from the Host field, with
 * http. */
enum page_origin { PAGE_OWN, PAGE_NONE, PAGE_FOREIGN };
enum page_origin page_origin_of(const struct http_head *head, const char *url);

enum { IDEMPOTENCY_KEY_MAX = 256 }; /* characters */

/* True if the Host field is an address or localhost, or missing, which only
 * HTTP/1.0 allows and no browser does. Another site may point any other name at
 * this host (DNS rebinding): to the browser its pages then have our origin. */
bool host_is_address(const struct http_head *head);
/* True also for the host of the URL and for each of the names (separated by
 * commas or blanks): with any port, in any case, with or without a final dot. */
bool host_is_own(const struct http_head *head, const char *url, const char *names);

/* Hashes the Idempotency-Key. Returns 1 if there is one, 0 if there is none, -1
 * if it does not have 1 to 256 characters. http_head_parse() refuses a head
 * with several. */
int idempotency_key_read(const struct http_head *head, uint8_t hash_r[static SECRET_HASH_LEN]);

#endif
