/*
 * draft: an email that a client wants to send.
 */
#include "httpd/send/draft.h"

#include "core/base/mem.h"

#define MEMBER(type_, member_, field_) MIME_MEMBER(draft, type_, member_, field_),
static const struct mime_member members[] = {DRAFT_MEMBERS(MEMBER)};

void draft_clear(struct draft *draft)
{
	mime_message_clear(&draft->message);
	for (size_t i = 0; i < ARRAY_SIZE(members); i++)
		mime_member_clear(&members[i], draft);
	*draft = (struct draft){0};
}

/* The size of the members that are files, or of the others. */
static uint64_t members_size(
	const struct mime_member *rows, size_t n, const void *object, bool files)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++) {
		bool file = rows[i].kind == MIME_ATTACHMENTS || rows[i].kind == MIME_BYTES;

		if (file == files)
			bytes += mime_member_size(&rows[i], object);
	}
	return bytes;
}

uint64_t draft_files_size(const struct draft *draft)
{
	return members_size(mime_message_members, MIME_MESSAGE_N, &draft->message, true) +
	       members_size(members, ARRAY_SIZE(members), draft, true);
}

uint64_t draft_text_size(const struct draft *draft)
{
	return members_size(mime_message_members, MIME_MESSAGE_N, &draft->message, false) +
	       members_size(members, ARRAY_SIZE(members), draft, false);
}
