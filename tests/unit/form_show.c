/* form_show: see the header. Threads: any; holds no state. */
#include "tests/unit/form_show.h"

#include <string.h>

#include "core/base/mem.h"

static void add_escaped(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < ' ' || c > '~' || c == '\\')
			buf_printf(out, "\\%02x", c);
		else
			buf_add_char(out, text[i]);
	}
}

static void add_framed(struct buf *out, char open, const char *text, char close)
{
	if (text == NULL)
		return;
	buf_add_char(out, open);
	add_escaped(out, text, strlen(text));
	buf_add_char(out, close);
}

char *form_show(const struct form *form, int result, const struct err *err)
{
	struct buf out = BUF_INIT;

	if (result < 0)
		return mem_printf("!%s", err->text);
	for (size_t i = 0; i < form->n; i++) {
		const struct form_field *field = &form->fields[i];

		add_escaped(&out, field->name, strlen(field->name));
		add_framed(&out, '(', field->filename, ')');
		add_framed(&out, '<', field->content_type, '>');
		buf_add_char(&out, '=');
		add_escaped(&out, buf_str(&field->value), field->value.len);
		buf_add_char(&out, ';');
	}
	return buf_take(&out);
}
