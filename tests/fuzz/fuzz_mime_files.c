/*
 * Fuzzes mime_read_files(): the attachments of a kept message, which its client may have made.
 * What is told of a file is text, its content lies within the message, and what that decodes
 * to is no longer.
 */
#include <string.h>

#include "core/base/str.h"
#include "core/read/mime_read.h"
#include "tests/fuzz/fuzz.h"

/* As an answer has it, and a file its name. */
static void check_text(const char *text)
{
	CHECK(text == NULL || str_utf8_valid(text, strlen(text)));
	for (; text && *text; text++)
		CHECK((unsigned char)*text >= ' ' && *text != '\x7f');
}

static void check_file(const struct mime_file *file, const char *data, size_t size)
{
	_cleanup_buf_ struct buf content = BUF_INIT, again = BUF_INIT;

	check_text(file->name);
	check_text(file->content_id);
	CHECK(file->content.len == 0 ||
		(file->content.data >= data &&
			file->content.data + file->content.len <= data + size));
	mime_file_content(file, &content);
	CHECK(content.len <= file->content.len);
	mime_file_content(file, &again);
	CHECK(again.len == content.len);
	CHECK(content.len == 0 || memcmp(again.data, content.data, content.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	_cleanup_mime_files_ struct mime_files files;
	size_t bytes = 0;

	mime_read_files(text, size, &files);
	for (size_t i = 0; i < files.n; i++) {
		check_file(&files.items[i], text, size);
		bytes += files.items[i].content.len;
	}
	/* Parts do not lie in one another. */
	CHECK(bytes <= size);
	return 0;
}
