/*
 * conn: what a client gets for the bytes it sends, and when it is dropped.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <event2/event.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "httpd/admission/budget.h"
#include "httpd/admission/request.h"
#include "httpd/http/http1.h"
#include "httpd/transport/listener.h"
#include "tests/unit/http_rig.h"

#define GET         "GET /here HTTP/1.1\r\nHost: h\r\n\r\n"
#define POST        "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
#define CHUNKED     POST "Transfer-Encoding: chunked\r\n\r\n"
#define STATUS(num) "HTTP/1.1 " #num " "

static void say(struct http_client *client, const char *text)
{
	http_client_say(client, text, strlen(text));
}

static struct http_client *client_saying(struct http_rig *rig, const char *text)
{
	struct http_client *client = http_client_new(rig);

	say(client, text);
	return client;
}

/* Requests that are answered, on a connection that stays open. */
static void test_answered(void **state)
{
	static const struct {
		const char *said, *heard;
		int times;
	} cases[] = {
		{GET, "{\"body\":\"\"}", 1},
		{GET GET GET, "{\"body\":\"\"}", 3},
		{POST "Content-Length: 5\r\n\r\nhello" GET, "{\"body\":\"hello\"}", 1},
		{CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n" GET, "{\"body\":\"hello\"}", 1},
		{POST "Content-Length: 0\r\n\r\n", "{\"body\":\"\"}", 1},
		{"HEAD /here HTTP/1.1\r\nHost: h\r\n\r\n" GET, STATUS(200), 2},
		/* A problem that can wait for a body that is small. */
		{"GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n" GET, STATUS(404), 1},
		{"POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi", STATUS(404),
			1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_client *client = client_saying(*state, cases[i].said);

		http_client_hear(client, cases[i].heard, cases[i].times);
		say(client, "GET /last HTTP/1.1\r\nHost: h\r\n\r\n");
		http_client_hear(client, "endpoint does not exist", 1);
		assert_false(client->closed);
		http_client_free(client);
	}
}

static void test_expects_continue(void **state)
{
	struct http_client *client = client_saying(
		*state, POST "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");

	http_client_hear(client, STATUS(100), 1);
	say(client, "hi");
	http_client_hear(client, "{\"body\":\"hi\"}", 1);
	http_client_free(client);
}

/* However the bytes are cut, a request is one. */
static void test_bytes_one_by_one(void **state)
{
	static const char said[] = GET CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n" POST
					       "Content-Length: 3\r\n\r\nend";
	struct http_client *client = http_client_new(*state);

	for (const char *at = said; *at; at++) {
		http_client_say(client, at, 1);
		http_rig_settle(*state);
	}
	http_client_hear(client, "{\"body\":\"end\"}", 1);
	http_client_hear(client, "{\"body\":\"hello\"}", 1);
	http_client_hear(client, STATUS(200), 3);
	http_client_free(client);
}

/* Requests that are refused before their body: one answer, then the end. What
 * comes behind is no request. */
static void test_refused(void **state)
{
	static const struct {
		const char *said, *heard;
	} cases[] = {
		{"GET /here HTTP/1.1\nHost: h\n\n", STATUS(400)},
		{"GET /here HTTP/1.1\r\n\r\n", STATUS(400)},
		{"GET //here HTTP/1.1\r\nHost: h\r\n\r\n", STATUS(404)},
		{"BREW /here HTTP/1.1\r\nHost: h\r\n\r\n", STATUS(405)},
		{POST "Content-Length: 99999999999\r\n\r\n", STATUS(413)},
		{CHUNKED "2\r\nheXX", STATUS(400)},
		{CHUNKED "zz\r\n", STATUS(400)},
		{"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 99999\r\n\r\n", STATUS(415)},
		{"POST /nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n"
		 "Expect: 100-continue\r\n\r\n",
			STATUS(404)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_client *client = client_saying(*state, cases[i].said);

		http_client_hear(client, cases[i].heard, 1);
		http_client_hear(client, "Connection: close", 1);
		say(client, GET);
		http_client_hear_end(client);
		assert_null(strstr(buf_str(&client->got), STATUS(200)));
		http_client_free(client);
	}
}

/* However the bytes of a bad head are cut, also behind a request: evhttp, which
 * reads line by line, sees none of them. */
static void test_refused_in_pieces(void **state)
{
	static const char *const heads[] = {
		"GET\r\n\r\n",
		"GET /here\r\nHost: h\r\n\r\n",
		"GET /here HTTP/2.0\r\nHost: h\r\n\r\n",
		"BREW /here HTTP/1.1\r\nHost: h\r\n\r\n",
		"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET http:// HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET //[ HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /here HTTP/1.1\r\nHost\r\n\r\n",
		"GET /here HTTP/1.1\r\n: h\r\n\r\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		for (size_t cut = 1; heads[i][cut]; cut++) {
			struct http_client *client = http_client_new(*state);

			if (cut % 2)
				say(client, GET);
			http_client_say(client, heads[i], cut);
			http_rig_settle(*state);
			say(client, heads[i] + cut);
			http_client_hear_end(client);
			http_client_hear(client, "\"statusCode\":", 1);
			http_client_hear(client, "HTTP/1.1 ", 1 + cut % 2);
			assert_null(strstr(buf_str(&client->got), "<"));
			http_client_free(client);
		}
	}
}

/* A head is not waited for for ever. */
static void test_long_head(void **state)
{
	struct http_client *client = client_saying(*state, "GET /here HTTP/1.1\r\nX: ");
	_cleanup_free_ char *long_value = mem_alloc(HTTP_HEAD_MAX + 1, 1);

	memset(long_value, 'x', HTTP_HEAD_MAX);
	say(client, long_value);
	http_client_hear(client, STATUS(431), 1);
	http_client_hear_end(client);
	http_client_free(client);
}

static void test_body_over_limit(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *client;
	char piece[1024 + 1];

	rig->worker.conf->http.max_message_bytes = 1024;
	memset(piece, 'x', 1024);
	piece[1024] = '\0';
	client = client_saying(rig, CHUNKED);
	for (int i = 0; i < 3; i++) {
		say(client, "400\r\n");
		say(client, piece);
		say(client, "\r\n");
	}
	http_client_hear(client, STATUS(413), 1);
	http_client_hear_end(client);
	http_client_free(client);
}

/* What a client sends ahead waits until its request is answered. */
static void test_sent_ahead(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *client;

	rig->hold = true;
	client = client_saying(rig, GET GET "GET /nowhere HTTP/1.1\r\n");
	for (int i = 1; i <= 2; i++) {
		while (rig->held == NULL)
			http_rig_wait(rig);
		http_rig_settle(rig);
		assert_int_equal(rig->worker.requests, 1);
		http_rig_release(rig);
		http_client_hear(client, STATUS(200), i);
	}
	say(client, "Host: h\r\n\r\n");
	http_client_hear(client, STATUS(404), 1);
	http_client_free(client);
}

/* All that was said is answered, though there will be no more; large answers,
 * too. In pieces: whatever is read with the end of the input. */
static void test_half_closed(void **state)
{
#define LARGE  "GET /large HTTP/1.1\r\nHost: h\r\n\r\n"
#define HELLO  POST "Content-Length: 5\r\n\r\nhello"
#define PIECES CHUNKED "2\r\nhe\r\n3\r\nllo\r\n0\r\nX: y\r\n\r\n"
	static const struct {
		const char *said;
		int answers;
	} cases[] = {
		{GET, 1},
		{GET GET, 2},
		{GET GET GET GET GET, 5},
		{HELLO HELLO, 2},
		{PIECES HELLO PIECES GET, 4},
		{LARGE GET LARGE, 3},
		{"GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n" GET, 2},
		{GET "GET /bad\r\n\r\n", 2},
		{GET POST "Content-Length: 99999999999\r\n\r\nx", 2},
	};
	struct http_rig *rig = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].said);

		for (size_t cut = 0; cut < len; cut += 1 + cut / 8) {
			struct http_client *client = http_client_new(rig);

			http_client_say(client, cases[i].said, cut);
			if (cut > 0)
				http_rig_settle(rig);
			say(client, cases[i].said + cut);
			http_client_end_saying(client);
			http_client_hear(client, "HTTP/1.1 ", cases[i].answers);
			http_client_hear_end(client);
			http_client_free(client);
			if (strstr(cases[i].said, "large"))
				break;
		}
	}
}

