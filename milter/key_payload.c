/*
 * key_payload: what makes two messages with one Idempotency-Key the same.
 *
 * Threads: any.
 */
#include "milter/key_payload.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/read/mime_read.h"

static void add_value(struct buf *out, const char *value)
{
	buf_add(out, value ? value : "", (value ? strlen(value) : 0) + 1);
}

static void add_fields(struct buf *out, const struct session_fields *fields)
{
	for (size_t i = 0; i < fields->values.n; i++)
		add_value(out, fields->values.items[i]);
	buf_add_char(out, '\n');
}

static int compare_addresses(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_envelope(struct buf *out, const struct session_message *message)
{
	size_t n = message->recipients.n;
	char **sorted = mem_alloc(n + 1, sizeof(*sorted));

	add_value(out, message->sender);
	for (size_t i = 0; i < n; i++)
		sorted[i] = message->recipients.items[i];
	qsort(sorted, n, sizeof(*sorted), compare_addresses);
	for (size_t i = 0; i < n; i++)
		add_value(out, sorted[i]);
	buf_add_char(out, '\n');
	free(sorted);
}

static void add_files(struct buf *out, const struct buf *copy)
{
	_cleanup_mime_files_ struct mime_files files;

	mime_read_files(copy->data, copy->len, &files);
	for (size_t i = 0; i < files.n; i++) {
		uint8_t hash[SECRET_HASH_LEN];
		_cleanup_buf_ struct buf content = BUF_INIT;

		add_value(out, files.items[i].name);
		add_value(out, files.items[i].type);
		mime_file_content(&files.items[i], &content);
		secret_hash(buf_str(&content), content.len, hash);
		buf_add(out, hash, sizeof(hash));
	}
}

void key_payload_hash(const struct session_message *message, const char *tags,
	const char *variables, uint8_t payload_r[static SECRET_HASH_LEN])
{
	_cleanup_free_ char *html = NULL, *text = NULL;
	_cleanup_buf_ struct buf out = BUF_INIT;

	add_value(&out, "smtp");
	add_envelope(&out, message);
	add_fields(&out, &message->froms);
	add_fields(&out, &message->to);
	add_fields(&out, &message->cc);
	add_fields(&out, &message->reply_to);
	add_value(&out, message->subject);
	add_value(&out, tags);
	add_value(&out, variables);
	mime_read_texts(message->copy.data, message->copy.len, &html, &text);
	add_value(&out, text);
	add_value(&out, html);
	add_files(&out, &message->copy);
	secret_hash(out.data, out.len, payload_r);
}
