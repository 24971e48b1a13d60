/*
 * credentials: what the head of a request says about who makes it, and as which
 * request it is to be known. Nothing is decided here, see admission.
 *
 * Threads: any.
 */
#ifndef POSTERN_HTTPD_ADMISSION_CREDENTIALS_H
#define POSTERN_HTTPD_ADMISSION_CREDENTIALS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/secret.h"
#include "httpd/http/http1.h"

/* The API key of `Bearer KEY` (RFC 6750 2.1) or `Basic BASE64(api:KEY)` (RFC
 * 7617), appended. False when there is none, or the user is not `api`. */
bool credentials_bearer(const struct http_head *head, struct buf *key);
bool credentials_basic(const struct http_head *head, struct buf *key);

/* The value of the session's cookie, appended; false when there is none. */
#define SESSION_COOKIE "postern_session"
bool credentials_cookie(const struct http_head *head, struct buf *token);

/* Whether the head is of a page of our own (Origin, RFC 6454; Sec-Fetch-Site,
 * W3C Fetch Metadata), or of no browser. url: scheme and host of ours, "": as
 * the field Host has it. */
enum page_origin { PAGE_OWN, PAGE_NONE, PAGE_FOREIGN };
enum page_origin page_origin_of(const struct http_head *head, const char *url);

enum { IDEMPOTENCY_KEY_MAX = 256 }; /* characters */

/* Whether the head names its host by an address or as localhost, or not at all,
 * as HTTP/1.0 may, which no browser speaks. Any other name may be one that
 * another site has made to mean this host (DNS rebinding): to the browser its
 * pages are then of one origin with ours. */
bool host_is_address(const struct http_head *head);
/* The same, or it is the host of the URL, or one of the names: with any port,
 * in any letter case, with a dot at the end or not. */
bool host_is_own(const struct http_head *head, const char *url, const char *names);

/* The hash of the Idempotency-Key: 1 there is one; 0 there is none; -1 it has
 * not 1 to 256 characters. A head with several never gets here. */
int idempotency_key_read(const struct http_head *head, uint8_t hash_r[static SECRET_HASH_LEN]);

#endif
