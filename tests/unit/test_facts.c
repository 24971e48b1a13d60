/*
 * facts: what the milter learns of a ticket and the message that carries it,
 * from a real store.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/compose/mime_build.h"
#include "core/mime/mime_gmime.h"
#include "core/store/company/store_domain.h"
#include "tests/unit/facts_world.h"

static void test_our_own(void **state)
{
	struct facts_world *world = facts_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = facts_world_begin(
		world, ORIGIN_LOCAL);
	_cleanup_facts_ struct facts facts;

	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.store_failed);
	assert_int_equal(facts.verdict.origin, ORIGIN_LOCAL);
	assert_int_equal(facts.verdict.ticket, TICKET_STAGED);
	assert_int_equal(facts.verdict.claim, CLAIM_NONE); /* besides that of the ticket */
	assert_true(facts.verdict.ticket_submitted);
	assert_true(facts.verdict.ticket_alone);
	assert_int_equal(facts.ticket.recipients.n, 3);
	assert_string_equal(facts.ticket.recipients.items[2], "c@dst.test");
	assert_true(facts.verdict.sender_matches);
	assert_true(facts.verdict.content_matches);
	assert_true(facts.verdict.key_valid);
	assert_true(facts.verdict.domain_owned);
	assert_true(facts.verdict.domain_active);
	assert_true(facts.ticket_found);
	assert_string_equal(facts.ticket.id, world->email.id);
	assert_string_equal(facts.domain, "example.com");
	assert_int_equal(verdict_decide(&facts.verdict).action, VERDICT_RECORD);
}

static void test_states(void **state)
{
	struct temp_db *temp = *state;
	struct facts_world *world = facts_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = facts_world_begin(
		world, ORIGIN_LOCAL);
	const char *ticket = world->email.ticket;
	struct err err = ERR_INIT;
	struct facts facts;

	assert_int_equal(store_email_refuse(temp->db, ticket, "Q1", "No.", 5, &err), 1);
	facts_read(world->pool, session, &facts);
	assert_int_equal(facts.verdict.ticket, TICKET_REFUSED);
	facts_clear(&facts);
	OK(db_exec(temp->db, "UPDATE email SET state = 'staged', refusal = NULL", &why));
	assert_int_equal(store_email_record(temp->db, ticket, "Q2", 6, &err), 1);
	facts_read(world->pool, session, &facts);
	assert_int_equal(facts.verdict.ticket, TICKET_SENT);
	facts_clear(&facts);
	assert_int_equal(store_key_revoke(temp->db, &(const struct key_range){0},
				 world->acme.key_id, 7, &err),
		1);
	assert_int_equal(temp_db_activate(temp->db, world->acme.domain_id, false, &err), 1);
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.key_valid);
	assert_true(facts.verdict.domain_owned);
	assert_false(facts.verdict.domain_active);
	facts_clear(&facts);
	assert_int_equal(store_domain_remove(temp->db, world->acme.domain_id, &err), 1);
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.domain_owned);
	assert_int_equal(facts.verdict.claim, CLAIM_NONE);
	assert_string_equal(facts.domain, "example.com");
	facts_clear(&facts);
}

/* Restages the email with another envelope sender and From. */
static void restage(struct temp_db *temp, const char *sender, const char *from)
{
	struct facts_world *world = temp->more;
	struct email *email = &world->email;

	id_new(email->id);
	secret_ticket(email->ticket);
	free(email->sender);
	free(email->from);
	email->sender = mem_strdup(sender);
	email->from = mem_strdup(from);
	OK(store_email_stage(temp->db, email, &why));
}

static bool sender_matches(struct facts_world *world, const char *sender)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);
	_cleanup_facts_ struct facts facts;

	session_begin(session, sender, NULL);
	facts_world_ticket(session, &world->email);
	facts_read(world->pool, session, &facts);
	assert_true(facts.ticket_found);
	return facts.verdict.sender_matches;
}