/* The same for requests that take their time. */
static void test_half_closed_while_busy(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *client;

	rig->hold = true;
	client = client_saying(rig, GET GET GET);
	http_client_end_saying(client);
	for (int i = 1; i <= 3; i++) {
		while (rig->held == NULL)
			http_rig_wait(rig);
		http_rig_settle(rig);
		http_rig_release(rig);
		http_client_hear(client, STATUS(200), i);
	}
	http_client_hear_end(client);
	http_client_free(client);
}

/* A request that ends in the middle is told so. */
static void test_cut_off(void **state)
{
	static const struct {
		const char *said;
		int before; /* answers to what came before it */
	} cases[] = {
		{"G", 0},
		{"GET /here\r\n", 0},
		{"GET /here HTTP/1.1\r\nHost: h\r\n", 0},
		{POST "Content-Length: 5\r\n\r\nhell", 0},
		{POST "Content-Length: 5\r\n\r\n", 0},
		{POST "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n", 0},
		{CHUNKED, 0},
		{CHUNKED "5\r\nhell", 0},
		{CHUNKED "0\r\nX: y\r\n", 0},
		{GET GET "GET /he", 2},
		{GET CHUNKED "5\r\nhell", 1},
	};
	struct http_rig *rig = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (int settle = 0; settle < 2; settle++) {
			struct http_client *client = client_saying(rig, cases[i].said);

			if (settle)
				http_rig_settle(rig);
			http_client_end_saying(client);
			http_client_hear(client, STATUS(400), 1);
			http_client_hear(client, "\"name\":\"validation_error\"", 1);
			http_client_hear(client, STATUS(200), cases[i].before);
			http_client_hear_end(client);
			http_client_free(client);
		}
	}
}

