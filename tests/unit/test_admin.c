/*
 * The admin listener, but for what a running one shows: its table and its
 * document say the same; cookies, origins, and how often one may try.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>

#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/ops/op.h"
#include "httpd/admin/admin.h"
#include "httpd/admin/login_throttle.h"
#include "httpd/admission/credentials.h"
#include "tests/unit/catch.h"
#include "tests/unit/openapi_routes.h"
#include "tests/unit/temp_db.h"

static void check_operation(const struct route *route, const json_t *operation)
{
	const char *role = json_string_value(json_object_get(operation, "x-postern-role"));
	bool operators = json_is_true(json_object_get(operation, "x-postern-operators"));
	const char *wanted = route->auth == AUTH_USER ? store_user_role_name(route->role)
						      : "anyone";

	if (!str_eq(role, wanted) || operators != route->operators)
		fail_msg("%s %s: %s, operators %d", route->method, route->pattern, role, operators);
	assert_int_equal(
		json_object_get(operation, "requestBody") != NULL, route->body != BODY_IGNORED);
	assert_int_equal(json_array_size(json_object_get(operation, "security")) > 0,
		route->auth == AUTH_USER);
}

/* What reads as many rows as there are must not keep the loop of the worker;
 * the settings are in memory. */
static void check_list(const struct route *route, const json_t *operation)
{
	static const char *const path[] = {"responses", "200", "content", "application/json",
		"schema", "properties", "has_more"};

	for (size_t i = 0; i < ARRAY_SIZE(path); i++)
		operation = json_object_get(operation, path[i]);
	if (operation && !route->pooled && !str_eq(route->pattern, "/admin/settings"))
		fail_msg("%s is read on the loop", route->pattern);
}

static const json_t *get_member(const json_t *object, const char *const *path)
{
	while (object && *path)
		object = json_object_get(object, *path++);
	return object;
}

/* Returns the schema of a parameter of the query, or of a member of the body; NULL if the document
 * has none. */
static const json_t *find_input(const json_t *operation, const char *name, bool *required_r)
{
	static const char *const path[] = {
		"requestBody", "content", "application/json", "schema", NULL};
	const json_t *body = get_member(operation, path), *item, *found;
	size_t i;

	json_array_foreach(json_object_get(operation, "parameters"), i, item) {
		if (!str_eq(json_string_value(json_object_get(item, "in")), "query") ||
			!str_eq(json_string_value(json_object_get(item, "name")), name))
			continue;
		*required_r = json_is_true(json_object_get(item, "required"));
		return json_object_get(item, "schema");
	}
	found = json_object_get(json_object_get(body, "properties"), name);
	*required_r = false;
	json_array_foreach(json_object_get(body, "required"), i, item)
		*required_r |= str_eq(json_string_value(item), name);
	return found;
}

static bool is_of_pages(const char *name)
{
	static const char *const paging[] = {"limit", "after", "before", "search"};
	bool found = false;

	for (size_t i = 0; i < ARRAY_SIZE(paging); i++)
		found |= str_eq(name, paging[i]);
	return found;
}

/* The number of inputs, without those of the pages of lists. */
static size_t count_inputs(const json_t *operation)
{
	static const char *const properties[] = {
		"requestBody", "content", "application/json", "schema", "properties", NULL};
	size_t n = json_object_size(get_member(operation, properties)), i;
	const json_t *item;

	json_array_foreach(json_object_get(operation, "parameters"), i, item) {
		n += str_eq(json_string_value(json_object_get(item, "in")), "query") &&
		     !is_of_pages(json_string_value(json_object_get(item, "name")));
	}
	return n;
}

/* The table of an operation and the document name the same inputs, with the same bounds. */
static void check_inputs(const struct route *route, const json_t *operation)
{
	bool takes_input = str_eq(route->method, "GET") || route->body != BODY_IGNORED;
	const struct op_field *field = route->operation ? route->operation->fields : NULL;
	size_t n = 0;

	if (!takes_input)
		return;

	for (; field && field->name; field++) {
		const json_t *schema;
		bool required;

		if (field->command)
			continue;
		schema = find_input(operation, field->name, &required);
		if (schema == NULL || required != (field->required && !field->operators))
			fail_msg("%s %s: %s is %s", route->method, route->pattern, field->name,
				schema == NULL ? "missing"
				: required     ? "required"
					       : "not required");
		if (field->type == OP_NUMBER &&
			(json_integer_value(json_object_get(schema, "maximum")) != field->max ||
				json_integer_value(json_object_get(schema, "minimum")) != 1))
			fail_msg("%s %s: the bounds of %s", route->method, route->pattern,
				field->name);
		n += !is_of_pages(field->name);
	}
	if (route->operation && route->handle == admin_operate && count_inputs(operation) != n)
		fail_msg("%s %s: %zu inputs, %zu in the document", route->method, route->pattern, n,
			count_inputs(operation));
}

