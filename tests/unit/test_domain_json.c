/* domain_json: what clients ask for, and how a domain is shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/address/addr.h"
#include "core/base/mem.h"
#include "core/ops/op_domain.h"
#include "httpd/json/api_json.h"

static json_t *body_of(const char *text)
{
	json_t *body = json_loads(text, 0, NULL);

	assert_non_null(body);
	return body;
}

static const struct {
	const char *body;
	const char *name;
} good[] = {
	{"{\"name\":\"example.com\"}", "example.com"},
	{"{\"name\":\"MAIL.Example.COM.\"}", "mail.example.com"},
	{"{\"name\":\"m\u00fcnchen.example\"}", "xn--mnchen-3ya.example"},
	{"{\"name\":\"a.test\",\"region\":\"eu-west-1\"}", "a.test"},
	{"{\"name\":\"a.test\",\"region\":null,\"other\":{\"a\":[1]}}", "a.test"},
	{"{\"name\":\"a.test\",\"open_tracking\":false,"
	 "\"click_tracking\":null,\"tls\":\"opportunistic\","
	 "\"custom_return_path\":\"send\",\"capabilities\":"
	 "{\"sending\":\"enabled\",\"receiving\":\"disabled\"}}",
		"a.test"},
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct problem problem = PROBLEM_INIT;
		json_t *body = body_of(good[i].body);
		_cleanup_free_ char *name = NULL;
		struct op_domain input = {0};

		if (domain_json_parse_new(body, &input, &problem) < 0)
			fail_msg("%s: %s", good[i].body, problem.text);
		assert_int_equal(addr_domain_normalize(input.name, &name, NULL), 0);
		assert_string_equal(name, good[i].name);
		json_decref(body);
	}
}

static const struct {
	const char *body;
	const char *name; /* of the problem */
	const char *text;
} bad[] = {
	{"{}", "missing_required_field", "Missing `name` field."},
	{"{\"name\":\"\"}", "missing_required_field", "Missing `name`"},
	{"{\"name\":5}", "validation_error", "`name` field must be a string"},
	{"{\"name\":\"nodots\"}", "validation_error", "Invalid `name` field"},
	{"{\"name\":\"a b.test\"}", "validation_error", "Invalid `name` field"},
	{"{\"name\":\"a..test\"}", "validation_error", "Invalid `name` field"},
	{"{\"name\":\"a@b.test\"}", "validation_error", "Invalid `name` field"},
	{"{\"name\":\"a\\n.test\"}", "validation_error", "`name` field"},
	{"{\"name\":\"127.0.0.1\"}", "validation_error", "Invalid `name` field"},
	{"{\"name\":\"a.test\",\"region\":\"mars\"}", "invalid_region", "`region`"},
	{"{\"name\":\"a.test\",\"region\":5}", "invalid_region", "`region`"},
	{"{\"name\":\"a.test\",\"open_tracking\":true}", "validation_error",
		"The `open_tracking` field can only be `false` here."},
	{"{\"name\":\"a.test\",\"click_tracking\":\"no\"}", "validation_error", "`click_tracking`"},
	{"{\"name\":\"a.test\",\"tls\":\"enforced\"}", "validation_error",
		"The `tls` field can only be `opportunistic` here."},
	{"{\"name\":\"a.test\",\"capabilities\":{\"receiving\":"
	 "\"enabled\"}}",
		"validation_error", "`capabilities.receiving`"},
	{"{\"name\":\"a.test\",\"capabilities\":{\"sending\":"
	 "\"disabled\"}}",
		"validation_error", "`capabilities.sending`"},
	{"{\"name\":\"a.test\",\"capabilities\":\"sending\"}", "validation_error",
		"`capabilities` field must be an object"},
	{"{\"name\":\"a.test\",\"capabilities\":[{}]}", "validation_error", "`capabilities`"},
	{"{\"name\":\"a.test\",\"capabilities\":false}", "validation_error", "`capabilities`"},
	{"{\"name\":\"a.test\",\"tracking_subdomain\":\"t\"}", "validation_error",
		"`tracking_subdomain`"},
};

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct problem problem = PROBLEM_INIT;
		json_t *body = body_of(bad[i].body);
		struct op_domain input = {0};

		if (domain_json_parse_new(body, &input, &problem) == 0)
			fail_msg("taken: %s", bad[i].body);
		if (strcmp(problem_name(&problem), bad[i].name) != 0 ||
			strstr(problem.text, bad[i].text) == NULL)
			fail_msg("%s: %s", bad[i].body, problem.text);
		assert_int_equal(problem_status(&problem), 422);
		json_decref(body);
	}
}

static const struct {
	bool active, pending;
	const char *status;
} states[] = {
	{true, false, "verified"},
	{false, true, "pending"},
	{false, false, "not_started"},
};

static void test_render(void **state)
{
	struct domain domain = {.id = "i", .name = (char *)"a.test", .created_us = 0};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
		json_t *whole, *item;

		domain.active = states[i].active;
		domain.pending = states[i].pending;
		whole = domain_json_render(&domain, NULL);
		item = domain_json_render_item(&domain);
		assert_string_equal(
			json_string_value(json_object_get(whole, "status")), states[i].status);
		assert_true(json_is_array(json_object_get(whole, "records")));
		json_object_del(whole, "records");
		assert_true(json_equal(whole, item));
		json_decref(whole);
		json_decref(item);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_render),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
