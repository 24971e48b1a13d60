/*
 * Fuzzes form_parse_urlencoded(). A form that was read, written with every
 * byte escaped, must be read as the same.
 */
#include <string.h>

#include "core/base/str.h"
#include "httpd/form/form.h"
#include "tests/fuzz/fuzz.h"

static void add_escaped(struct buf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_printf(out, "%%%02X", (unsigned char)text[i]);
}

static void write_form(struct buf *out, const struct form *form)
{
	for (size_t i = 0; i < form->n; i++) {
		const struct form_field *field = &form->fields[i];

		add_escaped(out, field->name, strlen(field->name));
		/* A name that still ends in brackets keeps them so. */
		buf_add_str(out, strchr(field->name, '[') ? "[]=" : "=");
		add_escaped(out, buf_str(&field->value), field->value.len);
		buf_add_char(out, '&');
	}
}

static void check_again(const struct form *form)
{
	_cleanup_form_ struct form again = FORM_INIT;
	_cleanup_buf_ struct buf body = BUF_INIT;

	write_form(&body, form);
	CHECK(form_parse_urlencoded(buf_str(&body), body.len, &again, NULL) == 0);
	CHECK(again.n == form->n);
	for (size_t i = 0; i < form->n; i++) {
		const struct form_field *a = &form->fields[i];
		const struct form_field *b = &again.fields[i];

		CHECK(str_eq(a->name, b->name));
		CHECK(a->value.len == b->value.len);
		CHECK(memcmp(buf_str(&a->value), buf_str(&b->value), a->value.len) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_form_ struct form form = FORM_INIT;
	struct err err = ERR_INIT;

	if (form_parse_urlencoded((const char *)data, size, &form, &err) == 0)
		check_again(&form);
	else
		CHECK(form.n == 0 && err.code == ERR_INVALID);
	return 0;
}