/* Head and trailer each have their own bound, and evhttp takes what both let
 * through. */
static void test_trailers(void **state)
{
	enum { TRAILER = 3 * 1024 };
	struct http_client *client = http_client_new(*state);
	_cleanup_buf_ struct buf said = BUF_INIT;

	buf_add_str(&said, POST "Transfer-Encoding: chunked\r\nX-Long: ");
	while (said.len < HTTP_HEAD_MAX - 4)
		buf_add_char(&said, 'x');
	buf_add_str(&said, "\r\n\r\n5\r\nhello\r\n0\r\nX-Trailer: ");
	for (size_t end = said.len + TRAILER; said.len < end;)
		buf_add_char(&said, 'x');
	buf_add_str(&said, "\r\nConnection: close\r\n\r\n" GET);
	http_client_say(client, said.data, said.len);
	http_client_hear(client, STATUS(200), 2);
	http_client_hear(client, "{\"body\":\"hello\"}", 1);
	assert_null(strstr(buf_str(&client->got), "<"));
	assert_false(client->closed);
	http_client_free(client);
}

/* A trusted proxy names the client, on both listeners; nobody else is believed,
 * whatever the URL of the listener is. */
static void test_client_address(void **state)
{
	static const struct {
		const char *proxies;
		bool is_admin;
		const char *fields, *client;
	} cases[] = {
		{"", true, "X-Forwarded-For: 192.0.2.1\r\n", "127.0.0.1"},
		{"192.0.2.9", true, "X-Forwarded-For: 192.0.2.1\r\n", "127.0.0.1"},
		{"127.0.0.1", true, "X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1"},
		{"127.0.0.1", false, "X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1"},
		{"127.0.0.1", false, "Via: x\r\n", "127.0.0.1"},
	};
	struct http_rig *rig = *state;
	struct http_client *client = http_client_new(rig);

	rig->hold = true;
	free(rig->worker.conf->admin.url);
	rig->worker.conf->admin.url = mem_strdup("https://mail.example");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		rig->shared.is_admin = cases[i].is_admin;
		assert_int_equal(
			cidr_list_parse_peers(cases[i].proxies, &rig->worker.proxies, NULL), 0);
		say(client, "GET /here HTTP/1.1\r\nHost: 127.0.0.1\r\n");
		say(client, cases[i].fields);
		say(client, "\r\n");
		while (rig->held == NULL)
			http_rig_wait(rig);
		assert_string_equal(rig->held->client, cases[i].client);
		http_rig_release(rig);
		http_client_hear(client, STATUS(200), (int)i + 1);
		cidr_list_clear(&rig->worker.proxies);
	}
	http_client_free(client);
}

