/*
 * secret: random values, API tokens, tickets, hashes.
 *
 * Threads: any, after secret_init().
 */
#include "core/base/secret.h"

#include <sodium.h>
#include <string.h>

int secret_init(void)
{
	return sodium_init() < 0 ? -1 : 0;
}

void secret_token(char token[static SECRET_TOKEN_SIZE])
{
	enum { PREFIX_LEN = sizeof(SECRET_TOKEN_PREFIX) - 1 };
	unsigned char random[32];

	randombytes_buf(random, sizeof(random));
	memcpy(token, SECRET_TOKEN_PREFIX, PREFIX_LEN);
	sodium_bin2base64(token + PREFIX_LEN, SECRET_TOKEN_SIZE - PREFIX_LEN,
		random, sizeof(random), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(random, sizeof(random));
}

void secret_ticket(char ticket[static SECRET_TICKET_SIZE])
{
	unsigned char random[(SECRET_TICKET_SIZE - 1) / 2];

	randombytes_buf(random, sizeof(random));
	sodium_bin2hex(ticket, SECRET_TICKET_SIZE, random, sizeof(random));
}

void secret_hash(
	const char *token, size_t len, uint8_t hash[static SECRET_HASH_LEN])
{
	crypto_hash_sha256(hash, (const unsigned char *)token, len);
}

void secret_wipe(void *data, size_t len)
{
	sodium_memzero(data, len);
}
