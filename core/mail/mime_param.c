/*
 * mime_param: parameters of Content-Type and Content-Disposition.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_param.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/mail/mime_words.h"

enum { PLAIN_MAX = 60, PIECE_MAX = 54 };

/* Short printable ASCII, and nothing that a reader would decode. */
static bool is_plain(const char *value)
{
	for (const char *p = value; *p; p++)
		if (*p < ' ' || *p > '~')
			return false;
	return strlen(value) <= PLAIN_MAX && strstr(value, "=?") == NULL;
}

static void add_quoted(struct mime_fold *fold, const char *name, const char *value)
{
	struct buf word = BUF_INIT;

	buf_printf(&word, "%s=\"", name);
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			buf_add_char(&word, '\\');
		buf_add_char(&word, *value);
	}
	buf_add_char(&word, '"');
	mime_fold_word(fold, word.data);
	buf_free(&word);
}

/* attribute-char of RFC 2231 7. */
static bool is_attribute_char(char c)
{
	return g_ascii_isalnum(c) || (c != '\0' && strchr("!#$&+-.^_`{|}~", c));
}

/* Takes the start of the value, percent-encoded, until a piece is full. */
static const char *add_piece(struct buf *piece, const char *value)
{
	size_t end = piece->len + PIECE_MAX;

	for (; *value && piece->len + 3 <= end; value++) {
		if (is_attribute_char(*value))
			buf_add_char(piece, *value);
		else
			buf_printf(piece, "%%%02X", (unsigned char)*value);
	}
	return value;
}

static void add_pieces(struct mime_fold *fold, const char *name, const char *value)
{
	_cleanup_buf_ struct buf text = BUF_INIT;
	const char *rest = add_piece(&text, value);

	if (*rest == '\0') {
		_cleanup_free_ char *word = mem_printf(
			"%s*=UTF-8''%s", name, text.data);

		mime_fold_word(fold, word);
		return;
	}
	for (unsigned i = 0; text.len > 0; i++) {
		_cleanup_free_ char *word = mem_printf("%s*%u*=%s%s%s", name, i,
			i == 0 ? "UTF-8''" : "", text.data, *rest ? ";" : "");

		mime_fold_word(fold, word);
		buf_clear(&text);
		rest = add_piece(&text, rest);
	}
}

void mime_param_add(struct mime_fold *fold, const char *name, const char *value)
{
	mime_fold_attach(fold, ";");
	if (is_plain(value))
		add_quoted(fold, name, value);
	else
		add_pieces(fold, name, value);
}

void mime_param_add_words(
	struct mime_fold *fold, const char *name, const char *value)
{
	mime_fold_attach(fold, ";");
	if (is_plain(value)) {
		add_quoted(fold, name, value);
		return;
	}
	mime_fold_break(fold);
	mime_fold_attach(fold, " ");
	mime_fold_attach(fold, name);
	mime_fold_attach(fold, "=\"");
	mime_words_attach(fold, value, strlen(value));
	mime_fold_attach(fold, "\"");
}
