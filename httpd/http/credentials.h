/*
 * credentials: the API key that a request's head carries.
 */
#ifndef POSTERN_HTTPD_CREDENTIALS_H
#define POSTERN_HTTPD_CREDENTIALS_H

#include "core/base/buf.h"
#include "httpd/http/http_head.h"

/* `Bearer KEY` (RFC 6750 2.1): appends the key. False when there is none. */
bool credentials_bearer(const struct http_head *head, struct buf *key);

/* `Basic BASE64(api:KEY)` (RFC 7617): appends the key. False when there is
 * none, or the user is not `api`. */
bool credentials_basic(const struct http_head *head, struct buf *key);

#endif
