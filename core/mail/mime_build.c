/*
 * mime_build: makes the message out of its parts, the body layer by layer.
 *
 * All is written once, straight into the caller's buffer.
 *
 * Threads: any; holds no state.
 */
#include "core/mail/mime_build.h"

#include <stdbool.h>
#include <string.h>

#include "core/base/str.h"
#include "core/mail/mime_fields.h"
#include "core/mail/mime_init.h"
#include "core/mail/mime_multipart.h"
#include "core/mail/mime_part.h"

static void add_text(struct buf *out, const struct mime_message *message)
{
	struct mime_multipart multipart;

	if (str_empty(message->html)) {
		const char *text = message->text ? message->text : "";

		mime_part_text(out, "plain", text);
		return;
	}
	if (str_empty(message->text)) {
		mime_part_text(out, "html", message->html);
		return;
	}
	mime_multipart_begin(&multipart, out, "alternative", "");
	mime_multipart_next(&multipart);
	mime_part_text(out, "plain", message->text);
	mime_multipart_next(&multipart);
	mime_part_text(out, "html", message->html);
	mime_multipart_end(&multipart);
}

/* Whether the html of the message may show the attachment. */
static bool is_inline(const struct mime_message *message, size_t i)
{
	return !str_empty(message->html) &&
	       !str_empty(message->attachments[i].content_id);
}

static size_t count_inline(const struct mime_message *message)
{
	size_t n = 0;

	for (size_t i = 0; i < message->attachments_n; i++)
		n += is_inline(message, i);
	return n;
}

/* Adds the attachments that are, or are not, inline. */
static int add_attachments(struct mime_multipart *multipart,
	const struct mime_message *message, bool inlines, struct err *err)
{
	for (size_t i = 0; i < message->attachments_n; i++) {
		if (is_inline(message, i) != inlines)
			continue;
		mime_multipart_next(multipart);
		if (mime_part_attachment(multipart->out,
			    &message->attachments[i], inlines, err) < 0)
			return err_prefix(err, "attachments[%zu]", i);
	}
	return 0;
}

static int add_related(
	struct buf *out, const struct mime_message *message, struct err *err)
{
	struct mime_multipart multipart;

	if (count_inline(message) == 0) {
		add_text(out, message);
		return 0;
	}
	/* The type of the root is required: RFC 2387 3.1. */
	mime_multipart_begin(&multipart, out, "related",
		str_empty(message->text)
			? "; type=\"text/html\""
			: ";\n type=\"multipart/alternative\"");
	mime_multipart_next(&multipart);
	add_text(out, message);
	if (add_attachments(&multipart, message, true, err) < 0)
		return -1;
	mime_multipart_end(&multipart);
	return 0;
}

static int add_mixed(
	struct buf *out, const struct mime_message *message, struct err *err)
{
	struct mime_multipart multipart;

	if (count_inline(message) == message->attachments_n)
		return add_related(out, message, err);
	mime_multipart_begin(&multipart, out, "mixed", "");
	mime_multipart_next(&multipart);
	if (add_related(out, message, err) < 0 ||
		add_attachments(&multipart, message, false, err) < 0)
		return -1;
	mime_multipart_end(&multipart);
	return 0;
}

static int check_text(const char *name, const char *text, struct err *err)
{
	if (text == NULL || str_utf8_valid(text, strlen(text)))
		return 0;
	return err_set(err, ERR_INVALID, "the %s is not UTF-8", name);
}

/* About what the message takes, so that out grows once. */
static size_t estimate(const struct mime_message *message)
{
	size_t size = 4096;

	for (size_t i = 0; i < message->attachments_n; i++)
		size += message->attachments[i].content.len / 57 * 78 + 4096;
	return size;
}

int mime_build(
	const struct mime_message *message, struct buf *out, struct err *err)
{
	size_t start = out->len;

	if (check_text("text", message->text, err) < 0 ||
		check_text("html", message->html, err) < 0)
		return -1;
	mime_init();
	buf_reserve(out, estimate(message));
	if (mime_fields_add(out, message, err) < 0 ||
		add_mixed(out, message, err) < 0) {
		out->len = start;
		out->data[start] = '\0';
		return -1;
	}
	if (out->data[out->len - 1] != '\n')
		buf_add_char(out, '\n');
	return 0;
}