static void test_sender(void **state)
{
	static const struct {
		const char *staged, *sender;
		bool matches;
	} cases[] = {
		{"hello@example.com", "hello@example.com", true},
		{"hello@example.com", "<hello@example.com>", true},
		{"hello@example.com", "<hello@EXAMPLE.com>", true},
		{"hello@example.com", "<Hello@example.com>", false},
		{"hello@example.com", "<hello@example.org>", false},
		{"hello@example.com", "<hello@example.comm>", false},
		{"hello@example.com", "<hello@example.co>", false},
		{"hello@example.com", "<xhello@example.com>", false},
		{"hello@example.com", "<>", false},
		{"hello@example.com", "", false},
		{"hello@example.com", "hello", false},
		{"\"q u@\"@example.com", "<\"q u@\"@example.com>", true},
		{"jörg@example.com", "jörg@example.com", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		restage(*state, cases[i].staged, "hello@example.com");
		if (sender_matches(facts_world_of(state), cases[i].sender) != cases[i].matches)
			fail_msg("%s, staged %s", cases[i].sender, cases[i].staged);
	}
}

/* Whoever knows the ticket, the id and the Message-ID has not read the message. */
static void test_nonce(void **state)
{
	static const struct {
		bool staged;
		const char *nonce; /* of the message; "": the email's */
		bool matches;
	} cases[] = {
		{true, "", true},
		{true, NULL, false},
		{true, "00112233445566778899aabbccddeeff", false},
		{true, "0", false},
		{false, NULL, true}, /* from before there were any */
		{false, "00112233445566778899aabbccddeeff", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct facts_world *world = facts_world_of(state);
		struct email *email = &world->email;
		_cleanup_(milter_session) struct milter_session *session = session_new(
			ORIGIN_LOCAL, NULL, false);
		_cleanup_facts_ struct facts facts;
		char nonce[SECRET_TICKET_SIZE];

		secret_ticket(nonce);
		memcpy(email->nonce, cases[i].staged ? nonce : (char[SECRET_TICKET_SIZE]){0},
			sizeof(nonce));
		restage(*state, "hello@example.com", "hello@example.com");
		*email->nonce = '\0';
		session_begin(session, email->sender, NULL);
		facts_world_ticket(session, email);
		session_header(session, "From", "hello@example.com");
		session_header(session, "X-Postern-Email-Id", email->id);
		if (cases[i].nonce)
			session_header(
				session, "Postern-Nonce", *cases[i].nonce ? cases[i].nonce : nonce);
		facts_read(world->pool, session, &facts);
		assert_true(facts.ticket_found);
		if (facts.verdict.content_matches != cases[i].matches ||
			facts.verdict.trace_matches != cases[i].matches)
			fail_msg("case %zu", i);
		assert_int_equal(verdict_decide(&facts.verdict).reason,
			cases[i].matches ? REASON_TICKET_VALID : REASON_TICKET_MISMATCH);
		assert_int_equal(
			stop_is_own(&facts.verdict, REASON_TICKET_MISMATCH), cases[i].matches);
	}
}

/* A message that carries the id and the nonce of a staged email, and no ticket. */
static enum ticket_state ticket_of_lost(struct facts_world *world)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);
	_cleanup_facts_ struct facts facts;

	session_begin(session, world->email.sender, NULL);
	session_recipient(session, "<a@dst.test>", NULL);
	session_header(session, "From", "hello@example.com");
	session_header(session, TICKET_TRACE_FIELD, world->email.id);
	session_header(session, TICKET_NONCE_FIELD, world->email.nonce);
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.store_failed);
	assert_int_equal(facts.ticket_found, facts.verdict.ticket == TICKET_LOST);
	return facts.verdict.ticket;
}

/* A new ticket may supersede the old one at any moment. So nothing but the row of the email decides
 * that a message has lost its ticket: no other statement that looks for the old ticket. */
static void test_lost(void **state)
{
	struct temp_db *temp = *state;
	struct facts_world *world = facts_world_of(state);

	assert_int_equal(ticket_of_lost(world), TICKET_LOST);
	secret_ticket(world->email.ticket);
	FOUND(store_email_supersede(temp->db, &world->email, &why));
	assert_int_equal(ticket_of_lost(world), TICKET_LOST);
	OK(db_exec(temp->db, "DELETE FROM email_recipient", &why));
	assert_int_equal(ticket_of_lost(world), TICKET_LOST);
	FOUND(store_email_record(temp->db, world->email.ticket, "Q1", 6, &why));
	assert_int_equal(ticket_of_lost(world), TICKET_NONE);
}

