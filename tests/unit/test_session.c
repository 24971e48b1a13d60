/*
 * What a session keeps of a message, and how much of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/mem.h"
#include "milter/session.h"

#define A_TICKET "0123456789abcdef0123456789abcdef"
#define ANOTHER  "00000000000000000000000000000000"

static void test_sender(void **state)
{
	static const struct {
		const char *argument, *sender;
	} cases[] = {
		{"<a@x.test>", "a@x.test"},
		{"a@x.test", "a@x.test"},
		{"<>", ""},
		{"", ""},
		{"<", "<"},
		{"<a@x.test", "<a@x.test"},
		{"<\"a>b\"@x.test>", "\"a>b\"@x.test"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(milter_session) struct milter_session *session = session_new(
			ORIGIN_LOCAL, NULL, false);

		session_begin(session, cases[i].argument, NULL);
		assert_string_equal(session->message.sender, cases[i].sender);
	}
}

static void test_fields_by_name(void **state)
{
	static const struct {
		const char *name;
		size_t froms, traces, others;
	} cases[] = {
		{"From", 1, 0, 0},
		{"FROM", 1, 0, 0},
		{"from \t", 1, 0, 0},
		{"From x", 0, 0, 0},
		{"Fro", 0, 0, 0},
		{"Froma", 0, 0, 0},
		{"Resent-From", 0, 0, 1},
		{"resent-sender", 0, 0, 1},
		{"SENDER\t", 0, 0, 1},
		{"Senders", 0, 0, 0},
		{"Reply-To", 0, 0, 0},
		{"", 0, 0, 0},
		{"X-Postern-Email-Id", 0, 1, 0},
		{"x-postern-email-ID ", 0, 1, 0},
		{"X-Postern-Email-Ids", 0, 0, 0},
		{"X-Postern-Ticket", 0, 0, 0},
		{"X-Postern", 0, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(milter_session) struct milter_session *session = session_new(
			ORIGIN_LOCAL, NULL, false);
		struct session_message *message = &session->message;

		session_begin(session, "a@x.test", NULL);
		session_header(session, cases[i].name, "value");
		if (message->froms.values.n != cases[i].froms ||
			message->traces != cases[i].traces ||
			message->others.values.n != cases[i].others)
			fail_msg("\"%s\": %zu From, %zu traces", cases[i].name,
				message->froms.values.n, message->traces);
	}
}

/* The first one counts. */
static void test_nonce(void **state)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);

	(void)state;
	session_begin(session, "a@x.test", NULL);
	session_header(session, TICKET_NONCE_FIELD, " " A_TICKET "\r\n ");
	session_header(session, TICKET_NONCE_FIELD, ANOTHER);
	assert_string_equal(session->message.nonce, A_TICKET);
	assert_int_equal(session->message.nonces, 2);
}

/* What is kept of the recipients does not grow with them. */
static void test_recipients(void **state)
{
	static const struct {
		const char *recipients[4];
		bool for_ticket, for_others;
		const char *ticket;
	} cases[] = {
		{{NULL}, false, false, ""},
		{{"<a@x.test>"}, false, true, ""},
		{{"<" A_TICKET "@postern.invalid>"}, true, false, A_TICKET},
		{{A_TICKET "@postern.invalid", "<" A_TICKET "@postern.invalid>"}, true, false,
			A_TICKET},
		{{"a@x.test", A_TICKET "@postern.invalid"}, true, true, A_TICKET},
		{{A_TICKET "@postern.invalid", "a@x.test"}, true, true, A_TICKET},
		{{A_TICKET "@postern.invalid", ANOTHER "@postern.invalid"}, true, true, A_TICKET},
		{{"x@postern.invalid", A_TICKET "@postern.invalid"}, true, true, A_TICKET},
		{{"x@postern.invalid"}, true, true, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(milter_session) struct milter_session *session = session_new(
			ORIGIN_LOCAL, NULL, false);
		const struct session_message *message = &session->message;

		session_begin(session, "a@x.test", NULL);
		for (size_t k = 0; cases[i].recipients[k]; k++)
			session_recipient(session, cases[i].recipients[k], NULL);
		if (message->for_ticket != cases[i].for_ticket ||
			message->for_others != cases[i].for_others)
			fail_msg("%zu", i);
		assert_string_equal(message->ticket, cases[i].ticket);
	}
}

static void test_endless_headers(void **state)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);
	struct session_message *message = &session->message;

	(void)state;
	session_begin(session, "a@x.test", NULL);
	for (int i = 0; i < 100000; i++) {
		session_header(session, "From", "a@x.test");
		session_header(session, "X-Postern-Email-Id", "i");
		session_header(session, "Received", "by x.test");
	}
	assert_int_equal(message->froms.values.n, SESSION_SENDER_FIELDS);
	assert_true(message->froms.overflow);
	assert_int_equal(message->traces, SESSION_TRACE_FIELDS + 1);
}

static void test_long_froms(void **state)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);
	struct session_message *message = &session->message;
	_cleanup_free_ char *value = mem_alloc(SESSION_SENDER_BYTES + 1, 1);

	(void)state;
	memset(value, 'a', SESSION_SENDER_BYTES);
	session_begin(session, "a@x.test", NULL);
	session_header(session, "From", value);
	assert_int_equal(message->froms.values.n, 1);
	assert_false(message->froms.overflow);
	session_header(session, "From", "");
	assert_false(message->froms.overflow);
	session_header(session, "From", "b");
	assert_int_equal(message->froms.values.n, 2);
	assert_true(message->froms.overflow);
}

