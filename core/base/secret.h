/*
 * secret: random values, API tokens, tickets, hashes. libsodium does the work.
 */
#ifndef POSTERN_BASE_SECRET_H
#define POSTERN_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/span.h"

/* What every token of a key begins with. */
#define SECRET_TOKEN_PREFIX "ps_"

enum {
	SECRET_TOKEN_SIZE = 3 + 43 + 1, /* "ps_", 256 bits in base64url, NUL */
	SECRET_HASH_LEN = 32,
	SECRET_TICKET_SIZE = 32 + 1, /* 128 bits in hex, NUL */
};

/* What every token of a user begins with. */
#define SECRET_USER_PREFIX "pa_"

/* To be called once before anything else here; 0, or -1 when the system has no
 * randomness to give. */
int secret_init(void);

/* A new API token. The caller wipes it after use. */
void secret_token(char token[static SECRET_TOKEN_SIZE]);

/* The same for a user: of a session, for automation, or of a link. */
void secret_user_token(char token[static SECRET_TOKEN_SIZE]);

/* What is stored of a password: Argon2id (RFC 9106) with its salt and costs, as
 * text. It takes 32 MiB and some 50 ms of a core. 0, or -1 when there is no
 * memory. */
enum { SECRET_PASSWORD_SIZE = 128 };
int secret_password_hash(const char *password, char stored[static SECRET_PASSWORD_SIZE]);
/* Takes as long. stored NULL stands for nobody's password: false. */
bool secret_password_is(const char *password, const char *stored);

/* A new ticket: random, single use, not the public id. */
void secret_ticket(char ticket[static SECRET_TICKET_SIZE]);

/* SHA-256 of a token. A token has 256 bits of entropy: a fast hash suffices,
 * and a slow one would let anyone keep the server busy. */
void secret_hash(const char *token, size_t len, uint8_t hash[static SECRET_HASH_LEN]);

/* Random bytes, as a key is made of. */
void secret_random(void *data, size_t len);
/* A hash of the data (BLAKE2b, RFC 7693) that nobody computes without the key. */
void secret_keyed_hash(const uint8_t key[static SECRET_HASH_LEN], const void *data, size_t len,
	uint8_t hash[static SECRET_HASH_LEN]);

/* HMAC-SHA256 (RFC 2104) of the parts behind each other, as webhooks are signed. */
void secret_hmac(const void *key, size_t key_len, const struct span *parts, size_t n,
	uint8_t mac[static SECRET_HASH_LEN]);

/* Whether they are the same, in a time that does not tell where they differ. */
bool secret_same(const void *a, const void *b, size_t len);

/* Overwrites memory in a way that the compiler keeps. */
void secret_wipe(void *data, size_t len);

#endif