/* The ticket has to be the one recipient, however often. */
static void test_recipients(void **state)
{
	static const struct {
		const char *more;
		bool alone;
	} cases[] = {
		{NULL, true},
		{"<x@other.test>", false},
		{"", false},
		{"<>", false},
		{"b@postern.invalid", false},
		{"<00000000000000000000000000000000@postern.invalid>", false},
	};
	struct facts_world *world = facts_world_of(state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int first = 0; first < 2; first++) {
			_cleanup_(milter_session) struct milter_session *session = session_new(
				ORIGIN_LOCAL, NULL, false);
			_cleanup_facts_ struct facts facts;

			session_begin(session, world->email.sender, NULL);
			if (cases[i].more && first)
				session_recipient(session, cases[i].more, NULL);
			facts_world_ticket(session, &world->email);
			facts_world_ticket(session, &world->email);
			if (cases[i].more && !first)
				session_recipient(session, cases[i].more, NULL);
			facts_read(world->pool, session, &facts);
			assert_true(facts.verdict.ticket != TICKET_NONE);
			if (facts.verdict.ticket_alone != cases[i].alone)
				fail_msg("%s", cases[i].more);
		}
}

/* Who may hand in tickets: sendmail(1), the service on a Unix-domain socket,
 * and by TCP where httpd does so. */
static void test_ways(void **state)
{
	static const struct {
		enum mail_origin origin;
		const char *client, *login;
		bool by_tcp, submitted;
	} cases[] = {
		{ORIGIN_LOCAL, NULL, NULL, false, true},
		{ORIGIN_INTERNAL, NULL, NULL, false, true},
		{ORIGIN_INTERNAL, NULL, "bob", false, false},
		{ORIGIN_INTERNAL, "127.0.0.1", NULL, false, false},
		{ORIGIN_INTERNAL, "127.0.0.1", NULL, true, true},
		{ORIGIN_INTERNAL, "127.0.0.1", "bob", true, false},
		{ORIGIN_EXTERNAL, "192.0.2.1", NULL, false, false},
		{ORIGIN_EXTERNAL, "192.0.2.1", NULL, true, false},
		{ORIGIN_EXTERNAL, "192.0.2.1", "bob", true, false},
	};
	struct facts_world *world = facts_world_of(state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(milter_session) struct milter_session *session = session_new(
			cases[i].origin, cases[i].client, cases[i].by_tcp);
		_cleanup_facts_ struct facts facts;

		session_begin(session, world->email.sender, cases[i].login);
		facts_world_ticket(session, &world->email);
		session_header(session, "From", "hello@example.com");
		facts_read(world->pool, session, &facts);
		if (facts.verdict.ticket_submitted != cases[i].submitted ||
			facts.ticket_found != cases[i].submitted)
			fail_msg("%zu", i);
		assert_int_equal(verdict_decide(&facts.verdict).action,
			cases[i].submitted ? VERDICT_RECORD : VERDICT_REFUSE);
	}
}

static bool from_matches(struct facts_world *world, const char *from)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);
	_cleanup_facts_ struct facts facts;

	session_begin(session, "hello@example.com", NULL);
	facts_world_ticket(session, &world->email);
	session_header(session, "From", from);
	facts_read(world->pool, session, &facts);
	assert_true(facts.ticket_found);
	return facts.verdict.content_matches;
}

