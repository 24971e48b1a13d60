/*
 * Fuzzes email_json_parse(): what it accepts can be built as a message, or is
 * refused by mime_build() for what only it knows.
 */
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/compose/mime_build.h"
#include "httpd/json/email_json.h"
#include "tests/fuzz/fuzz.h"

static void build(struct mime_message *message)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct err err = ERR_INIT;

	message->message_id = mem_strdup("<1@x.org>");
	if (mime_build(message, &out, &err) < 0)
		CHECK(err.code == ERR_INVALID && out.len == 0);
	else
		CHECK(out.len > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_draft_ struct draft draft = {0};
	struct problem problem = PROBLEM_INIT;

	if (email_json_parse((const char *)data, size, 50, &draft, &problem) < 0)
		CHECK(problem.kind != PROBLEM_NONE && problem.text[0]);
	else
		build(&draft.message);
	return 0;
}
