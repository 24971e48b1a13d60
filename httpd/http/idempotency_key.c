/*
 * idempotency_key: the Idempotency-Key of a request, read from its head.
 *
 * A field has bytes; those that are UTF-8 are counted as its characters, others
 * each as one.
 *
 * Threads: any; holds no state.
 */
#include "httpd/http/idempotency_key.h"

#include "core/base/str.h"

static size_t count_characters(struct http_text text)
{
	size_t n = 0;

	if (!str_utf8_valid(text.data, text.len))
		return text.len;
	for (size_t i = 0; i < text.len; i++)
		n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
	return n;
}

int idempotency_key_read(
	const struct http_head *head, uint8_t hash_r[static SECRET_HASH_LEN])
{
	const struct http_text *value = http_head_field(
		head, "Idempotency-Key");
	size_t n;

	if (value == NULL)
		return 0;
	n = count_characters(*value);
	if (n == 0 || n > IDEMPOTENCY_KEY_MAX)
		return -1;
	secret_hash(value->data, value->len, hash_r);
	return 1;
}
