/*
 * form: the fields of a form, in either encoding.
 *
 * A part of a multipart body that cannot be parsed is refused, not skipped.
 * Urlencoded bodies are parsed by the URL Standard 5.1, but malformed escapes
 * are refused. Time is linear in the length of the body. The number of fields
 * and the size of a part's header are bounded.
 */
#include "httpd/form/form.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mime/mime_charset.h"
#include "core/mime/mime_header.h"
#include "core/mime/mime_param.h"
#include "core/mime/mime_scan.h"
#include "core/mime/mime_content.h"

/* Appends a field with the name, without one `[...]` at its end, unless that is all of it. The
 * pointer is valid until the form grows again. NULL and ERR_INVALID if the form is full. */
static struct form_field *form_add(struct form *form, const char *name, struct err *err)
{
	const char *open = strrchr(name, '[');
	struct form_field *field;
	size_t len = strlen(name);

	if (open && open > name && name[len - 1] == ']')
		len = (size_t)(open - name);
	if (form->n == FORM_FIELDS_MAX) {
		err_set(err, ERR_INVALID, "too many form fields, max is %d", FORM_FIELDS_MAX);
		return NULL;
	}
	form->fields = mem_append(form->fields, form->n, sizeof(*form->fields));
	field = &form->fields[form->n++];
	field->name = mem_dup(name, len);
	return field;
}

size_t form_fields_max(const char *body, size_t len, bool is_multipart)
{
	const char *separator = is_multipart ? "\n--" : "&", *at = body;
	const char *end = body + len;
	size_t n = 1, separator_len = strlen(separator);

	while (n < FORM_FIELDS_MAX &&
		(at = memmem(at, (size_t)(end - at), separator, separator_len)) != NULL) {
		at += separator_len;
		n++;
	}
	return n;
}

const struct form_field *form_next(
	const struct form *form, const char *name, const struct form_field *after)
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

static int invalid_escape(struct err *err)
{
	return err_set(err, ERR_INVALID, "unable to parse request: invalid URL escape");
}

/* Appends the decoded text. A + is a blank. */
static int decode_urlencoded(struct span text, struct buf *out, struct err *err)
{
	buf_reserve(out, text.len);
	while (text.len > 0) {
		size_t before = text.len;
		struct span piece = span_cut(&text, '+');

		if (!span_percent_decode(piece, out))
			return invalid_escape(err);
		if (piece.len < before)
			buf_add_char(out, ' ');
	}
	return 0;
}

static int read_pair(struct form *form, struct span pair, struct err *err)
{
	struct span key = span_cut(&pair, '=');
	_cleanup_buf_ struct buf name = BUF_INIT;
	struct form_field *field;

	if (decode_urlencoded(key, &name, err) < 0)
		return -1;
	if (memchr(buf_str(&name), '\0', name.len))
		return invalid_escape(err);
	field = form_add(form, buf_str(&name), err);
	if (field == NULL)
		return -1;
	return decode_urlencoded(pair, &field->value, err);
}

int form_parse_urlencoded(const char *body, size_t len, struct form *form_r, struct err *err)
{
	struct span rest = {body, len};
	struct form form = FORM_INIT;

	while (rest.len > 0) {
		struct span pair = span_cut(&rest, '&');

		if (pair.len > 0 && read_pair(&form, pair, err) < 0) {
			form_clear(&form);
			return -1;
		}
	}
	*form_r = form;
	return 0;
}

/* The header of a part. A member is NULL if the header lacks it. */
struct part {
	char *disposition;
	char *type;
	char *encoding;
	char *name;
	char *filename;
	struct span content;
};

static void part_clear(struct part *part)
{
	free(part->disposition);
	free(part->type);
	free(part->encoding);
	free(part->name);
	free(part->filename);
}

static int malformed(struct err *err)
{
	return err_set(err, ERR_INVALID, "malformed multipart/form-data request");
}

/* Parses the header of the text; the first of several fields counts. What follows becomes
 * part->content. */
static int read_part_header(struct span text, struct part *part, struct err *err)
{
	const struct {
		const char *name;
		char **value;
	} fields[] = {
		{"Content-Disposition", &part->disposition},
		{"Content-Type", &part->type},
		{"Content-Transfer-Encoding", &part->encoding},
	};
	struct span rest = text;
	struct mime_scan_field field;

	while (mime_scan_field(&rest, &field)) {
		if (text.len - rest.len > FORM_PART_HEADER_MAX ||
			memchr(field.raw.data, '\0', field.raw.len))
			return malformed(err);
		for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
			if (*fields[i].value == NULL && mime_scan_is(&field, fields[i].name))
				*fields[i].value = mime_scan_value(&field);
	}
	/* The empty line before an empty content may be part of the delimiter. */
	if (rest.len > 0 && !mime_scan_empty_line(&rest))
		return malformed(err);
	part->content = rest;
	return 0;
}

/* Reads the names from Content-Disposition. `outer` is the name of the
 * enclosing multipart/mixed, or NULL. */
static int read_names(struct part *part, const char *outer, struct err *err)
{
	const char *disposition = part->disposition;
	int file;

	if (outer) {
		part->name = mem_strdup(outer);
		if (disposition == NULL)
			return 0;
	} else {
		if (disposition == NULL || !param_read_is(disposition, "form-data"))
			return malformed(err);
		if (param_read_name(disposition, "name", &part->name) <= 0)
			return malformed(err);
	}
	file = param_read_name(disposition, "filename", &part->filename);
	if (file < 0)
		return malformed(err);
	if (file > 0) { /* without the folders of a path */
		char *path = part->filename;
		const char *base = path;

		for (const char *p = path; *p; p++)
			if (*p == '/' || *p == '\\')
				base = p + 1;
		part->filename = mem_strdup(base);
		free(path);
	}
	return 0;
}

