/* batch_json: what is a batch, which email is named, and what is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "httpd/json/batch_json.h"

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
		{"", PROBLEM_BAD_REQUEST,
			"The request body is empty; a JSON array is expected."},
		{"{}", PROBLEM_VALIDATION,
			"The `request.body` field must be an `array`."},
		{GOOD, PROBLEM_VALIDATION,
			"The `request.body` field must be an `array`."},
		{"null", PROBLEM_VALIDATION,
			"The `request.body` field must be an `array`."},
		{"[]", PROBLEM_VALIDATION,
			"The `request.body` field must have at least one "
			"email."},
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
		assert_int_equal(parse(buf_str(&body), &batch, &problem),
			cases[i].result);
		assert_int_equal(batch.n, cases[i].result ? 0 : cases[i].n);
	}
}

/* The limit of recipients is each email's own. */
static void test_each(void **state)
{
	static const char body[] =
		"[" GOOD ",{\"to\":\"x@y.test\"},7," GOOD ","
		"{\"from\":\"a@b.test\",\"to\":[\"a@b.test\",\"b@b.test\","
		"\"c@b.test\"],\"text\":\"x\"}]";
	static const enum problem_kind kinds[] = {PROBLEM_NONE,
		PROBLEM_MISSING_FIELD, PROBLEM_VALIDATION, PROBLEM_NONE,
		PROBLEM_VALIDATION};
	_cleanup_batch_ struct batch batch = {0};
	struct problem problem;

	(void)state;
	assert_int_equal(parse(body, &batch, &problem), 0);
	assert_int_equal(batch.n, ARRAY_SIZE(kinds));
	for (size_t i = 0; i < batch.n; i++)
		assert_int_equal(batch.problems[i].kind, kinds[i]);
	assert_string_equal(batch.emails[3].message.from.domain, "b.test");
}

static void test_names(void **state)
{
	static const struct {
		const char *text, *named;
	} cases[] = {
		{"Missing `to` field.", "Missing `[3].to` field."},
		{"Missing `html` or `text` field.",
			"Missing `[3].html` or `[3].text` field."},
		{"The `to[1]` field", "The `[3].to[1]` field"},
		{"The `headers.X-A` field", "The `[3].headers.X-A` field"},
		{"Attachment must have either a `content` or `path`. "
		 "(`attachments[0]`)",
			"Attachment must have either a `content` or `path`. "
			"(`[3].attachments[0]`)"},
		{"Invalid `cc` field. `email@example.com`",
			"Invalid `[3].cc` field. `email@example.com`"},
		{"The x domain is not verified.",
			"[3]: The x domain is not verified."},
		{"`tomorrow` `", "[3]: `tomorrow` `"},
		{"", "[3]: "},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct problem problem, named;

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
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_render),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
