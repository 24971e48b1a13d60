/*
 * mime_read: what the header of a finished message says.
 *
 * Fields are found by mime_scan, as Postfix finds them. Threads: any; holds no
 * state.
 */
#include "core/mail/mime_read.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/mail/mime_read_private.h"
#include "core/mail/mime_words_decode.h"

enum {
	SUBJECT_MAX = 16 * 1024, /* what is longer is cut */
	MESSAGE_ID_MAX = 998
};

static void on_from(
	const struct mime_scan_field *field, struct mime_summary *summary)
{
	if (summary->from_fields.n < MIME_READ_FROM_MAX)
		strv_take(&summary->from_fields, mime_scan_value(field));
}

static void on_subject(
	const struct mime_scan_field *field, struct mime_summary *summary)
{
	struct mime_scan_field bounded = *field;
	_cleanup_free_ char *value = NULL;

	if (summary->subject)
		return;
	if (bounded.value.len > SUBJECT_MAX)
		bounded.value.len = SUBJECT_MAX;
	value = mime_scan_value(&bounded);
	summary->subject = mime_words_decode(value);
	for (char *p = summary->subject; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = ' ';
}

/* `<left@right>`. What mailers write between these is not always as RFC 5322
 * has it, so any character that shows counts. */
static bool is_message_id(const char *value)
{
	size_t len = strlen(value);
	const char *at = strchr(value, '@');

	if (len > MESSAGE_ID_MAX || value[0] != '<' || value[len - 1] != '>' ||
		at == NULL || at == value + 1 || at == value + len - 2)
		return false;
	for (size_t i = 1; i < len - 1; i++)
		if (value[i] <= ' ' || value[i] > '~' || strchr("<>", value[i]) ||
			(value[i] == '@' && value + i != at))
			return false;
	return true;
}

static void on_message_id(
	const struct mime_scan_field *field, struct mime_summary *summary)
{
	char *value = mime_scan_value(field);

	if (summary->message_id == NULL && is_message_id(value))
		summary->message_id = value;
	else
		free(value);
}

static void on_date(
	const struct mime_scan_field *field, struct mime_summary *summary)
{
	_cleanup_free_ char *value = mime_scan_value(field);

	summary->has_date |= *value != '\0';
}

static void on_to(
	const struct mime_scan_field *field, struct mime_summary *summary)
{
	mime_read_addrs(field, &summary->to);
}

static void on_cc(
	const struct mime_scan_field *field, struct mime_summary *summary)
{
	mime_read_addrs(field, &summary->cc);
}

static void on_reply_to(
	const struct mime_scan_field *field, struct mime_summary *summary)
{
	mime_read_addrs(field, &summary->reply_to);
}

static const struct {
	const char *name;
	void (*on_field)(const struct mime_scan_field *field,
		struct mime_summary *summary);
} readers[] = {
	{"From", on_from},
	{"Subject", on_subject},
	{"Message-ID", on_message_id},
	{"Date", on_date},
	{"To", on_to},
	{"Cc", on_cc},
	{"Reply-To", on_reply_to},
};

static void read_header(struct mime_span message, struct mime_summary *summary)
{
	struct mime_scan_field field;

	while (mime_scan_field(&message, &field))
		for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
			if (mime_scan_is(&field, readers[i].name))
				readers[i].on_field(&field, summary);
}

static void set_default(char **text)
{
	if (*text == NULL)
		*text = mem_strdup("");
}

void mime_read(const char *data, size_t len, struct mime_summary *summary_r)
{
	struct mime_span message = {data, len};

	*summary_r = (struct mime_summary){0};
	mime_scan_drop_from_line(&message);
	read_header(message, summary_r);
	mime_read_body(message, summary_r);
	set_default(&summary_r->subject);
	set_default(&summary_r->html);
	set_default(&summary_r->text);
}

void mime_summary_clear(struct mime_summary *summary)
{
	strv_free(&summary->from_fields);
	free(summary->subject);
	free(summary->html);
	free(summary->text);
	free(summary->message_id);
	strv_free(&summary->to);
	strv_free(&summary->cc);
	strv_free(&summary->reply_to);
	*summary = (struct mime_summary){0};
}
