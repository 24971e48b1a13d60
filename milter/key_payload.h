/*
 * key_payload: the hash by which a message with a key's login is known again.
 */
#ifndef POSTERN_MILTER_KEY_PAYLOAD_H
#define POSTERN_MILTER_KEY_PAYLOAD_H

#include "core/base/secret.h"
#include "milter/session.h"

/* Hashes the content and the addresses of the message, for its Idempotency-Key. Date,
 * Message-ID and MIME boundaries do not count, because a program that builds the message again
 * changes them. tags and variables are those of the message's fields, as in struct email. */
void key_payload_hash(const struct session_message *message, const char *tags,
	const char *variables, uint8_t payload_r[static SECRET_HASH_LEN]);

#endif
