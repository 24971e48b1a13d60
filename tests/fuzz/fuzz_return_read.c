/*
 * Fuzzes return_read(). What it says is text in one line, within bounds, and the kind
 * fits what is there.
 */
#include <string.h>

#include "core/base/str.h"
#include "core/read/return_read.h"
#include "tests/fuzz/fuzz.h"

static void check_line(const char *text)
{
	if (text == NULL)
		return;
	CHECK(strlen(text) <= RETURN_TEXT_MAX);
	CHECK(str_utf8_valid(text, strlen(text)));
	for (const char *p = text; *p; p++)
		CHECK((unsigned char)*p >= ' ' && *p != '\x7f');
}

static void check_status(const char *status)
{
	if (status == NULL)
		return;
	CHECK(status[0] == '4' || status[0] == '5');
	CHECK(status[1] == '.' && strlen(status) <= 9);
	CHECK(strspn(status, "0123456789.") == strlen(status));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int has_sender = 0; has_sender < 2; has_sender++) {
		_cleanup_return_message_ struct return_message message;

		return_read((const char *)data, size, has_sender, &message);
		CHECK(return_kind_name(message.kind));
		CHECK(message.n <= RETURN_RECIPIENTS_MAX && message.paths.n <= RETURN_PATHS_MAX);
		CHECK(message.kind != RETURN_FAILURE || message.n > 0);
		CHECK(message.kind == RETURN_FAILURE || message.kind == RETURN_COMPLAINT ||
			message.feedback || message.n == 0);
		check_line(message.queue_id);
		check_line(message.feedback);
		for (size_t i = 0; i < message.n; i++) {
			check_line(message.recipients[i].original);
			check_line(message.recipients[i].final);
			check_line(message.recipients[i].text);
			check_line(message.recipients[i].remote);
			check_status(message.recipients[i].status);
		}
		for (size_t i = 0; i < message.paths.n; i++)
			check_line(message.paths.items[i]);
	}
	return 0;
}
