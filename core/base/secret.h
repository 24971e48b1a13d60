/*
 * secret: random values, API tokens, tickets and hashes, with libsodium.
 */
#ifndef POSTERN_BASE_SECRET_H
#define POSTERN_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/span.h"

/* The prefix of an API key's token. */
#define SECRET_TOKEN_PREFIX "ps_"

enum {
	SECRET_TOKEN_SIZE = 3 + 43 + 1, /* "ps_", 256 bits in base64url, NUL */
	SECRET_HASH_LEN = 32,
	SECRET_TICKET_SIZE = 32 + 1, /* 128 bits in hex, NUL */
};

/* The prefix of a user's token. */
#define SECRET_USER_PREFIX "pa_"

/* Call once before all other functions. Returns 0, or -1 if the system has no randomness. */
int secret_init(void);

/* Makes an API token. The caller wipes it after use. */
void secret_token(char token[static SECRET_TOKEN_SIZE]);

/* Makes a token of a user: for a session, for automation, or in a link. */
void secret_user_token(char token[static SECRET_TOKEN_SIZE]);

/* True if the text has the form of an API key's token or of a user's: the prefix, and 43 characters
 * of base64url. No other text is a token, so nobody needs to look for it. */
bool secret_is_token(const char *text, size_t len);
bool secret_is_user_token(const char *text, size_t len);

/* Hashes a password for storage: Argon2id (RFC 9106) with salt and costs, as text. Takes 32 MiB
 * and about 50 ms of CPU. Returns 0, or -1 if out of memory. */
enum { SECRET_PASSWORD_SIZE = 128 };
int secret_password_hash(const char *password, char stored[static SECRET_PASSWORD_SIZE]);
/* True if the password matches. Takes as long as hashing. With stored NULL (no such user) it
 * takes the same time and returns false. */
bool secret_password_is(const char *password, const char *stored);

/* Makes a ticket: random, for one email, not the public id. */
void secret_ticket(char ticket[static SECRET_TICKET_SIZE]);

/* SHA-256 of a token. Tokens have 256 bits of entropy, so a fast hash is enough; a slow one
 * would let anyone keep the server busy. */
void secret_hash(const char *token, size_t len, uint8_t hash[static SECRET_HASH_LEN]);

/* Fills data with random bytes, for keys. */
void secret_random(void *data, size_t len);
/* Keyed hash of the data (BLAKE2b, RFC 7693). */
void secret_keyed_hash(const uint8_t key[static SECRET_HASH_LEN], const void *data, size_t len,
	uint8_t hash[static SECRET_HASH_LEN]);

/* HMAC-SHA256 (RFC 2104) of the concatenated parts, for signing webhooks. */
void secret_hmac(const void *key, size_t key_len, const struct span *parts, size_t n,
	uint8_t mac[static SECRET_HASH_LEN]);

/* True if equal. Constant-time. */
bool secret_same(const void *a, const void *b, size_t len);

/* Overwrites memory in a way that the compiler does not optimize away. */
void secret_wipe(void *data, size_t len);

/* Wipes the text and frees it; NULL is fine. */
void secret_text_free(char *text);
/* Wipes all memory of the buffer, including earlier content, frees it, and resets to BUF_INIT. A
 * buffer that grew has left copies: reserve what a secret needs. */
void secret_buf_free(struct buf *buf);
#define _cleanup_secret_buf_ __attribute__((cleanup(secret_buf_free)))

#endif
