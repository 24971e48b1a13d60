/*
 * Fuzzes mime_read() and mime_edit(). What is read is clean; an edited message
 * reads as the original does, has what it must have, and edited again does not
 * change.
 */
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/address/addr.h"
#include "core/compose/mime_edit.h"
#include "core/read/mime_read.h"
#include "core/mime/mime_scan.h"
#include "tests/fuzz/fuzz.h"

static const struct mime_edit edit = {.removes = mime_edit_is_private, .message_id = "<new@x>"};

static void check_text(const char *text)
{
	CHECK(text != NULL);
	CHECK(str_utf8_valid(text, strlen(text)));
	CHECK(!strchr(text, '\r'));
}

static void check_mailboxes(const struct addr_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		_cleanup_free_ char *text = addr_format(&list->items[i]);
		_cleanup_addr_ struct addr addr = {0};

		CHECK(addr_parse(text, &addr, NULL) == 0);
		CHECK(addr_equal(&addr, &list->items[i]));
		CHECK(str_eq(addr.name, list->items[i].name));
	}
}

static void check_summary(const struct mime_summary *summary)
{
	for (size_t i = 0; i < summary->from_fields.n; i++)
		CHECK(!strpbrk(summary->from_fields.items[i], "\r\n"));
	check_text(summary->subject);
	CHECK(!strchr(summary->subject, '\n'));
	check_text(summary->text);
	check_text(summary->html);
	check_mailboxes(&summary->to);
	check_mailboxes(&summary->cc);
	check_mailboxes(&summary->reply_to);
}

static void check_edited(const struct buf *edited, const struct mime_summary *original)
{
	_cleanup_mime_summary_ struct mime_summary summary;
	_cleanup_buf_ struct buf again = BUF_INIT;

	CHECK(memmem(edited->data, edited->len, "\r\n", 2) == NULL);
	mime_read(edited->data, edited->len, &summary);
	CHECK(summary.has_date);
	CHECK(summary.message_id && str_eq(summary.message_id, edit.message_id));
	CHECK(str_eq(summary.subject, original->subject));
	CHECK(summary.from_fields.n == original->from_fields.n);
	for (size_t i = 0; i < summary.from_fields.n; i++)
		CHECK(str_eq(summary.from_fields.items[i], original->from_fields.items[i]));
	CHECK(summary.to.n == original->to.n);
	for (size_t i = 0; i < summary.to.n; i++)
		CHECK(addr_equal(&summary.to.items[i], &original->to.items[i]));
	CHECK(mime_edit(edited->data, edited->len, &edit, &again, NULL) == 0);
	CHECK(again.len == edited->len);
	CHECK(memcmp(again.data, edited->data, again.len) == 0);
}

/* No field that goes is left, and the header ends in an empty line. */
static void check_header(const struct buf *edited)
{
	struct span rest = {edited->data, edited->len};
	struct mime_scan_field field;

	while (mime_scan_field(&rest, &field)) {
		_cleanup_free_ char *name = mem_dup(field.name.data, field.name.len);

		CHECK(!mime_edit_is_private(name));
		CHECK(!memchr(field.raw.data, '\0', field.raw.len));
		CHECK(!memchr(field.raw.data, '\r', field.raw.len));
	}
	CHECK(rest.len > 0 && rest.data[0] == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_mime_summary_ struct mime_summary summary;
	_cleanup_buf_ struct buf edited = BUF_INIT;
	struct err err = ERR_INIT;

	mime_read((const char *)data, size, &summary);
	check_summary(&summary);
	if (mime_edit((const char *)data, size, &edit, &edited, &err) < 0) {
		CHECK(err.code == ERR_INVALID);
		CHECK(edited.len == 0);
		return 0;
	}
	check_header(&edited);
	check_edited(&edited, &summary);
	return 0;
}
