/*
 * mime_edit: changes as little as possible in a message that a client has finished.
 *
 * Works on lines of bytes and decodes nothing. Two passes over the header: the first checks it
 * and finds what is missing, the second copies it. The headers of parts are only checked.
 */
#include "core/compose/mime_edit.h"

#include <string.h>

#include "core/address/addr_field.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/compose/mime_fields.h"
#include "core/mime/mime_header.h"
#include "core/mime/mime_param.h"
#include "core/mime/mime_scan.h"

/* Room for the fields put in front, roughly. */
enum { FRONT = 1024 };

bool mime_edit_is_private(const char *name)
{
	return str_eq_nocase(name, "Bcc") || str_eq_nocase(name, "Resent-Bcc") ||
	       str_starts_nocase(name, "X-Mailgun-") || str_starts_nocase(name, "X-Postern-") ||
	       str_eq_nocase(name, "Postern-Nonce");
}

/* True if the field has this name and a value that is not blank. */
static bool has_value(const struct mime_scan_field *field, const char *name)
{
	_cleanup_free_ char *value = NULL;

	if (!mime_scan_is(field, name))
		return false;
	value = mime_scan_value(field);
	return *value != '\0';
}

/* True if the field is the email's Message-ID, without a blank before the colon, and short
 * enough for every reader (RFC 5322 2.1.1). */
static bool is_own_id(const struct mime_edit *edit, const struct mime_scan_field *field)
{
	_cleanup_free_ char *value = mime_scan_value(field);

	return str_eq(value, edit->message_id) && field->raw.data[field->name.len] == ':' &&
	       field->raw.len <= MIME_FOLD_MAX;
}

static bool is_date(const struct mime_scan_field *field, int64_t time_us)
{
	_cleanup_free_ char *value = mime_scan_value(field);
	char date[CLOCK_TEXT_SIZE];

	clock_rfc5322(time_us, date);
	return mime_scan_is(field, "Date") && str_eq(value, date);
}

/* True if the field is removed: the predicate says so, it is another Message-ID, or it is a
 * blank or old Date. */
static bool goes(const struct mime_edit *edit, const struct mime_scan_field *field)
{
	_cleanup_free_ char *name = mem_dup(field->name.data, field->name.len);

	if (edit->removes && edit->removes(name))
		return true;
	if (mime_scan_is(field, "Message-ID"))
		return !is_own_id(edit, field);
	return mime_scan_is(field, "Date") &&
	       (!has_value(field, "Date") ||
		       (edit->old_date_us && is_date(field, edit->old_date_us)));
}

/* The size of the field with LF line ends. */
static size_t field_size(const struct mime_scan_field *field)
{
	struct span rest = field->raw, line;
	size_t size = 0;

	while (mime_scan_line(&rest, &line, NULL))
		size += line.len + 1;
	return size;
}

static int check_field(
	const struct mime_edit *edit, const struct mime_scan_field *field, struct err *err)
{
	struct span rest = field->raw, line;
	int len = field->name.len < 100 ? (int)field->name.len : 100;
	const char *fault = NULL;
	_cleanup_free_ char *name = NULL;
	size_t max;

	while (mime_scan_line(&rest, &line, NULL)) {
		if (memchr(line.data, '\0', line.len))
			fault = "a NUL";
		else if (memchr(line.data, '\r', line.len))
			fault = "a CR that ends no line";
	}
	if (fault)
		return err_set(err, ERR_INVALID, "the header field %.*s of the message has %s", len,
			field->name.data, fault);
	name = mem_dup(field->name.data, field->name.len);
	max = mime_fields_max(name);
	if (field_size(field) > max && !goes(edit, field))
		return err_set(err, ERR_INVALID,
			"the header field %.*s of the message is longer than %zu bytes", len, name,
			max);
	if (!addr_field_is(name) || goes(edit, field))
		return 0;
	if (field->raw.data[field->name.len] != ':')
		return err_set(err, ERR_INVALID,
			"the header field %.*s of the message has a blank before its colon", len,
			name);
	if (addr_field_check(field->value, err) < 0)
		return err_prefix(err, "the header field %.*s of the message", len, name);
	return 0;
}

/* The limits of the search for headers of parts. */
enum { DEPTH_MAX = 10, PARTS_MAX = 1000 };

/* Returns the first value of the field in the header, "" if none. The caller frees it. */
static char *value_of(struct span header, const char *name)
{
	struct mime_scan_field field;

	while (mime_scan_field(&header, &field))
		if (mime_scan_is(&field, name))
			return mime_scan_value(&field);
	return mem_strdup("");
}

/* Checks the headers inside a text that begins with a header. Postfix cuts long fields there
 * too, whatever the encoding of the enclosing part. type_there is the type if the text has
 * none. Recurses into parts. */
