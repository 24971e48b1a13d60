/*
 * form: the fields of a form, whatever its encoding was.
 *
 * The list grows by doubling: its capacity is the power of two at or above n,
 * at most FORM_FIELDS_MAX. Threads: any; one form belongs to one thread at a
 * time.
 */
#include "core/mail/form.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/form_private.h"

/* The length of the name without one `[...]` at its end, unless there is
 * nothing before it. */
static size_t bare_len(const char *name)
{
	size_t len = strlen(name);
	const char *open = strrchr(name, '[');

	if (open && open > name && name[len - 1] == ']')
		return (size_t)(open - name);
	return len;
}

struct form_field *form_add(struct form *form, const char *name, struct err *err)
{
	struct form_field *field;

	if (form->n == FORM_FIELDS_MAX) {
		err_set(err, ERR_INVALID, "too many form fields, max is %d",
			FORM_FIELDS_MAX);
		return NULL;
	}
	if ((form->n & (form->n - 1)) == 0)
		form->fields = mem_grow(form->fields, form->n ? form->n * 2 : 1,
			sizeof(*form->fields));
	field = &form->fields[form->n++];
	*field = (struct form_field){.name = mem_dup(name, bare_len(name))};
	return field;
}

size_t form_fields_max(const char *body, size_t len, bool is_multipart)
{
	const char *separator = is_multipart ? "\n--" : "&", *at = body;
	const char *end = body + len;
	size_t n = 1, separator_len = strlen(separator);

	while (n < FORM_FIELDS_MAX &&
		(at = memmem(at, (size_t)(end - at), separator,
			 separator_len)) != NULL) {
		at += separator_len;
		n++;
	}
	return n;
}

const struct form_field *form_next(const struct form *form, const char *name,
	const struct form_field *after)
{
	size_t i = after ? (size_t)(after - form->fields) + 1 : 0;

	for (; i < form->n; i++)
		if (str_eq(form->fields[i].name, name))
			return &form->fields[i];
	return NULL;
}

void form_clear(struct form *form)
{
	for (size_t i = 0; i < form->n; i++) {
		free(form->fields[i].name);
		free(form->fields[i].filename);
		free(form->fields[i].content_type);
		buf_free(&form->fields[i].value);
	}
	free(form->fields);
	*form = FORM_INIT;
}
