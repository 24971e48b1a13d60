/* batch_json: what is a batch, which email is named, and what is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "httpd/json/api_json.h"

#define GOOD "{\"from\":\"a@b.test\",\"to\":\"c@d.test\",\"text\":\"x\"}"

static int parse(const char *body, struct batch *batch, struct problem *problem)
{
	*problem = PROBLEM_INIT;
	return batch_json_parse(body, strlen(body), 2, batch, problem);
}

static void test_whole(void **state)
{
	static const struct {
		const char *body;
		enum problem_kind kind;
		const char *text;
	} cases[] = {
		{"", PROBLEM_BAD_REQUEST, "The request body is empty; a JSON array is expected."},
		{"{}", PROBLEM_VALIDATION, "The `request.body` field must be an `array`."},
		{GOOD, PROBLEM_VALIDATION, "The `request.body` field must be an `array`."},
		{"null", PROBLEM_VALIDATION, "The `request.body` field must be an `array`."},
		{"[]", PROBLEM_VALIDATION,
			"The `request.body` field must have at least one email."},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_batch_ struct batch batch = {0};
		struct problem problem;

		assert_int_equal(parse(cases[i].body, &batch, &problem), -1);
		assert_int_equal(problem.kind, cases[i].kind);
		assert_string_equal(problem.text, cases[i].text);
	}
}

static void test_number(void **state)
{
	static const struct {
		size_t n;
		int result;
	} cases[] = {{1, 0}, {99, 0}, {BATCH_MAX, 0}, {BATCH_MAX + 1, -1}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_batch_ struct batch batch = {0};
		_cleanup_buf_ struct buf body = BUF_INIT;
		struct problem problem;

		for (size_t k = 0; k < cases[i].n; k++)
			buf_printf(&body, "%s" GOOD, k ? "," : "[");
		buf_add_char(&body, ']');
		assert_int_equal(parse(buf_str(&body), &batch, &problem), cases[i].result);
		assert_int_equal(batch.n, cases[i].result ? 0 : cases[i].n);
	}
}

/* The limit of recipients is each email's own. */
static void test_each(void **state)
{
	static const char body[] = "[" GOOD ",{\"to\":\"x@y.test\"},7," GOOD
				   ","
				   "{\"from\":\"a@b.test\",\"to\":[\"a@b.test\",\"b@b.test\","
				   "\"c@b.test\"],\"text\":\"x\"}]";
	static const enum problem_kind kinds[] = {PROBLEM_NONE, PROBLEM_MISSING_FIELD,
		PROBLEM_VALIDATION, PROBLEM_NONE, PROBLEM_VALIDATION};
	_cleanup_batch_ struct batch batch = {0};
	struct problem problem;

	(void)state;
	assert_int_equal(parse(body, &batch, &problem), 0);
	assert_int_equal(batch.n, ARRAY_SIZE(kinds));
	for (size_t i = 0; i < batch.n; i++)
		assert_int_equal(batch.problems[i].kind, kinds[i]);
	assert_string_equal(batch.emails[3].message.from.domain, "b.test");
}

#define TO   ",\"to\":\"c@d.test\""
#define FULL "\"from\":\"a@b.test\",\"text\":\"x\"" TO