static void check_route(json_t *document, const struct route *route, json_t *operation)
{
	(void)document;
	check_operation(route, operation);
	check_list(route, operation);
	check_inputs(route, operation);
}

/* The document has each route, with who may call it and what it takes, and no other. */
static void test_document(void **state)
{
	json_t *document = json_loads(admin_openapi, 0, NULL);
	const json_t *info = json_object_get(document, "info");

	(void)state;
	assert_string_equal(json_string_value(json_object_get(info, "version")), POSTERN_VERSION);
	openapi_for_routes(document, admin_routes, check_route);
	json_decref(document);
}

/* What changes something, none but an owner may, but for one's own login; and
 * who is nobody sees nothing of the store. */
static void test_columns(void **state)
{
	static const char *const anyones[] = {"/", "/web/{}", "/web/pages/{}", "/web/{}/{}",
		"/web/{}/pages/{}", "/admin", "/admin/openapi.json", "/healthz", "/readyz"};
	/* What viewers change of themselves. */
	static const char *const own[] = {"/admin/session", "/admin/session/link",
		"/admin/password", "/admin/totp", "/admin/totp/confirm", "/admin/totp/off",
		"/admin/sessions", "/admin/sessions/{}"};

	(void)state;
	for (const struct route *route = admin_routes; route->method; route++) {
		bool reads = str_eq(route->method, "GET") || str_eq(route->method, "HEAD");
		bool known = false;

		assert_int_equal(route->scopes, 0);
		for (size_t i = 0; i < ARRAY_SIZE(anyones); i++)
			known |= reads && str_eq(route->pattern, anyones[i]);
		for (size_t i = 0; i < ARRAY_SIZE(own); i++)
			known |= !reads && str_eq(route->pattern, own[i]);
		if (known)
			continue;
		assert_int_equal(route->auth, AUTH_USER);
		if (!reads)
			assert_int_equal(route->role, USER_OWNER);
	}
}

static struct http_head head_of(const char *text)
{
	struct http_head head;
	struct http_fault fault;

	assert_int_equal(http_head_parse(text, strlen(text), &head, &fault), 0);
	return head;
}

