/*
 * mime_header: validates and writes header fields.
 */
#include "core/mime/mime_header.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"

/* Leaves room for a colon and a blank within 78 characters. */
enum { NAME_MAX_LEN = 76 };

/* The field's line, with its name, has at most 998 characters (RFC 5322 2.1.1). */
enum { MSG_ID_MAX = 998 - (int)sizeof("Message-ID: ") + 1 };

bool mime_header_name_valid(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > NAME_MAX_LEN)
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || *name == ':')
			return false;
	return true;
}

bool mime_header_value_valid(const char *value)
{
	if (!str_utf8_valid(value, strlen(value)))
		return false;
	/* No control characters: C0 except tab, DEL, and C1 (U+0080 to U+009F). */
	for (; *value; value++)
		if (*value == '\xc2' ? (unsigned char)value[1] < 0xa0
				     : ascii_is_control(*value) && *value != '\t')
			return false;
	return true;
}

void mime_header_unfold(char *value)
{
	char *to = value;

	while (*value) {
		size_t line_end = str_starts(value, "\r\n") ? 2 : *value == '\n';

		if (line_end > 0 && ascii_is_blank(value[line_end]))
			value += line_end;
		*to++ = *value++;
	}
	*to = '\0';
}

/* Returns the length of the dot-atom-text (RFC 5322 3.2.3) at text; 0 if none. */
static size_t dot_atom_len(const char *text)
{
	size_t len = 0;

	for (;;) {
		size_t atom = strspn(text + len,
			"!#$%&'*+-/=?^_`{|}~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

		if (atom == 0)
			return 0;
		len += atom;
		if (text[len] != '.')
			return len;
		len++;
	}
}

/* Returns the length of the no-fold-literal at text; 0 if none. */
static size_t literal_len(const char *text)
{
	size_t len = 1;

	if (text[0] != '[')
		return 0;
	while (text[len] > ' ' && text[len] <= '~' && strchr("[]\\", text[len]) == NULL)
		len++;
	return text[len] == ']' ? len + 1 : 0;
}

bool mime_header_msg_id_valid(const char *text)
{
	size_t left, right;

	if (strlen(text) > MSG_ID_MAX || text[0] != '<')
		return false;
	left = dot_atom_len(text + 1);
	if (left == 0 || text[1 + left] != '@')
		return false;
	text += 1 + left + 1;
	right = text[0] == '[' ? literal_len(text) : dot_atom_len(text);
	return right > 0 && text[right] == '>' && text[right + 1] == '\0';
}

bool mime_header_reserved(const char *name)
{
	static const char *const names[] = {"from", "to", "cc", "bcc", "subject", "message-id",
		"reply-to", "content-type", "mime-version", "content-transfer-encoding"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq_nocase(name, names[i]))
			return true;
	return str_starts_nocase(name, "X-Postern-") || str_eq_nocase(name, "Postern-Nonce");
}

void mime_quoted_add(struct buf *out, const char *text)
{
	buf_add_char(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			buf_add_char(out, '\\');
		buf_add_char(out, *text);
	}
	buf_add_char(out, '"');
}

void mime_fold_start(struct mime_fold *fold, struct buf *out, const char *name)
{
	*fold = (struct mime_fold){.out = out, .first = true};
	mime_fold_attach(fold, name);
	mime_fold_attach(fold, ":");
}

void mime_fold_add(struct mime_fold *fold, const char *text, size_t blanks, size_t len)
{
	size_t limit = fold->first ? MIME_FOLD_MAX : MIME_FOLD_WANTED;

	/* A line must not consist of blanks only. */
	if (blanks > 0 && len > blanks && fold->column + len > limit)
		mime_fold_break(fold);
	buf_add(fold->out, text, len);
	fold->column += len;
	fold->first = false;
}

void mime_fold_word(struct mime_fold *fold, const char *word)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, " %s", word);
	mime_fold_add(fold, text.data, 1, text.len);
	buf_free(&text);
}

void mime_fold_break(struct mime_fold *fold)
{
	buf_add_char(fold->out, '\n');
	fold->column = 0;
	fold->first = false;
}

void mime_fold_attach(struct mime_fold *fold, const char *text)
{
	buf_add_str(fold->out, text);
	fold->column += strlen(text);
}

void mime_fold_end(struct mime_fold *fold)
{
	buf_add_char(fold->out, '\n');
}
