/*
 * addr_name: display names of mailboxes.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/addr_private.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_header.h"
#include "core/mail/mime_words_decode.h"

/* Takes the quotes of quoted strings off (RFC 5322 3.2.4). Returns whether the
 * rest looks like several addresses: a separator and an @ outside quotes. */
static bool unquote(const char *text, size_t len, struct buf *out)
{
	bool quoted = false, separator = false, at = false;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"') {
			quoted = !quoted;
			continue;
		}
		if (quoted && text[i] == '\\' && i + 1 < len)
			i++;
		separator |= !quoted && (text[i] == ',' || text[i] == ';');
		at |= !quoted && text[i] == '@';
		buf_add_char(out, text[i]);
	}
	return separator && at;
}

/* A decoded name that would decode once more could hide anything from whoever
 * looks at it next. */
static bool is_decoded(const char *name)
{
	_cleanup_free_ char *again = mime_words_decode(name);

	return str_eq(name, again);
}

/* Makes each run of blanks one, and none at the ends, in place. */
static void squeeze(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		bool blank = *from == ' ' || *from == '\t';

		if (!blank)
			*to++ = *from;
		else if (to > text && to[-1] != ' ')
			*to++ = ' ';
	}
	if (to > text && to[-1] == ' ')
		to--;
	*to = '\0';
}

int addr_name_read(const char *text, size_t len, char **name_r, struct err *err)
{
	_cleanup_buf_ struct buf raw = BUF_INIT;
	_cleanup_free_ char *name = NULL;

	if (unquote(text, len, &raw))
		return err_set(err, ERR_INVALID,
			"more than one address where one is wanted");
	name = mime_words_decode(buf_str(&raw));
	if (!mime_header_value_valid(name))
		return err_set(err, ERR_INVALID,
			"the name has a line break or another control "
			"character in an encoded word");
	if (!is_decoded(name))
		return err_set(
			err, ERR_INVALID, "the name is encoded more than once");
	squeeze(name);
	*name_r = TAKE_PTR(name);
	return 0;
}

char *addr_name_write(const char *name)
{
	struct buf out = BUF_INIT;

	if (strpbrk(name, "\"<") == NULL &&
		(strpbrk(name, ",;") == NULL || strchr(name, '@') == NULL))
		return mem_strdup(name);
	buf_add_char(&out, '"');
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			buf_add_char(&out, '\\');
		buf_add_char(&out, *name);
	}
	buf_add_char(&out, '"');
	return buf_take(&out);
}