/* The client is gone before its answer is there. */
static void test_client_gone(void **state)
{
	struct http_rig *rig = *state;

	rig->hold = true;
	http_client_free(client_saying(rig, GET));
	while (rig->held == NULL)
		http_rig_wait(rig);
	http_rig_release(rig);
	while (listener_connections(rig->worker.listener) > 0)
		http_rig_wait(rig);
	assert_int_equal(rig->worker.requests, 0);
}

/* What becomes of connections when the time for what they do is over. Those
 * that have begun a request have no time, the others none to begin one. */
static void test_expired(void **state)
{
	static const struct {
		const char *said, *heard; /* NULL: nothing, just the end */
	} cases[] = {
		{"", NULL},
		{"GET /he", STATUS(408)},
		{POST "Content-Length: 10\r\n\r\nhe", STATUS(408)},
		{CHUNKED "5\r\nhe", STATUS(408)},
	};
	struct http_rig *rig = *state;

	rig->worker.conf->http.request_timeout_ms = 0;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http_client *client = client_saying(rig, cases[i].said);

		rig->worker.conf->http.idle_timeout_ms = cases[i].heard ? INT64_MAX / 1000000 : 0;
		while (listener_connections(rig->worker.listener) == 0)
			http_rig_wait(rig);
		while (!client->closed) {
			http_rig_settle(rig);
			http_rig_expire(rig);
		}
		if (cases[i].heard)
			http_client_hear(client, cases[i].heard, 1);
		else
			assert_int_equal(client->got.len, 0);
		http_client_free(client);
		while (listener_connections(rig->worker.listener) > 0)
			http_rig_wait(rig);
	}
}

/* A request that is being handled has all the time it takes. */
static void test_busy_does_not_expire(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *client;

	rig->worker.conf->http.idle_timeout_ms = 0;
	rig->worker.conf->http.request_timeout_ms = 0;
	rig->hold = true;
	client = client_saying(rig, GET);
	while (rig->held == NULL)
		http_rig_wait(rig);
	http_rig_expire(rig);
	http_rig_release(rig);
	http_client_hear(client, STATUS(200), 1);
	http_client_free(client);
}

/* An answer keeps its share of the memory until it is read, or its client is
 * dropped because it does not read. */
static void test_answer_not_read(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *client = http_client_new(rig);

	rig->worker.conf->http.request_timeout_ms = 0;
	http_client_stop_reading(client);
	say(client, "GET /large HTTP/1.1\r\nHost: h\r\n\r\n");
	while (budget_used(&rig->budget) == 0)
		http_rig_wait(rig);
	http_rig_settle(rig);
	assert_true(budget_used(&rig->budget) >= HTTP_RIG_LARGE);
	while (listener_connections(rig->worker.listener) > 0) {
		http_rig_settle(rig);
		http_rig_expire(rig);
	}
	assert_int_equal(budget_used(&rig->budget), 0);
	http_client_free(client);
}

