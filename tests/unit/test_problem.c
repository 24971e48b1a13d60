/* problem: statuses, names and texts, whatever a client put into them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "httpd/admission/dialect.h"
#include "httpd/http/problem.h"

/* The names that client libraries know. */
static const char *const names[] = {"invalid_idempotency_key", "validation_error",
	"missing_api_key", "restricted_api_key", "invalid_api_key", "not_found",
	"method_not_allowed", "invalid_idempotent_request", "concurrent_idempotent_requests",
	"invalid_attachment", "invalid_from_address", "invalid_access", "invalid_parameter",
	"invalid_region", "missing_required_field", "monthly_quota_exceeded",
	"daily_quota_exceeded", "rate_limit_exceeded", "security_error", "application_error",
	"internal_server_error"};

static bool is_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (str_eq(names[i], name))
			return true;
	return false;
}

static void test_every_kind(void **state)
{
	(void)state;
	for (int kind = PROBLEM_NONE + 1; kind < PROBLEM_KINDS; kind++) {
		struct problem problem = PROBLEM_INIT;

		assert_int_equal(problem_set(&problem, kind, "text"), -1);
		assert_true(problem_status(&problem) >= 400);
		assert_true(problem_status(&problem) < 600);
		assert_true(kind >= PROBLEM_LOGIN || is_known(problem_name(&problem)));
		assert_int_equal(problem.retry_after_s > 0,
			problem_status(&problem) == 503 || problem_status(&problem) == 429);
	}
}

static void test_place(void **state)
{
	struct problem problem = {.prefix = "[3]."};

	(void)state;
	assert_int_equal(problem_field(&problem, PROBLEM_MISSING_FIELD, "Missing `%s%s` field.",
				 problem.prefix, "to"),
		-1);
	assert_string_equal(problem.text, "Missing `[3].to` field.");
	assert_true(problem.names_field);
	problem_fixed(&problem, PROBLEM_INTERNAL);
	assert_false(problem.names_field);
	assert_string_equal(problem.prefix, "[3].");
}

static const struct {
	enum err_code code;
	int status;
	bool tells;
} errors[] = {
	{ERR_INVALID, 422, true},
	{ERR_TOO_LARGE, 413, true},
	{ERR_TEMPORARY, 503, false},
	{ERR_CONFIG, 503, false},
	{ERR_INTERNAL, 500, false},
	{ERR_NOT_FOUND, 500, false},
};

static void test_errors_of_the_core(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++) {
		struct problem problem = PROBLEM_INIT;
		struct err err = ERR_INIT;

		err_set(&err, errors[i].code, "/a/path of ours");
		problem_from_err(&problem, &err);
		assert_int_equal(problem_status(&problem), errors[i].status);
		assert_int_equal(strstr(problem.text, "ours") != NULL, errors[i].tells);
	}
}

/* A precision cuts bytes, not characters; the answer must still be JSON. */
static void test_cut_characters(void **state)
{
	static const char *const characters[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	static const char *const pads[] = {"", "a", "aa", "aaa"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(characters); i++)
		for (size_t k = 0; k < ARRAY_SIZE(pads); k++) {
			struct problem problem = PROBLEM_INIT;
			struct dialect_answer answer;
			struct buf text = BUF_INIT;

			buf_add_str(&text, pads[k]);
			while (text.len < 1000)
				buf_add_str(&text, characters[i]);
			problem_set(&problem, PROBLEM_VALIDATION, "%.100s.", text.data);
			assert_true(str_utf8_valid(problem.text, strlen(problem.text)));
			problem_set(&problem, PROBLEM_VALIDATION, "%s", text.data);
			dialect_problem(NULL, &problem, &answer);
			assert_non_null(answer.body);
			free(answer.body);
			buf_free(&text);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_errors_of_the_core),
		cmocka_unit_test(test_cut_characters),
	};

	return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
