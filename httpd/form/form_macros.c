/*
 * form_macros: what is put into the texts of an email for its recipient.
 *
 * One scanner serves counting and replacing: a text of a few bytes can stand
 * for gigabytes, which has to be known before any is written.
 *
 * Threads: any; holds no state.
 */
#include "httpd/form/form_macros.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"

static const char *const removed[] = {"%unsubscribe_url%",
	"%tag_unsubscribe_email%", "%tag_unsubscribe_url%",
	"%mailing_list_unsubscribe_url%", "%unsubscribe_email%"};

/* A piece of the text, and what comes in its place. */
struct piece {
	size_t len;
	const char *value;
	size_t value_len;
};

static size_t removed_len(const char *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(removed); i++)
		if (str_starts(at, removed[i]))
			return strlen(removed[i]);
	return 0;
}

bool form_macros_removed_in(const char *text)
{
	for (const char *at = text; (at = strchr(at, '%')) != NULL; at++)
		if (removed_len(at) > 0)
			return true;
	return false;
}

/* Whether a variable that has a value begins here. */
static bool read_variable(const struct form_recipient *recipient,
	const char *at, struct piece *piece)
{
	static const char start[] = "%recipient.", whole[] = "%recipient%";
	const char *key = at + sizeof(start) - 1, *end;
	const json_t *value;

	if (recipient->address && str_starts(at, whole)) {
		*piece = (struct piece){sizeof(whole) - 1, recipient->address,
			strlen(recipient->address)};
		return true;
	}
	if (recipient->variables == NULL || !str_starts(at, start) ||
		(end = strchr(key, '%')) == NULL)
		return false;
	value = json_object_getn(recipient->variables, key, (size_t)(end - key));
	if (!json_is_string(value))
		return false;
	*piece = (struct piece){(size_t)(end - at) + 1,
		json_string_value(value), json_string_length(value)};
	return true;
}

/* The piece at the start of the text, which is not empty. */
static struct piece next_piece(
	const struct form_recipient *recipient, const char *at)
{
	struct piece piece;
	size_t len;

	if (*at != '%') {
		len = strcspn(at, "%");
		return (struct piece){len, at, len};
	}
	len = removed_len(at);
	if (len > 0)
		return (struct piece){len, "", 0};
	if (read_variable(recipient, at, &piece))
		return piece;
	return (struct piece){1, at, 1};
}

uint64_t form_macros_size(const struct form_recipient *recipient, const char *text)
{
	uint64_t size = 0;

	while (text && *text) {
		struct piece piece = next_piece(recipient, text);

		size += piece.value_len;
		text += piece.len;
	}
	return size;
}

void form_macros_apply(const struct form_recipient *recipient, char **text)
{
	struct buf out = BUF_INIT;

	if (*text == NULL || strchr(*text, '%') == NULL)
		return;
	buf_reserve(&out, form_macros_size(recipient, *text));
	for (const char *at = *text; *at;) {
		struct piece piece = next_piece(recipient, at);

		buf_add(&out, piece.value, piece.value_len);
		at += piece.len;
	}
	free(*text);
	*text = buf_take(&out);
}
