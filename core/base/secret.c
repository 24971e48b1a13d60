/*
 * secret: random values, API tokens, tickets and hashes.
 *
 * Threads: any, after secret_init().
 */
#include "core/base/secret.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

int secret_init(void)
{
	return sodium_init() < 0 ? -1 : 0;
}

_Static_assert(SECRET_PASSWORD_SIZE >= crypto_pwhash_STRBYTES, "a stored password fits");
_Static_assert(
	sizeof(SECRET_USER_PREFIX) == sizeof(SECRET_TOKEN_PREFIX), "all tokens have one length");

enum { PREFIX_LEN = sizeof(SECRET_TOKEN_PREFIX) - 1 };

static void make_token(const char *prefix, char token[static SECRET_TOKEN_SIZE])
{
	unsigned char random[32];

	randombytes_buf(random, sizeof(random));
	memcpy(token, prefix, PREFIX_LEN);
	sodium_bin2base64(token + PREFIX_LEN, SECRET_TOKEN_SIZE - PREFIX_LEN, random,
		sizeof(random), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(random, sizeof(random));
}

void secret_token(char token[static SECRET_TOKEN_SIZE])
{
	make_token(SECRET_TOKEN_PREFIX, token);
}

void secret_user_token(char token[static SECRET_TOKEN_SIZE])
{
	make_token(SECRET_USER_PREFIX, token);
}

static bool has_form(const char *prefix, const char *text, size_t len)
{
	static const char base64url[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	if (len != SECRET_TOKEN_SIZE - 1 || memcmp(text, prefix, PREFIX_LEN) != 0)
		return false;
	for (size_t i = PREFIX_LEN; i < len; i++)
		if (memchr(base64url, text[i], sizeof(base64url) - 1) == NULL)
			return false;
	return true;
}

bool secret_is_token(const char *text, size_t len)
{
	return has_form(SECRET_TOKEN_PREFIX, text, len);
}

bool secret_is_user_token(const char *text, size_t len)
{
	return has_form(SECRET_USER_PREFIX, text, len);
}

/* More than the minimum of OWASP's Password Storage Cheat Sheet for Argon2id (19 MiB, 2
 * passes), and little enough for one login per core beside the mail. */
enum { PASSWORD_PASSES = 2, PASSWORD_MEMORY = 32 * 1024 * 1024 };

int secret_password_hash(const char *password, char stored[static SECRET_PASSWORD_SIZE])
{
	memset(stored, 0, SECRET_PASSWORD_SIZE);
	return crypto_pwhash_str_alg(stored, password, strlen(password), PASSWORD_PASSES,
		PASSWORD_MEMORY, crypto_pwhash_ALG_ARGON2ID13);
}

bool secret_password_is(const char *password, const char *stored)
{
	/* The hash of an unknown password: 256 random bits that were discarded. */
	static const char nobody[SECRET_PASSWORD_SIZE] =
		"$argon2id$v=19$m=32768,t=2,p=1$tnGP2uUzUTPUQJxPClGqIA$9PJgJjV+"
		"M2VxpK/KAnqoGMgzQjAxpkClBpQsrmXCLGg";
	char padded[SECRET_PASSWORD_SIZE] = {0};

	strncpy(padded, stored ? stored : nobody, sizeof(padded) - 1);
	return crypto_pwhash_str_verify(padded, password, strlen(password)) == 0 && stored != NULL;
}

void secret_ticket(char ticket[static SECRET_TICKET_SIZE])
{
	unsigned char random[(SECRET_TICKET_SIZE - 1) / 2];

	randombytes_buf(random, sizeof(random));
	sodium_bin2hex(ticket, SECRET_TICKET_SIZE, random, sizeof(random));
}

void secret_hash(const char *token, size_t len, uint8_t hash[static SECRET_HASH_LEN])
{
	crypto_hash_sha256(hash, (const unsigned char *)token, len);
}

void secret_random(void *data, size_t len)
{
	randombytes_buf(data, len);
}

void secret_keyed_hash(const uint8_t key[static SECRET_HASH_LEN], const void *data, size_t len,
	uint8_t hash[static SECRET_HASH_LEN])
{
	crypto_generichash(hash, SECRET_HASH_LEN, data, len, key, SECRET_HASH_LEN);
}

bool secret_same(const void *a, const void *b, size_t len)
{
	return sodium_memcmp(a, b, len) == 0;
}

void secret_wipe(void *data, size_t len)
{
	sodium_memzero(data, len);
}

void secret_text_free(char *text)
{
	if (text)
		secret_wipe(text, strlen(text));
	free(text);
}

void secret_buf_free(struct buf *buf)
{
	if (buf->data)
		secret_wipe(buf->data, buf->cap);
	buf_free(buf);
}

void secret_hmac(const void *key, size_t key_len, const struct span *parts, size_t n,
	uint8_t mac[static SECRET_HASH_LEN])
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, key_len);
	for (size_t i = 0; i < n; i++)
		crypto_auth_hmacsha256_update(
			&state, (const unsigned char *)parts[i].data, parts[i].len);
	crypto_auth_hmacsha256_final(&state, mac);
	sodium_memzero(&state, sizeof(state));
}
