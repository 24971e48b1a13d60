/*
 * totp: codes of authenticator apps, and recovery codes.
 *
 * Threads: any.
 */
#include "core/base/totp.h"

#include <assert.h>
#include <liboath/oath.h>
#include <sodium.h>
#include <string.h>

#include "core/base/str.h"

enum { DIGITS = TOTP_CODE_SIZE - 1, RECOVERY_LEN = 16 };

static void base32(const uint8_t *data, size_t len, char *text, size_t text_len)
{
	size_t n = 0;
	char *out = NULL;

	/* Fails only if out of memory. */
	if (oath_base32_encode((const char *)data, len, &out, &n) != OATH_OK)
		abort();
	assert(n == text_len);
	memcpy(text, out, n);
	text[n] = '\0';
	secret_wipe(out, n);
	free(out);
}

void totp_secret(uint8_t secret[static TOTP_SECRET_LEN])
{
	randombytes_buf(secret, TOTP_SECRET_LEN);
}

void totp_secret_text(
	const uint8_t secret[static TOTP_SECRET_LEN], char text[static TOTP_SECRET_TEXT_SIZE])
{
	base32(secret, TOTP_SECRET_LEN, text, TOTP_SECRET_TEXT_SIZE - 1);
}

void totp_code(const uint8_t secret[static TOTP_SECRET_LEN], int64_t step,
	char code[static TOTP_CODE_SIZE])
{
	if (oath_totp_generate((const char *)secret, TOTP_SECRET_LEN, (time_t)(step * TOTP_STEP_S),
		    TOTP_STEP_S, 0, DIGITS, code) != OATH_OK)
		abort();
}

/* Copies the text without blanks and hyphens. False if that does not give n characters. */
static bool squeeze(const char *text, char *out, size_t n)
{
	size_t len = 0;

	for (; *text; text++) {
		if (ascii_is_blank(*text) || *text == '-')
			continue;
		if (len == n)
			return false;
		out[len++] = *text;
	}
	out[len] = '\0';
	return len == n;
}

int64_t totp_step_of(const uint8_t secret[static TOTP_SECRET_LEN], const char *code, int64_t now_us,
	int64_t used_step)
{
	int64_t now = now_us / 1000000 / TOTP_STEP_S, found = 0;
	char given[TOTP_CODE_SIZE], right[TOTP_CODE_SIZE];

	if (!squeeze(code, given, DIGITS))
		return 0;
	for (int64_t step = now - 1; step <= now + 1; step++) {
		totp_code(secret, step, right);
		if (sodium_memcmp(given, right, DIGITS) == 0 && step > used_step && found == 0)
			found = step;
	}
	secret_wipe(right, sizeof(right));
	return found;
}

void totp_recovery(char code[static TOTP_RECOVERY_SIZE])
{
	uint8_t random[RECOVERY_LEN * 5 / 8];
	char text[RECOVERY_LEN + 1];

	randombytes_buf(random, sizeof(random));
	base32(random, sizeof(random), text, RECOVERY_LEN);
	str_lower(text);
	for (size_t i = 0; i < RECOVERY_LEN; i++) {
		code[i + i / 4] = text[i];
		code[i + i / 4 + 1] = '-';
	}
	code[TOTP_RECOVERY_SIZE - 1] = '\0';
	secret_wipe(random, sizeof(random));
	secret_wipe(text, sizeof(text));
}

bool totp_recovery_hash(const char *text, uint8_t hash[static SECRET_HASH_LEN])
{
	char code[RECOVERY_LEN + 1];

	if (!squeeze(text, code, RECOVERY_LEN))
		return false;
	str_lower(code);
	secret_hash(code, RECOVERY_LEN, hash);
	secret_wipe(code, sizeof(code));
	return true;
}