static void test_cookies(void **state)
{
	static const struct {
		const char *field;
		const char *token; /* NULL: none */
	} cases[] = {
		{"postern_session_80=abc", "abc"},
		{"a=b; postern_session_80=abc; c=d", "abc"},
		{"a=b;postern_session_80=abc", "abc"},
		{"postern_session_8080=d; postern_session_80=abc", "abc"},
		{"postern_session_8=d; postern_session=e; postern_session_80=abc", "abc"},
		{"postern_session_80=", NULL},
		{"postern_session=abc", NULL},
		{"postern_session_80x=abc", NULL},
		{"xpostern_session_80=abc", NULL},
		{"__Host-postern_session_80=abc", NULL},
		{"a=postern_session_80=abc", NULL},
		{"postern_session_80", NULL},
		{"a=b; ", NULL},
		{"; ; postern_session_80=x=y", "x=y"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = mem_printf(
			"GET / HTTP/1.1\r\nHost: a\r\nCookie: %s\r\n\r\n", cases[i].field);
		struct http_head head = head_of(text);
		_cleanup_buf_ struct buf token = BUF_INIT;
		bool found = credentials_cookie(&head, "postern_session_80", &token);

		if (found != (cases[i].token != NULL) ||
			(found && !str_eq(token.data, cases[i].token)))
			fail_msg("%s: %s", cases[i].field, buf_str(&token));
	}
}

static void test_cookie_names(void **state)
{
	static const struct {
		const char *host, *url, *name;
	} cases[] = {
		{"localhost:8588", "", "postern_session_8588"},
		{"[::1]:8588", "", "postern_session_8588"},
		{"[::1]", "", "postern_session_80"},
		{"localhost", "", "postern_session_80"},
		{"localhost:", "", "postern_session_80"},
		{":1", "", "postern_session_1"},
		{"", "", "postern_session_80"},
		{"a:123456789012345678901234567890", "", "postern_session_80"},
		{"a:1", "http://mail.example.com", "postern_session_80"},
		{"a:1", "https://mail.example.com", "__Host-postern_session_443"},
		{"a:1", "https://mail.example.com:8443", "__Host-postern_session_8443"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char name[SESSION_COOKIE_SIZE];

		credentials_cookie_name(
			(struct span){cases[i].host, strlen(cases[i].host)}, cases[i].url, name);
		assert_string_equal(name, cases[i].name);
	}
}

static void test_origins(void **state)
{
	static const struct {
		const char *fields;
		const char *url;
		enum page_origin origin;
	} cases[] = {
		{"", "", PAGE_NONE},
		{"Origin: http://a:1\r\n", "", PAGE_OWN},
		{"Origin: http://A:1\r\n", "", PAGE_OWN},
		{"Origin: http://a\r\n", "", PAGE_FOREIGN},
		{"Origin: https://a:1\r\n", "", PAGE_FOREIGN},
		{"Origin: http://a:1.evil.example\r\n", "", PAGE_FOREIGN},
		{"Origin: http://evil.example\r\n", "", PAGE_FOREIGN},
		{"Origin: null\r\n", "", PAGE_FOREIGN},
		{"Origin: \r\n", "", PAGE_FOREIGN},
		{"Sec-Fetch-Site: same-origin\r\n", "", PAGE_OWN},
		{"Sec-Fetch-Site: same-site\r\n", "", PAGE_FOREIGN},
		{"Sec-Fetch-Site: cross-site\r\n", "", PAGE_FOREIGN},
		{"Sec-Fetch-Site: none\r\n", "", PAGE_FOREIGN},
		{"Sec-Fetch-Site: same-origin\r\nOrigin: http://b\r\n", "", PAGE_FOREIGN},
		{"Sec-Fetch-Site: cross-site\r\nOrigin: http://a:1\r\n", "", PAGE_FOREIGN},
		{"Origin: https://mail.example\r\n", "https://mail.example", PAGE_OWN},
		{"Origin: http://a:1\r\n", "https://mail.example", PAGE_FOREIGN},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = mem_printf(
			"POST / HTTP/1.1\r\nHost: a:1\r\n%s\r\n", cases[i].fields);
		struct http_head head = head_of(text);

		if (page_origin_of(&head, cases[i].url) != cases[i].origin)
			fail_msg("%s %s", cases[i].fields, cases[i].url);
	}
}

/* By which names the admin listener is known: none that a page of another site
 * could have given it. */
static void test_hosts(void **state)
{
	static const struct {
		const char *host; /* NULL: no such field */
		const char *url, *names;
		bool own;
	} cases[] = {
		{"127.0.0.1:8588", "", "", true},
		{"127.0.0.1", "", "", true},
		{"192.0.2.1:", "", "", true},
		{"[::1]:8588", "", "", true},
		{"[2001:DB8::1]", "", "", true},
		{"localhost:8588", "", "", true},
		{"LocalHost.", "", "", true},
		{"", "", "", true},
		{NULL, "", "", true},
		{"evil.example", "", "", false},
		{"evil.example:8588", "", "", false},
		{"localhost.evil.example", "", "", false},
		{"127.0.0.1.evil.example:8588", "", "", false},
		{"127.1", "", "", false},
		{"0x7f000001", "", "", false},
		{"2130706433", "", "", false},
		{".", "", "", false},
		{"mail.example", "https://mail.example", "", true},
		{"MAIL.example.:444", "https://mail.example:8443", "", true},
		{"mail.example", "http://[::1]:80", "", false},
		{"xmail.example", "https://mail.example", "", false},
		{"mail.example.com", "https://mail.example", "", false},
		{"https", "https://mail.example", "", false},
		{"127.0.0.1", "https://mail.example", "", true},
		{"mailhost:8588", "", "other, MailHost.\tthird", true},
		{"third", "", "other, mailhost\tthird", true},
		{"fourth", "", "other mailhost third", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *host = cases[i].host;
		_cleanup_free_ char *text = host ? mem_printf("GET / HTTP/1.1\r\nHost: %s\r\n\r\n",
							   host)
						 : mem_strdup("GET / HTTP/1.0\r\n\r\n");
		struct http_head head;
		struct http_fault fault;
		/* The parser refuses what is neither a name nor an address. */
		bool own = http_head_parse(text, strlen(text), &head, &fault) == 0 &&
			   host_is_own(&head, cases[i].url, cases[i].names);

		if (own != cases[i].own)
			fail_msg("%s %s %s", host ? host : "none", cases[i].url, cases[i].names);
	}
}

#define ANNS   "11111111-1111-4111-8111-111111111111"
#define OTHERS "22222222-2222-4222-8222-222222222222"

/* Tries from many addresses, for as many logins. */
static void flood(
	struct login_throttle *throttle, const char *name, int who, int times, int64_t now_us)
{
	for (int i = 0; i < who; i++) {
		_cleanup_free_ char *from = mem_printf("%s%d", name, i);

		for (int n = 0; n < times; n++)
			login_throttle_try(throttle, from, from, now_us);
	}
}

/* Whoever has filled the table long ago leaves places to who comes now. */
static void test_throttle_forgets(void **state)
{
	struct login_throttle *throttle = login_throttle_new();
	int64_t now_us = INT64_C(7200) * 1000000;
	int wait_s = 0;

	(void)state;
	flood(throttle, "before", 20000, 6, 1);
	for (int i = 0; i < 12 && wait_s == 0; i++) {
		_cleanup_free_ char *address = mem_printf("192.0.2.%d", i);
		_cleanup_free_ char *others = mem_printf("others%d.", i);

		wait_s = login_throttle_try(throttle, address, "ann", now_us);
		flood(throttle, others, 100, 1, now_us);
	}
	assert_true(wait_s > 0);
	login_throttle_free(throttle);
}

/* From one address: five tries, then longer and longer waits. */
static void test_throttle_address(void **state)
{
	struct login_throttle *throttle = login_throttle_new();
	int64_t now_us = 1;
	int wait_s, last_s = 0;

	(void)state;
	for (int i = 0; i < 5; i++) {
		_cleanup_free_ char *login = mem_printf("login%d", i);

		assert_int_equal(login_throttle_try(throttle, "192.0.2.1", login, now_us), 0);
	}
	for (int i = 0; i < 12; i++) {
		_cleanup_free_ char *login = mem_printf("other%d", i);

		assert_int_equal(login_throttle_try(throttle, "192.0.2.1", login, now_us), 0);
		wait_s = login_throttle_try(throttle, "192.0.2.1", "another", now_us);
		assert_true(wait_s > last_s || wait_s == 900);
		last_s = wait_s;
		now_us += wait_s * INT64_C(1000000);
	}
	assert_int_equal(last_s, 900);
	/* Others are heard. */
	assert_int_equal(login_throttle_try(throttle, "192.0.2.2", "ann", now_us), 0);
	/* An hour later it is forgotten. */
	now_us += INT64_C(3601) * 1000000;
	for (int i = 0; i < 5; i++) {
		_cleanup_free_ char *login = mem_printf("later%d", i);

		assert_int_equal(login_throttle_try(throttle, "192.0.2.1", login, now_us), 0);
	}
	login_throttle_free(throttle);
}

/* For one login, from wherever: a minute at most, so that its owner gets in. */
static void test_throttle_login(void **state)
{
	struct login_throttle *throttle = login_throttle_new();
	int64_t now_us = 1;
	int wait_s = 0;

	(void)state;
	for (int i = 0; i < 30; i++) {
		_cleanup_free_ char *address = mem_printf("192.0.2.%d", i);

		now_us += wait_s * INT64_C(1000000);
		wait_s = login_throttle_try(throttle, address, "ann", now_us);
		if (wait_s > 0)
			i--;
		assert_true(wait_s <= 60);
		assert_true(i < 5 || wait_s >= 0);
	}
	assert_true(login_throttle_try(throttle, "198.51.100.1", "ann", now_us) > 30);
	/* After the right password nobody waits for it. */
	login_throttle_good(throttle, "192.0.2.29", "ann", ANNS, now_us);
	assert_int_equal(login_throttle_try(throttle, "198.51.100.1", "ann", now_us), 0);
	login_throttle_free(throttle);
}

/* However many users others have, and from wherever those come in: who came in from here
 * before is known, and is kept out by nobody. */
static void test_throttle_record_of_each(void **state)
{
	struct login_throttle *throttle = login_throttle_new();
	int64_t now_us = 1;

	(void)state;
	login_throttle_good(throttle, "192.0.2.1", "ann", ANNS, now_us);
	for (int i = 0; i < 20000; i++) {
		_cleanup_free_ char *login = mem_printf("user%d", i);

		login_throttle_good(throttle, "198.51.100.1", login, OTHERS, ++now_us);
	}
	for (int i = 0; i < 12; i++) {
		_cleanup_free_ char *address = mem_printf("203.0.113.%d", i);

		login_throttle_try(throttle, address, "ann", now_us);
	}
	assert_true(login_throttle_try(throttle, "203.0.113.99", "ann", now_us) > 0);
	assert_int_equal(login_throttle_try(throttle, "192.0.2.1", "ann", now_us), 0);
	/* So it is with who comes in when all records are taken. */
	login_throttle_good(throttle, "192.0.2.1", "bob", ANNS, ++now_us);
	login_throttle_good(throttle, "198.51.100.1", "more", OTHERS, ++now_us);
	for (int i = 0; i < 12; i++) {
		_cleanup_free_ char *address = mem_printf("203.0.113.%d", 20 + i);

		login_throttle_try(throttle, address, "bob", now_us);
	}
	assert_true(login_throttle_try(throttle, "203.0.113.99", "bob", now_us) > 0);
	assert_int_equal(login_throttle_try(throttle, "192.0.2.1", "bob", now_us), 0);
	/* Of one login the eight last ones are. */
	for (int i = 0; i < 8; i++) {
		_cleanup_free_ char *address = mem_printf("198.51.100.%d", i);

		login_throttle_good(throttle, address, "ann", ANNS, ++now_us);
	}
	for (int i = 0; i < 12; i++) {
		_cleanup_free_ char *address = mem_printf("203.0.113.%d", i);

		login_throttle_try(throttle, address, "ann", now_us);
	}
	assert_true(login_throttle_try(throttle, "192.0.2.1", "ann", now_us) > 0);
	login_throttle_free(throttle);
}

/* Whoever has the password guesses codes: from wherever, up to a quarter of an
 * hour for each, and more right passwords do not help. */
static void test_throttle_codes(void **state)
{
	struct login_throttle *throttle = login_throttle_new();
	int64_t now_us = 1;
	int wait_s;

	(void)state;
	for (int i = 0; i < 40; i++) {
		_cleanup_free_ char *address = mem_printf("192.0.2.%d", i);

		while ((wait_s = login_throttle_try(throttle, address, "ann", now_us)) > 0)
			now_us += wait_s * INT64_C(1000000);
		if (i % 2)
			login_throttle_wrong_code(throttle, address, "ann", now_us);
		else
			login_throttle_half(throttle, address, "ann");
	}
	assert_true(login_throttle_try(throttle, "198.51.100.1", "ann", now_us) > 60);
	assert_int_equal(login_throttle_try(throttle, "198.51.100.2", "bob", now_us), 0);
	login_throttle_good(throttle, "198.51.100.1", "ann", ANNS, now_us);
	assert_int_equal(login_throttle_try(throttle, "198.51.100.1", "ann", now_us), 0);
	login_throttle_free(throttle);
}

/* Logins in two steps, of many behind one address, never wait. */
static void test_throttle_two_steps(void **state)
{
	struct login_throttle *throttle = login_throttle_new();

	(void)state;
	for (int i = 0; i < 40; i++) {
		_cleanup_free_ char *login = mem_printf("user%d", i % 20);

		assert_int_equal(login_throttle_try(throttle, "192.0.2.1", login, 1 + i), 0);
		login_throttle_half(throttle, "192.0.2.1", login);
		assert_int_equal(login_throttle_try(throttle, "192.0.2.1", login, 1 + i), 0);
		login_throttle_good(throttle, "192.0.2.1", login, ANNS, 1 + i);
	}
	login_throttle_free(throttle);
}

/* A network of IPv6 counts as one client; a right password does not clear the
 * wrong ones that its address has tried for others. */
static void test_throttle_networks(void **state)
{
	struct login_throttle *throttle = login_throttle_new();
	int wait_s = 0;

	(void)state;
	for (int i = 0; i < 6; i++) {
		_cleanup_free_ char *address = mem_printf("2001:db8::%d", i);
		_cleanup_free_ char *login = mem_printf("login%d", i);

		assert_int_equal(login_throttle_try(throttle, address, login, 1), 0);
	}
	wait_s = login_throttle_try(throttle, "2001:db8::ffff", "x", 1);
	assert_true(wait_s > 0);
	assert_int_equal(login_throttle_try(throttle, "2001:db8:0:1::1", "x", 1), 0);
	for (int i = 0; i < 4; i++) {
		int64_t later_us = 1 + (i + 1) * INT64_C(200000000);

		assert_int_equal(login_throttle_try(throttle, "2001:db8::1", "mine", later_us), 0);
		login_throttle_good(throttle, "2001:db8::1", "mine", ANNS, later_us);
		assert_int_equal(
			login_throttle_try(throttle, "2001:db8::1", "theirs", later_us), 0);
		assert_true(login_throttle_try(throttle, "2001:db8::1", "theirs", later_us) > 0);
	}
	login_throttle_free(throttle);
}

/* IPv4 clients of a listener for both families are told apart, and none is
 * another one than on a listener for IPv4. */
static void test_throttle_mapped(void **state)
{
	struct login_throttle *throttle = login_throttle_new();

	(void)state;
	for (int i = 0; i < 6; i++) {
		_cleanup_free_ char *login = mem_printf("login%d", i);

		assert_int_equal(login_throttle_try(throttle, "::ffff:192.0.2.1", login, 1), 0);
	}
	assert_true(login_throttle_try(throttle, "::ffff:192.0.2.1", "x", 1) > 0);
	assert_true(login_throttle_try(throttle, "192.0.2.1", "x", 1) > 0);
	assert_int_equal(login_throttle_try(throttle, "::ffff:192.0.2.2", "x", 1), 0);
	assert_int_equal(login_throttle_try(throttle, "::1", "x", 1), 0);
	login_throttle_free(throttle);
}

/* Who is on this host has 127.0.0.0/8 to come from. */
static void test_throttle_loopback(void **state)
{
	(void)state;
	for (int mapped = 0; mapped < 2; mapped++) {
		struct login_throttle *throttle = login_throttle_new();
		char client[40];

		for (int i = 1; i <= 6; i++) {
			_cleanup_free_ char *login = mem_printf("login%d", i);

			snprintf(client, sizeof(client),
				mapped ? "::ffff:127.0.%d.1" : "127.0.0.%d", i);
			assert_int_equal(login_throttle_try(throttle, client, login, 1), 0);
		}
		assert_true(login_throttle_try(throttle, "127.255.0.1", "x", 1) > 0);
		assert_int_equal(login_throttle_try(throttle, "128.0.0.1", "x", 1), 0);
		login_throttle_free(throttle);
	}
}

/* Wrong passwords for one login are remembered whatever else is tried, from
 * however many addresses, in which order and letter case ever. */
static void test_throttle_keeps(void **state)
{
	struct login_throttle *throttle = login_throttle_new();
	int64_t now_us = 1;
	int wait_s;

	(void)state;
	for (int i = 0; i < 10; i++) {
		_cleanup_free_ char *address = mem_printf("192.0.2.%d", i);

		while ((wait_s = login_throttle_try(
				throttle, address, i % 2 ? "ann" : "ANN", now_us)))
			now_us += wait_s * INT64_C(1000000);
	}
	flood(throttle, "other", 20000, 12, now_us);
	assert_true(login_throttle_try(throttle, "198.51.100.1", "Ann", now_us) > 20);
	login_throttle_free(throttle);
}

/* Strangers who guess, from everywhere and all day, do not keep a user out of
 * where they came in before; there, too, guesses wait. */
static void test_throttle_known(void **state)
{
	struct login_throttle *throttle = login_throttle_new();
	int64_t now_us = 1;
	int wait_s = 0;

	(void)state;
	assert_int_equal(login_throttle_try(throttle, "203.0.113.7", "ann", now_us), 0);
	login_throttle_good(throttle, "203.0.113.7", "ann", ANNS, now_us);
	flood(throttle, "other", 20000, 12, now_us);
	for (int i = 0; i < 200; i++) {
		_cleanup_free_ char *address = mem_printf("192.0.2.%d", i);

		login_throttle_try(throttle, address, "ann", now_us);
		login_throttle_wrong_code(throttle, address, "ann", now_us);
		assert_true(login_throttle_try(throttle, "198.51.100.1", "ann", now_us) > 0);
		assert_int_equal(login_throttle_try(throttle, "203.0.113.7", "ann", now_us), 0);
		login_throttle_good(throttle, "203.0.113.7", "ann", ANNS, now_us);
		now_us += 1000000;
	}
	for (int i = 0; i < 12; i++) {
		now_us += wait_s * INT64_C(1000000);
		login_throttle_try(throttle, "203.0.113.7", "ann", now_us);
		wait_s = login_throttle_try(throttle, "203.0.113.7", "ann", now_us);
		assert_true(i < 5 || wait_s > 1);
		assert_true(wait_s <= 60);
	}
	assert_int_equal(wait_s, 60);
	/* Of others there is not more than of any stranger. */
	assert_true(login_throttle_try(throttle, "203.0.113.7", "bob", now_us) <= 60);
	login_throttle_free(throttle);
}

/* A change for which a password was verified is made only while that is the
 * password: somebody may have taken it away from who knew it. */
static void test_verified_change(void **state)
{
	static const struct {
		const char *verified;
		const char *now; /* NULL: it was reset */
		bool made;
	} cases[] = {
		{"stored", "stored", true},
		{"stored", "another", false},
		{"stored", NULL, false},
		{NULL, NULL, true},
		{NULL, "stored", false},
	};
	struct temp_db *temp = *state;
	const struct user_spec spec = {NULL, "ann", USER_OWNER, "stored"};
	struct session session = {0};
	struct user ann;

	OK(store_user_add(temp->db, &spec, 1, &ann, &why));
	session.login = ann.login;
	memcpy(session.user_id, ann.id, ID_SIZE);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct admin_verified verified = {.stored = (char *)cases[i].verified};
		struct admin_job job = {.operate.op.session = &session, .verified = &verified};
		struct err err = ERR_INIT;
		int result;

		assert_int_equal(cases[i].now ? store_user_set_password(
							temp->db, ann.id, cases[i].now, 1, NULL)
					      : store_user_reset(temp->db, NULL, ann.id, NULL),
			1);
		result = admin_job_before(&job.operate, temp->db, &err);
		if ((result == 0) != cases[i].made)
			fail_msg("case %zu: %d, %s", i, result, err.text);
		assert_true(result == 0 || err.code == ERR_INVALID);
	}
	assert_int_equal(store_user_remove(temp->db, NULL, ann.id, NULL), 1);
	{
		struct admin_verified verified = {0};
		struct admin_job job = {.operate.op.session = &session, .verified = &verified};
		struct err err = ERR_INIT;

		assert_int_equal(admin_job_before(&job.operate, temp->db, &err), -1);
	}
	store_user_clear(&ann);
}

/* Without Debian's packages the dashboard is plain, and the log names them. */
static void test_web_without_packages(void **state)
{
	struct log *log = log_new("postern-httpd", LOG_TARGET_STDERR, LOG_LEVEL_INFO);
	_cleanup_free_ char *said = NULL;
	struct catch catch = catch_stderr();
	struct span content;
	struct web *web;

	(void)state;
	web = web_new("/nonexistent", log);
	said = catch_end(&catch);
	assert_non_null(strstr(said, "install=libjs-bootstrap5"));
	assert_non_null(strstr(said, "install=libjs-chart.js"));
	assert_false(web_find(web, "bootstrap.css", &content));
	assert_false(web_find(web, "chart.js", &content));
	assert_true(web_find(web, "index.html", &content));
	assert_memory_equal(content.data, "<!doctype html>", 15);
	assert_true(web_find(web, "pages/login.js", &content));
	assert_true(content.len > 0);
	web_free(web);
	log_free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_document),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_cookies),
		cmocka_unit_test(test_cookie_names),
		cmocka_unit_test(test_origins),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_throttle_address),
		cmocka_unit_test(test_throttle_forgets),
		cmocka_unit_test(test_throttle_login),
		cmocka_unit_test(test_throttle_record_of_each),
		cmocka_unit_test(test_throttle_codes),
		cmocka_unit_test(test_throttle_two_steps),
		cmocka_unit_test(test_throttle_networks),
		cmocka_unit_test(test_throttle_mapped),
		cmocka_unit_test(test_throttle_loopback),
		cmocka_unit_test(test_throttle_keeps),
		cmocka_unit_test(test_throttle_known),
		cmocka_unit_test_setup_teardown(
			test_verified_change, temp_db_setup, temp_db_teardown),
		cmocka_unit_test(test_web_without_packages),
	};

	if (secret_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