static int check_inside(
	struct span text, const char *type_there, int depth, int *parts_n, struct err *err)
{
	_cleanup_free_ char *said = value_of(text, "Content-Type");
	const char *type = *said ? said : type_there;
	_cleanup_free_ char *boundary = NULL;
	static const char rfc822[] = "message/rfc822";
	struct mime_scan_field field;
	struct mime_scan_parts parts;
	enum mime_scan_result result;
	struct span rest = text, part;

	while (mime_scan_field(&rest, &field))
		if (depth > 0 && field_size(&field) > MIME_FIELDS_MAX)
			return err_set(err, ERR_INVALID,
				"the header field %.*s of a part of the message is longer than %d "
				"bytes",
				field.name.len < 100 ? (int)field.name.len : 100, field.name.data,
				MIME_FIELDS_MAX);
	mime_scan_empty_line(&rest);
	if (depth == DEPTH_MAX)
		return 0;
	if (str_starts_nocase(type, rfc822))
		return check_inside(rest, "", depth + 1, parts_n, err);
	if (!str_starts_nocase(type, "multipart/") ||
		param_read(type, "boundary", &boundary) <= 0 ||
		mime_scan_parts_begin(&parts, rest, boundary) < 0)
		return 0;
	type_there = str_starts_nocase(type, "multipart/digest") ? rfc822 : "";
	do {
		result = mime_scan_parts_next(&parts, &part);
		if (result != MIME_SCAN_END &&
			check_inside(part, type_there, depth + 1, parts_n, err) < 0)
			return -1;
	} while (result == MIME_SCAN_PART && ++*parts_n < PARTS_MAX);
	return 0;
}

/* The fields that need not be put in front. */
struct present {
	bool message_id;
	bool date;
};

static int check_header(
	struct span rest, const struct mime_edit *edit, struct present *present_r, struct err *err)
{
	struct mime_scan_field field;
	struct present present = {false, false};
	bool has_date_field = false;

	while (mime_scan_field(&rest, &field)) {
		if (check_field(edit, &field, err) < 0)
			return -1;
		present.message_id |= mime_scan_is(&field, "Message-ID") && is_own_id(edit, &field);
		present.date |= has_value(&field, "Date") && !goes(edit, &field);
		has_date_field |= mime_scan_is(&field, "Date");
	}
	if (!has_date_field && edit->given && mime_message_header(edit->given, "Date"))
		present.date = true;
	*present_r = present;
	return 0;
}

/* Appends the lines with LF. The last line gets one if it had one, or with must_end. */
static void add_lines(struct span lines, bool must_end, struct buf *out)
{
	struct span line, raw;

	while (mime_scan_line(&lines, &line, &raw)) {
		buf_add(out, line.data, line.len);
		if (raw.len > line.len || must_end)
			buf_add_char(out, '\n');
	}
}

int mime_edit(const char *data, size_t len, const struct mime_edit *edit, struct buf *out,
	struct err *err)
{
	struct span message = {data, len}, header;
	struct mime_scan_field field;
	struct present present;
	char date[CLOCK_TEXT_SIZE];
	size_t before = out->len;
	int parts_n = 0;

	mime_scan_drop_from_line(&message);
	if (check_header(message, edit, &present, err) < 0 ||
		check_inside(message, "", 0, &parts_n, err) < 0)
		return -1;
	buf_reserve(out, len + FRONT);
	if (!present.message_id)
		buf_printf(out, "Message-ID: %s\n", edit->message_id);
	if (!present.date) {
		clock_rfc5322(edit->date_us, date);
		buf_printf(out, "Date: %s\n", date);
	}
	if (edit->given && mime_fields_add_missing(out, edit->given, message, err) < 0)
		goto out;
	while (mime_scan_field(&message, &field))
		if (!goes(edit, &field))
			add_lines(field.raw, true, out);
	mime_scan_empty_line(&message);
	buf_add_char(out, '\n');
	header = (struct span){out->data + before, out->len - before};
	if (mime_fields_check_all(header, err) < 0)
		goto out;
	add_lines(message, false, out);
	return 0;
out:
	out->len = before;
	return -1;
}

void mime_edit_date(struct buf *message, int64_t old_us, int64_t new_us)
{
	struct span rest = {message->data, message->len};
	struct mime_scan_field field;
	struct buf edited = BUF_INIT;
	char date[CLOCK_TEXT_SIZE];

	while (mime_scan_field(&rest, &field))
		if (is_date(&field, old_us)) {
			clock_rfc5322(new_us, date);
			buf_add(&edited, message->data, (size_t)(field.raw.data - message->data));
			buf_printf(&edited, "Date: %s\n", date);
			buf_add(&edited, rest.data, rest.len);
			buf_free(message);
			*message = edited;
			return;
		}
}