static void fill(struct milter_session *session)
{
	session_begin(session, "<a@x.test>", "bob");
	session_queue_id(session, "ABC");
	session_header(session, "From", "a@x.test");
	session_header(session, "Sender", "b@x.test");
	session_header(session, "X-Postern-Email-Id", "t");
	session_recipient(session, "x@x.test", NULL);
	session_recipient(session, A_TICKET "@postern.invalid", NULL);
	session_resolved(session, "a@x.test");
	session->message.froms.overflow = true;
}

static void assert_forgotten(const struct milter_session *session)
{
	const struct session_message *message = &session->message;

	assert_string_equal(message->ticket, "");
	assert_false(message->for_ticket);
	assert_false(message->for_others);
	assert_null(message->resolved);
	assert_int_equal(message->others.values.n, 0);
	assert_null(message->queue_id);
	assert_int_equal(message->traces, 0);
	assert_int_equal(message->froms.values.n, 0);
	assert_int_equal(message->froms.bytes, 0);
	assert_false(message->froms.overflow);
	assert_null(message->login);
}

static void test_nothing_survives_a_message(void **state)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);

	(void)state;
	fill(session);
	session_reset(session);
	assert_forgotten(session);
	assert_null(session->message.sender);
	session_reset(session);
	fill(session);
	session_begin(session, "b@y.test", NULL);
	assert_forgotten(session);
	assert_string_equal(session->message.sender, "b@y.test");
}

static void test_origin(void **state)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_EXTERNAL, NULL, false);

	(void)state;
	session_begin(session, "a@x.test", NULL);
	assert_int_equal(session_origin(session), ORIGIN_EXTERNAL);
	session_begin(session, "a@x.test", "bob");
	assert_int_equal(session_origin(session), ORIGIN_LOGIN);
	session_begin(session, "a@x.test", NULL);
	assert_int_equal(session_origin(session), ORIGIN_EXTERNAL);
}

static void test_queue_id(void **state)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);

	(void)state;
	session_begin(session, "a@x.test", NULL);
	session_queue_id(session, NULL);
	assert_string_equal(session->message.queue_id, "");
	session_queue_id(session, "4F2");
	assert_string_equal(session->message.queue_id, "4F2");
}

/* With LF for line ends, however it comes in pieces, and without the fields that are for us. */
static void test_copy(void **state)
{
	static const char body[] = "a\r\nb\rc\r\r\nd\ne\r";
	static const char wanted[] = "From: a@x.test\nSubject: one\n two\n\na\nb\rc\r\nd\ne\r";

	(void)state;
	for (size_t piece = 1; piece <= sizeof(body); piece++) {
		struct session_room room = {.max = 1 << 20};
		_cleanup_(milter_session) struct milter_session *session = session_new(
			ORIGIN_EXTERNAL, "192.0.2.1", false);

		session->room = &room;
		session_begin(session, "a@x.test", "some-key");
		session_service(session, SESSION_KEY_SERVICE);
		session_header(session, "From", "a@x.test");
		session_header(session, "idempotency-key", "k");
		session_header(session, "X-Mailgun-Tag", "t");
		session_header(session, "x-mailgun-track ", "no");
		session_header(session, "X-Postern-Email-Id", "x");
		session_header(session, "Subject", "one\n two");
		for (size_t at = 0; at < sizeof(body) - 1; at += piece)
			assert_true(session_body(session, body + at,
				piece < sizeof(body) - 1 - at ? piece : sizeof(body) - 1 - at));
		assert_true(session_body(session, "", 0));
		assert_string_equal(buf_str(&session->message.copy), wanted);
		assert_int_equal(session->message.own[OWN_IDEMPOTENCY].values.n, 1);
		assert_int_equal(session->message.own[OWN_TAG].values.n, 1);
		assert_int_equal(session->message.own[OWN_MAILGUN].values.n, 1);
		assert_string_equal(
			session->message.own[OWN_MAILGUN].values.items[0], "x-mailgun-track");
		assert_true(room.held > 0);
		session_reset(session);
		assert_int_equal(room.held, 0);
	}
}

/* One that is alone may be larger than the room; of two the second has to wait. */
static void test_copy_has_no_room(void **state)
{
	struct session_room room = {.max = 1000};
	char body[4000] = {0};

	(void)state;
	{
		_cleanup_(milter_session) struct milter_session *one = session_new(
			ORIGIN_EXTERNAL, "192.0.2.1", false);
		_cleanup_(milter_session) struct milter_session *two = session_new(
			ORIGIN_EXTERNAL, "192.0.2.1", false);
		struct milter_session *both[] = {one, two};

		for (size_t i = 0; i < 2; i++) {
			both[i]->room = &room;
			session_begin(both[i], "a@x.test", "some-key");
			session_service(both[i], SESSION_KEY_SERVICE);
			assert_int_equal(session_body(both[i], body, sizeof(body)), i == 0);
			assert_int_equal(both[i]->message.no_room, i == 1);
		}
		session_reset(one);
		session_begin(two, "a@x.test", "some-key");
		session_service(two, SESSION_KEY_SERVICE);
		assert_true(session_body(two, body, sizeof(body)));
	}
	assert_int_equal(room.held, 0);
}

/* Who has no key keeps nothing. */
static void test_no_copy(void **state)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);

	(void)state;
	session_begin(session, "a@x.test", NULL);
	session_header(session, "Subject", "x");
	assert_false(session_body(session, "x", 1));
	assert_int_equal(session->message.copy.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_copy_has_no_room),
		cmocka_unit_test(test_no_copy),
		cmocka_unit_test(test_sender),
		cmocka_unit_test(test_fields_by_name),
		cmocka_unit_test(test_nonce),
		cmocka_unit_test(test_recipients),
		cmocka_unit_test(test_endless_headers),
		cmocka_unit_test(test_long_froms),
		cmocka_unit_test(test_nothing_survives_a_message),
		cmocka_unit_test(test_origin),
		cmocka_unit_test(test_queue_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
