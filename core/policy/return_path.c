/*
 * return_path: makes, finds and verifies tokens.
 */
#include "core/policy/return_path.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"

enum {
	TOKEN_LEN = RETURN_TOKEN_SIZE - 1,
	PROOF_LEN = 16,
	RAW_LEN = ID_BYTES + PROOF_LEN,
	NONCE_LEN = SECRET_HASH_LEN, /* characters; the nonce is used as the hash key */
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";

static void encode(const uint8_t raw[static RAW_LEN], char token_r[static RETURN_TOKEN_SIZE])
{
	for (size_t i = 0; i < TOKEN_LEN; i++) {
		size_t bit = i * 5;
		unsigned two = (unsigned)raw[bit / 8] << 8;

		if (bit / 8 + 1 < RAW_LEN)
			two |= raw[bit / 8 + 1];
		token_r[i] = letters[two >> (11 - bit % 8) & 31];
	}
	token_r[TOKEN_LEN] = '\0';
}

/* Returns the value of a base32 letter of either case, or -1. */
static int letter_value(char c)
{
	const char *at;

	if (c >= 'A' && c <= 'Z')
		c = (char)(c - 'A' + 'a');
	at = c ? strchr(letters, c) : NULL;
	return at ? (int)(at - letters) : -1;
}

static bool decode_token(const char *token, uint8_t raw_r[static RAW_LEN])
{
	memset(raw_r, 0, RAW_LEN);
	for (size_t i = 0; i < TOKEN_LEN; i++) {
		int value = letter_value(token[i]);
		size_t bit = i * 5;
		unsigned two;

		if (value < 0)
			return false;
		two = (unsigned)value << (11 - bit % 8);
		raw_r[bit / 8] |= (uint8_t)(two >> 8);
		if (bit / 8 + 1 < RAW_LEN)
			raw_r[bit / 8 + 1] |= (uint8_t)two;
	}
	return true;
}

bool return_token_make(enum return_use use, const char *id, const char *nonce,
	char token_r[static RETURN_TOKEN_SIZE])
{
	uint8_t raw[RAW_LEN], proof[SECRET_HASH_LEN];
	char text[ID_SIZE + 2];

	if (strlen(nonce) != NONCE_LEN || !id_bytes(id, raw))
		return false;
	snprintf(text, sizeof(text), "%c %s", (char)use, id);
	secret_keyed_hash((const uint8_t *)nonce, text, strlen(text), proof);
	memcpy(raw + ID_BYTES, proof, PROOF_LEN);
	encode(raw, token_r);
	return true;
}

char *return_address(enum return_use use, const char *token, const char *return_path)
{
	return mem_printf("%c+%s@%s", (char)use, token, return_path);
}

bool return_token_parse(enum return_use use, const char *text, struct return_token *token_r)
{
	uint8_t raw[RAW_LEN];

	if (strnlen(text, TOKEN_LEN + 1) != TOKEN_LEN || !decode_token(text, raw))
		return false;
	token_r->use = use;
	memcpy(token_r->text, text, RETURN_TOKEN_SIZE);
	str_lower(token_r->text);
	id_format(raw, token_r->id);
	return true;
}

bool return_token_find(const char *text, struct return_token *token_r)
{
	for (const char *plus = text; (plus = strchr(plus, '+')) != NULL; plus++) {
		char use = plus > text ? plus[-1] : '\0', token[RETURN_TOKEN_SIZE];
		size_t n = 0;

		if (use >= 'A' && use <= 'Z')
			use = (char)(use - 'A' + 'a');
		if (use != RETURN_BOUNCE && use != RETURN_UNSUBSCRIBE)
			continue;
		while (n < TOKEN_LEN && letter_value(plus[1 + n]) >= 0) {
			token[n] = plus[1 + n];
			n++;
		}
		token[n] = '\0';
		if (n == TOKEN_LEN && plus[1 + n] == '@' &&
			return_token_parse((enum return_use)use, token, token_r))
			return true;
	}
	return false;
}

bool return_token_is(const struct return_token *token, const char *nonce)
{
	char made[RETURN_TOKEN_SIZE];

	return return_token_make(token->use, token->id, nonce, made) &&
	       secret_same(made, token->text, RETURN_TOKEN_SIZE);
}
