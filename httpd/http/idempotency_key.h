/*
 * idempotency_key: the Idempotency-Key of a request, read from its head.
 */
#ifndef POSTERN_HTTPD_IDEMPOTENCY_KEY_H
#define POSTERN_HTTPD_IDEMPOTENCY_KEY_H

#include "core/base/secret.h"
#include "httpd/http/http_head.h"

enum { IDEMPOTENCY_KEY_MAX = 256 }; /* characters */

/* The hash of the key: 1 there is one; 0 there is none; -1 it has not 1 to 256
 * characters. A head with several never gets here. */
int idempotency_key_read(
	const struct http_head *head, uint8_t hash_r[static SECRET_HASH_LEN]);

#endif
