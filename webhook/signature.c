/*
 * signature: signs attempts.
 */
#include "webhook/signature.h"

#include <inttypes.h>
#include <string.h>

#include "core/base/base64.h"
#include "core/base/clock.h"
#include "core/base/secret.h"
#include "core/base/str.h"

static void add_standard(const uint8_t secret[static WEBHOOK_SECRET_LEN], const char *id,
	const char *body, size_t body_len, int64_t now_us, struct buf *out)
{
	_cleanup_free_ char *head = mem_printf("%s.%" PRId64 ".", id, now_us / SECOND_US);
	const struct span parts[] = {{head, strlen(head)}, {body, body_len}};
	uint8_t mac[SECRET_HASH_LEN];

	secret_hmac(secret, WEBHOOK_SECRET_LEN, parts, 2, mac);
	buf_add_str(out, "v1,");
	base64_encode((const char *)mac, sizeof(mac), 0, out);
}

void signature_standard(const struct webhook *webhook, const char *id, const char *body,
	size_t body_len, int64_t now_us, struct buf *out)
{
	add_standard(webhook->secret, id, body, body_len, now_us, out);
	if (webhook->rotated_us > 0 &&
		now_us - webhook->rotated_us < WEBHOOK_ROTATED_S * SECOND_US) {
		buf_add_char(out, ' ');
		add_standard(webhook->old_secret, id, body, body_len, now_us, out);
	}
}

/* The key is the text that clients are shown. Receivers require a token of 50 characters. */
void signature_form(
	const struct webhook *webhook, const char *event, int64_t now_us, struct buf *out)
{
	_cleanup_free_ char *time = mem_printf("%" PRId64, now_us / SECOND_US);
	_cleanup_secret_buf_ struct buf key = BUF_INIT;
	_cleanup_buf_ struct buf token = BUF_INIT;
	uint8_t random[25], mac[SECRET_HASH_LEN];

	buf_add_hex(&key, webhook->secret, WEBHOOK_SECRET_LEN);
	secret_random(random, sizeof(random));
	buf_add_hex(&token, random, sizeof(random));
	secret_hmac(key.data, key.len,
		(const struct span[]){{time, strlen(time)}, {token.data, token.len}}, 2, mac);
	buf_printf(out, "{\"signature\":{\"timestamp\":\"%s\",\"token\":\"%s\",\"signature\":\"",
		time, buf_str(&token));
	buf_add_hex(out, mac, sizeof(mac));
	buf_printf(out, "\"},\"event-data\":%s}", event);
}