/* Each is the second of a batch. */
static const struct {
	const char *email, *alone, *named;
} wrong[] = {
	{"{\"from\":\"a@b.test\"}", "Missing `to` field.", "Missing `[1].to` field."},
	{"{\"from\":\"a@b.test\"" TO "}", "Missing `html` or `text` field.",
		"Missing `[1].html` or `[1].text` field."},
	{"{" FULL ",\"cc\":[\"c@d.test\",7]}", "The `cc[1]` field must be a string.",
		"The `[1].cc[1]` field must be a string."},
	{"{" FULL ",\"cc\":[\"c@d.test\",\"e@f.test\"]}",
		"Too many recipients in `to`, `cc` and `bcc`: the limit is 2.",
		"Too many recipients in `[1].to`, `[1].cc` and `[1].bcc`: the limit is 2."},
	{"{" FULL ",\"headers\":{\"X-A\":7}}", "The `headers.X-A` field must be a string.",
		"The `[1].headers.X-A` field must be a string."},
	{"{" FULL ",\"headers\":{\"`to` x\":\"\"}}",
		"The `headers.`to` x` field is not a valid header name.",
		"The `[1].headers.`to` x` field is not a valid header name."},
	{"{" FULL ",\"headers\":7}", "The `headers` field must be an object.",
		"The `[1].headers` field must be an object."},
	{"{" FULL ",\"attachments\":[{\"filename\":\"a\"}]}",
		"Attachment must have either a `content` or `path`. (`attachments[0]`)",
		"Attachment must have either a `content` or `path`. (`[1].attachments[0]`)"},
	{"{" FULL ",\"attachments\":[{\"content\":\"!\",\"filename\":\"a\"}]}",
		"The `attachments[0].content` field is not valid base64.",
		"The `[1].attachments[0].content` field is not valid base64."},
	{"{" FULL ",\"tags\":[{\"name\":\"a\"}]}", "Missing `tags[0].value` field.",
		"Missing `[1].tags[0].value` field."},
	{"{" FULL ",\"template\":\"x\"}", "The `template` field is not supported.",
		"The `[1].template` field is not supported."},
	{"7", "The email must be an object.", "[1]: The email must be an object."},
};

static void check_wrong(size_t i, bool permissive, const char *text)
{
	_cleanup_free_ char *body = mem_printf("[" GOOD ",%s]", wrong[i].email);
	_cleanup_batch_ struct batch batch = {.permissive = permissive};
	struct problem problem, named;

	assert_int_equal(parse(body, &batch, &problem), 0);
	named = batch.problems[1];
	if (!permissive)
		batch_json_name(1, &batch.problems[1], &named);
	assert_string_equal(named.text, text);
	assert_int_equal(named.kind, batch.problems[1].kind);
}

/* A permissive batch has the index beside the problem. */
static void test_fields_in_their_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		check_wrong(i, true, wrong[i].alone);
		check_wrong(i, false, wrong[i].named);
	}
}

/* What is found out later names no field, whatever it quotes. */
static void test_names(void **state)
{
	static const struct {
		const char *text, *named;
	} cases[] = {
		{"The x domain is not verified.", "[3]: The x domain is not verified."},
		{"Missing `to` field.", "[3]: Missing `to` field."},
		{"", "[3]: "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct problem problem = PROBLEM_INIT, named;

		problem_set(&problem, PROBLEM_RATE, "%s", cases[i].text);
		problem.retry_after_s = 7;
		batch_json_name(3, &problem, &named);
		assert_string_equal(named.text, cases[i].named);
		assert_int_equal(named.kind, PROBLEM_RATE);
		assert_int_equal(named.retry_after_s, 7);
	}
}

static void test_render(void **state)
{
	static const char *const answers[] = {
		"{\"data\":[{\"id\":\"0\"},{\"id\":\"1\"},{\"id\":\"2\"}]}",
		"{\"data\":[{\"id\":\"0\"},{\"id\":\"2\"}],"
		"\"errors\":[{\"index\":1,\"message\":\"no\"}]}",
	};
	struct send_result results[3] = {{.id = "0"}, {.id = "1"}, {.id = "2"}};
	const struct send_outcome outcome = {.results = results, .n = 3};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		json_t *answer = batch_json_render(&outcome);
		_cleanup_free_ char *text = json_dumps(answer, JSON_COMPACT);

		assert_string_equal(text, answers[i]);
		json_decref(answer);
		problem_set(&results[1].problem, PROBLEM_DOMAIN, "no");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_number),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_fields_in_their_place),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_render),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
