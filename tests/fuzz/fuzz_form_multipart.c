/*
 * Fuzzes form_parse_multipart(). The first line of the input is the request's
 * Content-Type, the rest its body. A form that was read is written again in the
 * way of browsers, and must be read as the same.
 */
#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/form/form.h"
#include "tests/fuzz/fuzz.h"

#define BOUNDARY "a-boundary-that-is-in-no-value"

/* Appends the name so that it means the same in quotes. */
static void add_quoted(struct buf *out, const char *name)
{
	for (; *name; name++) {
		if (*name == '"')
			buf_add_str(out, "%22");
		else if (*name == '\r')
			buf_add_str(out, "%0D");
		else if (*name == '\n')
			buf_add_str(out, "%0A");
		else if (*name == '\\')
			buf_add_str(out, "\\\\");
		else
			buf_add_char(out, *name);
	}
}

/* Whether the field can be written: some names were written in ways that we
 * do not use here. */
static bool is_writable(const struct form_field *field)
{
	size_t len = strlen(field->name);

	if (strcasestr(field->name, "%") || (len && field->name[len - 1] == ']'))
		return false;
	if (field->filename && strpbrk(field->filename, "%"))
		return false;
	if (field->content_type && strcasestr(field->content_type, "multipart"))
		return false;
	if (field->content_type && strcasestr(field->content_type, "charset"))
		return false;
	return memmem(field->value.data, field->value.len, BOUNDARY, strlen(BOUNDARY)) == NULL;
}

static void write_field(struct buf *out, const struct form_field *field)
{
	buf_add_str(out, "--" BOUNDARY "\r\n");
	if (field->content_type)
		buf_printf(out, "Content-Type: %s\r\n", field->content_type);
	buf_add_str(out, "Content-Disposition: form-data; name=\"");
	add_quoted(out, field->name);
	if (field->filename) {
		buf_add_str(out, "\"; filename=\"");
		add_quoted(out, field->filename);
	}
	buf_add_str(out, "\"\r\n\r\n");
	buf_add(out, buf_str(&field->value), field->value.len);
	buf_add_str(out, "\r\n");
}

static bool same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : str_eq(a, b);
}

static void check_same(const struct form_field *a, const struct form_field *b)
{
	CHECK(same_text(a->name, b->name));
	CHECK(same_text(a->filename, b->filename));
	CHECK(same_text(a->content_type, b->content_type));
	CHECK(a->value.len == b->value.len);
	CHECK(a->value.len == 0 || memcmp(a->value.data, b->value.data, a->value.len) == 0);
}

static void check_field(const struct form_field *field)
{
	CHECK(field->name != NULL);
	CHECK(field->filename == NULL || !strpbrk(field->filename, "/\\"));
	CHECK(field->content_type == NULL || !strpbrk(field->content_type, "\r\n"));
}

static void check_again(const struct form *form)
{
	_cleanup_form_ struct form again = FORM_INIT;
	_cleanup_buf_ struct buf body = BUF_INIT;

	for (size_t i = 0; i < form->n; i++) {
		check_field(&form->fields[i]);
		if (!is_writable(&form->fields[i]))
			return;
		write_field(&body, &form->fields[i]);
	}
	buf_add_str(&body, "--" BOUNDARY "--\r\n");
	if (body.len > 8 * FORM_PART_HEADER_MAX)
		return; /* a header may have grown too long */
	CHECK(form_parse_multipart("multipart/form-data; boundary=" BOUNDARY, body.data, body.len,
		      &again, NULL) == 0);
	CHECK(again.n == form->n);
	for (size_t i = 0; i < form->n; i++)
		check_same(&form->fields[i], &again.fields[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *end = memchr(data, '\n', size);
	_cleanup_form_ struct form form = FORM_INIT;
	_cleanup_free_ char *type = NULL;
	struct err err = ERR_INIT;
	size_t len;

	if (end == NULL)
		return -1;
	len = (size_t)(end - data);
	type = mem_dup(data, len);
	if (form_parse_multipart(type, (const char *)end + 1, size - len - 1, &form, &err) == 0) {
		CHECK(form.n <= FORM_FIELDS_MAX);
		check_again(&form);
	} else {
		CHECK(form.n == 0 && err.code == ERR_INVALID);
	}
	return 0;
}
