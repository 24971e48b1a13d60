/*
 * totp: codes of authenticator apps (RFC 6238 with HMAC-SHA-1, 6 digits and steps of 30
 * seconds, which all apps support), and recovery codes for users who have lost their app. Uses
 * liboath.
 */
#ifndef POSTERN_BASE_TOTP_H
#define POSTERN_BASE_TOTP_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/secret.h"

enum {
	TOTP_SECRET_LEN = 20,
	TOTP_SECRET_TEXT_SIZE = 32 + 1, /* in base32 (RFC 4648 6), with NUL */
	TOTP_STEP_S = 30,
	TOTP_CODE_SIZE = 6 + 1,
	TOTP_RECOVERY_SIZE = 4 * 5, /* 80 bits as `abcd-efgh-ijkl-mnop` */
};

void totp_secret(uint8_t secret[static TOTP_SECRET_LEN]);
void totp_secret_text(
	const uint8_t secret[static TOTP_SECRET_LEN], char text[static TOTP_SECRET_TEXT_SIZE]);

/* Returns the time step that the code belongs to: the current one or one next to it, because
 * clocks differ, but later than used_step. 0 if none. Blanks and hyphens in the code are
 * ignored. */
int64_t totp_step_of(const uint8_t secret[static TOTP_SECRET_LEN], const char *code, int64_t now_us,
	int64_t used_step);
/* Computes the code of a step. */
void totp_code(const uint8_t secret[static TOTP_SECRET_LEN], int64_t step,
	char code[static TOTP_CODE_SIZE]);

/* Makes a recovery code of 80 random bits, for which a fast hash is enough. */
void totp_recovery(char code[static TOTP_RECOVERY_SIZE]);
/* Hashes a recovery code, ignoring case, hyphens and blanks. False if the text is none. */
bool totp_recovery_hash(const char *text, uint8_t hash[static SECRET_HASH_LEN]);

#endif