/* Takes the whole memory of requests, for a company of its own. */
static void take_all_memory(struct http_rig *rig, struct budget_share *share_r)
{
	int64_t limit = rig->worker.conf->http.max_inflight_bytes;

	*share_r = (struct budget_share){0};
	assert_int_equal(budget_reserve_body(&rig->budget, limit, "another",
				 (uint64_t)limit / BUDGET_FACTOR, share_r),
		BUDGET_TAKEN);
}

/* A large body whose memory is not free waits, with all that comes behind it, and is served once
 * the memory is free. Small ones go ahead. */
static void test_waits_for_memory(void **state)
{
	enum { SIZE = 2 * 1024 * 1024 };
	static const char head[] = POST "Content-Length: 2097152\r\n";
	struct http_rig *rig = *state;
	struct http_client *pipelined = http_client_new(rig), *asking, *small;
	struct budget_share all;
	struct buf body = BUF_INIT;

	for (size_t i = 0; i < SIZE; i++)
		buf_add(&body, "x", 1);
	take_all_memory(rig, &all);
	say(pipelined, head);
	say(pipelined, "\r\n");
	http_client_say(pipelined, body.data, 1000);
	asking = client_saying(rig, head);
	say(asking, "Expect: 100-continue\r\n\r\n");
	http_rig_settle(rig);
	small = client_saying(rig, POST "Content-Length: 2\r\n\r\nhi");
	http_client_hear(small, "{\"body\":\"hi\"}", 1);
	http_rig_expire(rig);
	http_rig_settle(rig);
	assert_int_equal(asking->got.len, 0);
	budget_give_back(&all);
	http_rig_expire(rig);
	http_client_hear(asking, STATUS(100), 1);
	http_client_say(asking, body.data, SIZE);
	http_client_hear(asking, STATUS(200), 1);
	http_client_say(pipelined, body.data, SIZE - 1000);
	say(pipelined, GET);
	http_client_hear(pipelined, STATUS(200), 2);
	assert_int_equal(rig->worker.requests, 0);
	buf_free(&body);
	http_client_free(small);
	http_client_free(asking);
	http_client_free(pipelined);
}

static void test_waits_in_vain_for_memory(void **state)
{
	struct http_rig *rig = *state;
	struct http_client *client;
	struct budget_share all;

	rig->worker.conf->http.max_wait_ms = 0;
	take_all_memory(rig, &all);
	client = client_saying(rig, POST "Content-Length: 2097152\r\n\r\nhello");
	http_rig_settle(rig);
	http_rig_expire(rig);
	http_client_hear(client, STATUS(503), 1);
	http_client_hear(client, "Retry-After", 1);
	assert_int_equal(rig->worker.requests, 0);
	http_client_free(client);
	budget_give_back(&all);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, http_rig_setup, http_rig_teardown)
	const struct CMUnitTest tests[] = {
		TEST(answered),
		TEST(expects_continue),
		TEST(bytes_one_by_one),
		TEST(refused),
		TEST(refused_in_pieces),
		TEST(long_head),
		TEST(body_over_limit),
		TEST(sent_ahead),
		TEST(half_closed),
		TEST(half_closed_while_busy),
		TEST(cut_off),
		TEST(trailers),
		TEST(client_address),
		TEST(client_gone),
		TEST(expired),
		TEST(busy_does_not_expire),
		TEST(answer_not_read),
		TEST(waits_for_memory),
		TEST(waits_in_vain_for_memory),
	};
	int failed = cmocka_run_group_tests_name("conn", tests, NULL, NULL);

	libevent_global_shutdown();
	return failed;
}