static void test_from(void **state)
{
	static const struct {
		const char *staged, *from;
		bool matches;
	} cases[] = {
		{"hello@example.com", "hello@example.com", true},
		{"hello@example.com", "<hello@example.com>", true},
		{"hello@example.com", "Acme <hello@example.com>", true},
		{"Acme <hello@example.com>", "hello@example.com", true},
		{"Acme <hello@example.com>", "\"Acme, Inc.\" <hello@example.com>", true},
		{"Jörg <hello@example.com>",
			"=?UTF-8?Q?J=C3=B6rg?=\n\t=?UTF-8?Q?_x?=\n"
			" <hello@example.com>",
			true},
		{"Jörg <hello@example.com>",
			"=?utf-8?b?SsO2cmc=?=\r\n"
			" <hello@example.com>",
			true},
		{"hello@example.com", "hello@EXAMPLE.COM", true},
		{"a <b> c <hello@example.com>", "x <hello@example.com>", true},
		{"\"q u\"@example.com", "x <\"q u\"@example.com>", true},
		{"jörg@example.com", "=?utf-8?q?x?= <jörg@example.com>", true},
		{"hello@example.com", "Hello@example.com", false},
		{"hello@example.com", "ello@example.com", false},
		{"x <hello@example.com>", "ello@example.com", false},
		{"hello@example.com", "hello@example.org", false},
		{"hello@example.com", "hello@example.com, a@other.test", false},
		{"hello@example.com", "hello@example.com, hello@example.com", false},
		{"hello@example.com", "a@other.test <hello@example.com> x", false},
		{"hello@example.com", "x: hello@example.com;", false},
		{"hello@example.com", "hello@example.com (a@other.test)", false},
		{"hello@example.com", "<a@other.test> <hello@example.com>", false},
		{"hello@example.com", "", false},
		{"hello@example.com <a@other.test>", "hello@example.com", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		restage(*state, "hello@example.com", cases[i].staged);
		if (from_matches(facts_world_of(state), cases[i].from) != cases[i].matches)
			fail_msg("%s, staged %s", cases[i].from, cases[i].staged);
	}
}

/* The value of the From field in a message that Postern has built. */
static char *built_from(const char *from)
{
	_cleanup_mime_message_ struct mime_message message = {0};
	_cleanup_buf_ struct buf out = BUF_INIT;
	char *value, *end;

	OK(addr_parse(from, &message.from, &why));
	message.text = mem_strdup("x");
	message.message_id = mem_strdup("<x@example.com>");
	OK(mime_build(&message, &out, &why));
	value = strstr(out.data, "From: ");
	assert_non_null(value);
	for (end = strchr(value, '\n'); end[1] == ' ' || end[1] == '\t';)
		end = strchr(end + 1, '\n');
	return mem_dup(value + strlen("From:"), (size_t)(end - value) - 5);
}

/* What httpd stages and what it submits has to match, whatever the name. */
static void test_from_as_built(void **state)
{
	static const char *const froms[] = {
		"hello@example.com",
		"Acme <hello@example.com>",
		"\"Acme, Inc. (us)\" <hello@example.com>",
		"\"a \\\"b\\\" <c> \\\\\" <hello@example.com>",
		"Jörg Müßig <hello@example.com>",
		"日本語の名前がとても長いので折り返す必要があります、もっともっと長く <hello@example.com>",
		"A name to be folded at some place, since it is longer than a line <hello@example.com>",
		"\"q u,<>@\"@example.com",
		"Jörg <jörg.müßig@example.com>",
		"x <hello@bücher.example>",
		"=?utf-8?q?x?= <hello@example.com>",
	};

	for (size_t i = 0; i < ARRAY_SIZE(froms); i++) {
		_cleanup_addr_ struct addr addr = {0};
		_cleanup_free_ char *built = built_from(froms[i]);
		_cleanup_free_ char *staged = NULL;

		OK(addr_parse(froms[i], &addr, &why));
		staged = addr_format(&addr);
		restage(*state, "hello@example.com", staged);
		if (!from_matches(facts_world_of(state), built))
			fail_msg("%s, built as %s", staged, built);
	}
}

static void test_number_of_froms(void **state)
{
	struct facts_world *world = facts_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);
	struct facts facts;

	session_begin(session, "hello@example.com", NULL);
	facts_world_ticket(session, &world->email);
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.content_matches);
	facts_clear(&facts);
	session_header(session, "From", "hello@example.com");
	session_header(session, "From", "hello@example.com");
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.content_matches);
	facts_clear(&facts);
}

static void test_tickets(void **state)
{
	static const char *const none[] = {
		"x@postern.invalid", "00000000000000000000000000000000@postern.invalid"};
	struct facts_world *world = facts_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);
	struct facts facts;

	session_begin(session, "a@other.test", NULL);
	session_header(session, "X-Postern-Ticket", world->email.ticket);
	session_header(session, "To", world->email.ticket);
	session_recipient(session, "b@other.test", NULL);
	facts_read(world->pool, session, &facts);
	assert_int_equal(facts.verdict.ticket, TICKET_NONE);
	assert_null(facts.domain);
	facts_clear(&facts);

	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		session_begin(session, "a@other.test", NULL);
		session_recipient(session, none[i], NULL);
		facts_read(world->pool, session, &facts);
		assert_int_equal(facts.verdict.ticket, TICKET_UNKNOWN);
		assert_false(facts.ticket_found);
		assert_int_equal(verdict_decide(&facts.verdict).reason, REASON_TICKET_UNKNOWN);
		facts_clear(&facts);
	}
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(test_##name, facts_world_setup, facts_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(our_own),
		TEST(states),
		TEST(sender),
		TEST(nonce),
		TEST(lost),
		TEST(recipients),
		TEST(ways),
		TEST(from),
		TEST(from_as_built),
		TEST(number_of_froms),
		TEST(tickets),
	};

	assert_int_equal(secret_init(), 0);
	mime_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