/* Converts text to UTF-8 if its Content-Type names another charset. */
static void recode(struct form_field *field)
{
	struct buf text = BUF_INIT;
	_cleanup_free_ char *charset = NULL;

	if (field->filename || field->content_type == NULL ||
		param_read(field->content_type, "charset", &charset) <= 0 ||
		str_eq_nocase(charset, "utf-8") || !mime_charset_known(charset))
		return;
	mime_charset_add(&text, buf_str(&field->value), field->value.len, charset);
	buf_free(&field->value);
	field->value = text;
}

static int read_form_parts(
	struct form *form, const char *type, struct span body, const char *outer, struct err *err);

static int read_part(struct form *form, struct span text, const char *outer, struct err *err)
{
	__attribute__((cleanup(part_clear))) struct part part = {0};
	struct form_field *field;

	if (read_part_header(text, &part, err) < 0 || read_names(&part, outer, err) < 0)
		return -1;
	/* Several files of one field, as in RFC 2388 4.2. */
	if (outer == NULL && part.filename == NULL && part.type &&
		param_read_is(part.type, "multipart/mixed"))
		return read_form_parts(form, part.type, part.content, part.name, err);
	field = form_add(form, part.name, err);
	if (field == NULL)
		return -1;
	field->filename = TAKE_PTR(part.filename);
	field->content_type = TAKE_PTR(part.type);
	if (mime_content_decode_strictly(part.encoding, part.content, &field->value) < 0)
		return malformed(err);
	recode(field);
	return 0;
}

/* Recurses at most once: then outer is set. */
static int read_form_parts(
	struct form *form, const char *type, struct span body, const char *outer, struct err *err)
{
	_cleanup_free_ char *boundary = NULL;
	struct mime_scan_parts parts;
	enum mime_scan_result result;
	struct span text;

	if (param_read(type, "boundary", &boundary) <= 0 ||
		mime_scan_parts_begin(&parts, body, boundary) < 0)
		return malformed(err);
	while ((result = mime_scan_parts_next(&parts, &text)) == MIME_SCAN_PART)
		if (read_part(form, text, outer, err) < 0)
			return -1;
	if (result == MIME_SCAN_EOF)
		return err_set(err, ERR_INVALID, "unable to parse request: unexpected EOF");
	return 0;
}

int form_parse_multipart(const char *content_type, const char *body, size_t len,
	struct form *form_r, struct err *err)
{
	struct span all = {body, len};
	struct form form = FORM_INIT;

	if (!param_read_is(content_type, "multipart/form-data"))
		return malformed(err);
	if (read_form_parts(&form, content_type, all, NULL, err) < 0) {
		form_clear(&form);
		return -1;
	}
	*form_r = form;
	return 0;
}

static int bad_part(struct problem *problem, const char *name, const char *what)
{
	return problem_set(problem, PROBLEM_BAD_REQUEST, "%.100s parameter %s", name, what);
}

int form_text_check(const struct form_field *field, struct problem *problem)
{
	const char *value = buf_str(&field->value);

	if (strlen(value) != field->value.len)
		return bad_part(problem, field->name, "contains a NUL character");
	if (!str_utf8_valid(value, field->value.len))
		return bad_part(problem, field->name, "is not valid UTF-8");
	return 0;
}

int form_text(
	const struct form *form, const char *name, const char **value_r, struct problem *problem)
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

int form_text_line(
	const struct form *form, const char *name, const char **value_r, struct problem *problem)
{
	if (form_text(form, name, value_r, problem) < 0)
		return -1;
	if (*value_r && !mime_header_value_valid(*value_r))
		return bad_part(problem, name, "contains line breaks or other control characters");
	return 0;
}

bool form_text_given(const struct form *form, const char *name)
{
	const struct form_field *field = NULL;

	while ((field = form_next(form, name, field)) != NULL) {
		_cleanup_free_ char *text = str_trim(buf_str(&field->value), field->value.len);

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
		       : bad_part(problem, "h:Message-Id", "is not a valid message id");
}

/* A copy without the blanks and commas that clients leave at the ends. */
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

int form_text_split(
	const char *value, const char *name, struct addr_list *list, struct problem *problem)
{
	_cleanup_free_ char *trimmed = trim_list(value);
	_cleanup_addr_list_ struct addr_list given = {0};

	if (*trimmed && addr_list_parse(trimmed, &given, NULL) < 0)
		return bad_part(
			problem, name, "is not a valid address. please check documentation");
	/* Stops when there are too many, so the search for duplicates stays
	 * bounded. */
	for (size_t i = 0; i < given.n && list->n <= FORM_TEXT_ADDRS_MAX; i++)
		if (!addr_list_has(list, &given.items[i]))
			*addr_list_add(list) = TAKE(given.items[i]);
	return 0;
}

int form_text_addrs(
	const struct form *form, const char *name, struct addr_list *list, struct problem *problem)
{
	const struct form_field *field = NULL;

	while ((field = form_next(form, name, field)) != NULL)
		if (form_text_check(field, problem) < 0 ||
			form_text_split(buf_str(&field->value), name, list, problem) < 0)
			return -1;
	return 0;
}
