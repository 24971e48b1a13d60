/*
 * mime_fields: the fields of a message's header, but for those of its content.
 *
 * The writer of headers in GMime is not used: it puts encoded words into long
 * ASCII values and makes encoded words longer than RFC 2047 allows.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_fields.h"

#include <gmime/gmime.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/mail/mime_field.h"
#include "core/mail/mime_header.h"

static int bad_value(const char *field, struct err *err)
{
	return err_set(err, ERR_INVALID,
		"the header field %s is not UTF-8, or has a line break or "
		"another control character",
		field);
}

static int add_addrs(struct buf *out, const char *field,
	const struct addr_list *list, struct err *err)
{
	size_t start = out->len;

	for (size_t i = 0; i < list->n; i++)
		if (!mime_header_value_valid(list->items[i].name))
			return bad_value(field, err);
	mime_field_addrs(out, field, list);
	return mime_field_check(out, start, field, err);
}

static int add_subject(struct buf *out, const char *subject, struct err *err)
{
	size_t start = out->len;

	if (str_empty(subject))
		return 0;
	if (!mime_header_value_valid(subject))
		return bad_value("Subject", err);
	mime_field_text(out, "Subject", subject);
	return mime_field_check(out, start, "Subject", err);
}

/* The index of the first custom field of this name, headers_n for none. */
static size_t find_custom(const struct mime_message *message, const char *name)
{
	size_t i = 0;

	while (i < message->headers_n &&
		!str_eq_nocase(message->headers[i].name, name))
		i++;
	return i;
}

/* Fields that may stand once (RFC 5322 3.6) and that a caller may set. */
static bool is_single(const char *name)
{
	static const char *const names[] = {
		"date", "sender", "in-reply-to", "references"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq_nocase(name, names[i]))
			return true;
	return false;
}

static bool is_date(const char *value)
{
	GDateTime *date = g_mime_utils_header_decode_date(value);

	if (date == NULL)
		return false;
	g_date_time_unref(date);
	return true;
}

static int check_custom(
	const struct mime_message *message, size_t i, struct err *err)
{
	const struct header *header = &message->headers[i];

	if (!mime_header_name_valid(header->name))
		return err_set(err, ERR_INVALID,
			"\"%.*s\" cannot name a header field",
			(int)str_utf8_cut(header->name, 80), header->name);
	if (!mime_header_value_valid(header->value))
		return bad_value(header->name, err);
	if (is_single(header->name) && find_custom(message, header->name) != i)
		return err_set(err, ERR_INVALID,
			"the header field %s is given more than once",
			header->name);
	if (str_eq_nocase(header->name, "Date") && !is_date(header->value))
		return err_set(err, ERR_INVALID,
			"the header field Date is no date of RFC 5322");
	return 0;
}

static int add_custom(
	struct buf *out, const struct mime_message *message, struct err *err)
{
	for (size_t i = 0; i < message->headers_n; i++) {
		const struct header *header = &message->headers[i];
		size_t start = out->len;

		if (mime_header_reserved(header->name))
			continue;
		if (check_custom(message, i, err) < 0)
			return -1;
		mime_field_custom(out, header->name, header->value);
		if (mime_field_check(out, start, header->name, err) < 0)
			return -1;
	}
	return 0;
}

/* A caller's own Date stands in place of ours. */
static void add_date(struct buf *out, const struct mime_message *message)
{
	char date[CLOCK_TEXT_SIZE];

	if (find_custom(message, "Date") < message->headers_n)
		return;
	clock_rfc5322(message->date_us, date);
	buf_printf(out, "Date: %s\n", date);
}

int mime_fields_add(
	struct buf *out, const struct mime_message *message, struct err *err)
{
	struct addr from = message->from;

	if (add_addrs(out, "From", &(struct addr_list){&from, 1}, err) < 0 ||
		add_addrs(out, "To", &message->to, err) < 0 ||
		add_addrs(out, "Cc", &message->cc, err) < 0 ||
		add_addrs(out, "Reply-To", &message->reply_to, err) < 0 ||
		add_subject(out, message->subject, err) < 0)
		return -1;
	add_date(out, message);
	buf_printf(out, "Message-ID: %s\n", message->message_id);
	buf_add_str(out, "MIME-Version: 1.0\n");
	return add_custom(out, message, err);
}
