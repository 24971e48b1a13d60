/*
 * Fuzzes batch_json_parse(): each email of a batch can be built or has a
 * problem, and each problem can be told in an answer about the whole.
 */
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/compose/mime_build.h"
#include "httpd/admission/dialect.h"
#include "httpd/json/api_json.h"
#include "tests/fuzz/fuzz.h"

static void build(struct mime_message *message)
{
	_cleanup_buf_ struct buf out = BUF_INIT;
	struct err err = ERR_INIT;

	message->message_id = mem_strdup("<1@x.org>");
	if (mime_build(message, &out, &err) < 0)
		CHECK(err.code == ERR_INVALID && out.len == 0);
}

static void tell(size_t index, const struct problem *problem)
{
	struct dialect_answer answer;
	struct problem named;

	batch_json_name(index, problem, &named);
	CHECK(named.kind == problem->kind && named.text[0]);
	dialect_problem(NULL, &named, &answer);
	CHECK(answer.body != NULL);
	free(answer.body);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_batch_ struct batch batch = {0};
	struct problem problem = PROBLEM_INIT;

	if (batch_json_parse((const char *)data, size, 50, &batch, &problem) < 0) {
		CHECK(problem.kind != PROBLEM_NONE && problem.text[0]);
		return 0;
	}
	CHECK(batch.n >= 1 && batch.n <= BATCH_MAX);
	for (size_t i = 0; i < batch.n; i++) {
		if (batch.problems[i].kind == PROBLEM_NONE)
			build(&batch.emails[i].message);
		else
			tell(i, &batch.problems[i]);
	}
	return 0;
}
