/*
 * form_urlencoded: reads bodies of application/x-www-form-urlencoded (URL
 * Standard 5.1), but for escapes that are none, which are refused.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/form.h"

#include <string.h>

#include "core/base/ascii.h"
#include "core/mail/form_private.h"
#include "core/mail/mime_scan.h"

static int invalid_escape(struct err *err)
{
	return err_set(err, ERR_INVALID,
		"unable to parse request: invalid URL escape");
}

/* Appends the decoded text. */
static int decode(struct mime_span text, struct buf *out, struct err *err)
{
	char *to = buf_reserve(out, text.len);
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++) {
		int byte;

		to[n++] = text.data[i] == '+' ? ' ' : text.data[i];
		if (text.data[i] != '%')
			continue;
		if (text.len - i < 3 ||
			(byte = ascii_hex_pair(text.data + i + 1)) < 0)
			return invalid_escape(err);
		to[n - 1] = (char)byte;
		i += 2;
	}
	buf_wrote(out, n);
	return 0;
}

/* Cuts off what stands before the separator, and the separator. */
static struct mime_span cut(struct mime_span *text, char separator)
{
	const char *end = memchr(text->data, separator, text->len);
	struct mime_span head = *text;

	if (end)
		head.len = (size_t)(end - text->data);
	text->data += head.len + (end != NULL);
	text->len -= head.len + (end != NULL);
	return head;
}

static int read_pair(struct form *form, struct mime_span pair, struct err *err)
{
	struct mime_span key = cut(&pair, '=');
	_cleanup_buf_ struct buf name = BUF_INIT;
	struct form_field *field;

	if (decode(key, &name, err) < 0)
		return -1;
	if (memchr(name.data, '\0', name.len))
		return invalid_escape(err);
	field = form_add(form, name.data, err);
	if (field == NULL)
		return -1;
	return decode(pair, &field->value, err);
}

int form_parse_urlencoded(
	const char *body, size_t len, struct form *form_r, struct err *err)
{
	struct mime_span rest = {body, len};
	struct form form = FORM_INIT;

	while (rest.len > 0) {
		struct mime_span pair = cut(&rest, '&');

		if (pair.len > 0 && read_pair(&form, pair, err) < 0) {
			form_clear(&form);
			return -1;
		}
	}
	*form_r = form;
	return 0;
}
