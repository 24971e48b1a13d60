/*
 * form_text: values of form fields as text, and the lists of addresses in
 * them.
 */
#include "httpd/form/form_text.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_header.h"

static int bad(struct problem *problem, const char *name, const char *what)
{
	return problem_set(problem, PROBLEM_BAD_REQUEST, "%.100s parameter %s",
		name, what);
}

int form_text_check(const struct form_field *field, struct problem *problem)
{
	const char *value = buf_str(&field->value);

	if (strlen(value) != field->value.len)
		return bad(problem, field->name, "contains a NUL character");
	if (!str_utf8_valid(value, field->value.len))
		return bad(problem, field->name, "is not valid UTF-8");
	return 0;
}

int form_text(const struct form *form, const char *name, const char **value_r,
	struct problem *problem)
{
	const struct form_field *field = form_next(form, name, NULL);

	*value_r = NULL;
	if (field == NULL || field->value.len == 0)
		return 0;
	if (form_text_check(field, problem) < 0)
		return -1;
	*value_r = field->value.data;
	return 0;
}

int form_text_line(const struct form *form, const char *name,
	const char **value_r, struct problem *problem)
{
	if (form_text(form, name, value_r, problem) < 0)
		return -1;
	if (*value_r && !mime_header_value_valid(*value_r))
		return bad(problem, name,
			"contains line breaks or other control characters");
	return 0;
}

bool form_text_given(const struct form *form, const char *name)
{
	const struct form_field *field = NULL;

	while ((field = form_next(form, name, field)) != NULL) {
		_cleanup_free_ char *text = str_trim(
			buf_str(&field->value), field->value.len);

		if (*text)
			return true;
	}
	return false;
}

int form_text_message_id(char **id, struct problem *problem)
{
	if (**id != '<') {
		char *bare = *id;

		*id = mem_printf("<%s>", bare);
		free(bare);
	}
	return mime_header_msg_id_valid(*id)
		       ? 0
		       : bad(problem, "h:Message-Id",
				 "is not a valid message id");
}

/* The list without the blanks and commas that clients leave at its ends. */
static char *trim_list(const char *value)
{
	static const char skip[] = " \t\r\n,";
	size_t len;

	value += strspn(value, skip);
	len = strlen(value);
	while (len > 0 && strchr(skip, value[len - 1]))
		len--;
	return mem_dup(value, len);
}

int form_text_split(const char *value, const char *name, struct addr_list *list,
	struct problem *problem)
{
	_cleanup_free_ char *trimmed = trim_list(value);
	_cleanup_addr_list_ struct addr_list given = {0};

	if (*trimmed && addr_list_parse(trimmed, &given, NULL) < 0)
		return bad(problem, name,
			"is not a valid address. please check documentation");
	/* No need to look for each among them all when it is too many. */
	for (size_t i = 0; i < given.n && list->n <= FORM_TEXT_ADDRS_MAX; i++)
		if (!addr_list_has(list, &given.items[i]))
			*addr_list_add(list) = TAKE(given.items[i]);
	return 0;
}

int form_text_addrs(const struct form *form, const char *name,
	struct addr_list *list, struct problem *problem)
{
	const struct form_field *field = NULL;

	while ((field = form_next(form, name, field)) != NULL)
		if (form_text_check(field, problem) < 0 ||
			form_text_split(buf_str(&field->value), name, list,
				problem) < 0)
			return -1;
	return 0;
}
