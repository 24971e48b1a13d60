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

#include "core/mail/mime_build.h"
#include "core/mail/mime_init.h"
#include "core/policy/recipient_set.h"
#include "core/store/store_domain.h"
#include "tests/unit/facts_world.h"

static void test_our_own(void **state)
{
	struct facts_world *world = facts_world_of(state);
	_cleanup_(session) struct session *session = facts_world_begin(
		world, ORIGIN_LOCAL);
	_cleanup_facts_ struct facts facts;

	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.store_failed);
	assert_int_equal(facts.verdict.origin, ORIGIN_LOCAL);
	assert_int_equal(facts.verdict.ticket, TICKET_STAGED);
	assert_int_equal(facts.verdict.claim, CLAIM_EXCLUSIVE);
	assert_true(facts.verdict.one_ticket);
	assert_true(facts.verdict.sender_matches);
	assert_true(facts.verdict.from_matches);
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
	_cleanup_(session) struct session *session = facts_world_begin(
		world, ORIGIN_LOCAL);
	const char *ticket = world->email.ticket;
	struct err err = ERR_INIT;
	struct facts facts;

	assert_int_equal(
		store_email_refuse(temp->db, ticket, "Q1", "No.", 5, &err), 1);
	facts_read(world->pool, session, &facts);
	assert_int_equal(facts.verdict.ticket, TICKET_REFUSED);
	facts_clear(&facts);
	OK(db_exec(temp->db,
		"UPDATE email SET state = 'staged', refusal = NULL", &why));
	assert_int_equal(store_email_record(temp->db, ticket, "Q2", 6, &err), 1);
	facts_read(world->pool, session, &facts);
	assert_int_equal(facts.verdict.ticket, TICKET_SENT);
	facts_clear(&facts);
	assert_int_equal(
		store_key_revoke(temp->db, world->acme.key_id, 7, &err), 1);
	assert_int_equal(store_domain_set_active(
				 temp->db, world->acme.domain_id, false, &err),
		1);
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.key_valid);
	assert_true(facts.verdict.domain_owned);
	assert_false(facts.verdict.domain_active);
	facts_clear(&facts);
	assert_int_equal(
		store_domain_remove(temp->db, world->acme.domain_id, &err), 1);
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
	_cleanup_(session) struct session *session = session_new(
		ORIGIN_LOCAL, NULL);
	_cleanup_facts_ struct facts facts;

	session_begin(session, sender, NULL);
	session_header(session, "X-Postern-Ticket", world->email.ticket);
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
		if (sender_matches(facts_world_of(state), cases[i].sender) !=
			cases[i].matches)
			fail_msg("%s, staged %s", cases[i].sender,
				cases[i].staged);
	}
}

static void test_recipients(void **state)
{
	static const struct {
		const char *staged, *first, *second; /* NULL: none */
		bool matches;
	} cases[] = {
		{NULL, NULL, NULL, true},
		{NULL, "<x@other.test>", NULL, true},
		{"a@b.test", "<a@b.test>", NULL, true},
		{"a@b.test", "a@B.test", NULL, true},
		{"a@b.test", "<x@other.test>", NULL, false},
		{"a@b.test", "<a@b.test>", "<x@other.test>", false},
		{"a@b.test", NULL, NULL, false},
	};
	struct facts_world *world = facts_world_of(state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(session) struct session *session = NULL;
		_cleanup_strv_ struct strv staged = STRV_INIT;
		_cleanup_facts_ struct facts facts;

		strv_split(&staged, cases[i].staged, ' ');
		free(world->email.recipients);
		world->email.recipients = cases[i].staged
						  ? recipient_set_of(&staged)
						  : NULL;
		restage(*state, "hello@example.com", "hello@example.com");
		session = facts_world_begin(world, ORIGIN_LOCAL);
		if (cases[i].first)
			session_recipient(session, cases[i].first);
		if (cases[i].second)
			session_recipient(session, cases[i].second);
		facts_read(world->pool, session, &facts);
		if (facts.verdict.recipients_match != cases[i].matches)
			fail_msg("case %zu", i);
	}
}

/* So many are never staged; what is kept of them is bounded. */
static void test_endless_recipients(void **state)
{
	struct facts_world *world = facts_world_of(state);
	_cleanup_(session) struct session *session = NULL;
	_cleanup_strv_ struct strv staged = STRV_INIT;
	_cleanup_facts_ struct facts facts;

	strv_add(&staged, "a@b.test");
	world->email.recipients = recipient_set_of(&staged);
	restage(*state, "hello@example.com", "hello@example.com");
	session = facts_world_begin(world, ORIGIN_LOCAL);
	for (int i = 0; i < SESSION_RECIPIENTS + 10; i++)
		session_recipient(session, "a@b.test");
	assert_int_equal(session->message.recipients.len,
		(SESSION_RECIPIENTS + 1) * RECIPIENT_DIGITS);
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.recipients_match);
}

static bool from_matches(struct facts_world *world, const char *from)
{
	_cleanup_(session) struct session *session = session_new(
		ORIGIN_LOCAL, NULL);
	_cleanup_facts_ struct facts facts;

	session_begin(session, "hello@example.com", NULL);
	session_header(session, "X-Postern-Ticket", world->email.ticket);
	session_header(session, "From", from);
	facts_read(world->pool, session, &facts);
	assert_true(facts.ticket_found);
	return facts.verdict.from_matches;
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
		{"Acme <hello@example.com>",
			"\"Acme, Inc.\" <hello@example.com>", true},
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
		{"hello@example.com", "hello@example.com, hello@example.com",
			false},
		{"hello@example.com", "a@other.test <hello@example.com> x", false},
		{"hello@example.com", "x: hello@example.com;", false},
		{"hello@example.com", "hello@example.com (a@other.test)", false},
		{"hello@example.com", "<a@other.test> <hello@example.com>", false},
		{"hello@example.com", "", false},
		{"hello@example.com <a@other.test>", "hello@example.com", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		restage(*state, "hello@example.com", cases[i].staged);
		if (from_matches(facts_world_of(state), cases[i].from) !=
			cases[i].matches)
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
		"日本語の名前がとても長いので折り返す必要があります、もっともっ"
		"と長く"
		" <hello@example.com>",
		"A very long name that has to be folded at some place because "
		"it is longer than a line ought to be, and then some "
		"<hello@example.com>",
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
	_cleanup_(session) struct session *session = session_new(
		ORIGIN_LOCAL, NULL);
	struct facts facts;

	session_begin(session, "hello@example.com", NULL);
	session_header(session, "X-Postern-Ticket", world->email.ticket);
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.from_matches);
	facts_clear(&facts);
	session_header(session, "From", "hello@example.com");
	session_header(session, "From", "hello@example.com");
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.from_matches);
	facts_clear(&facts);
}

static void test_tickets(void **state)
{
	struct facts_world *world = facts_world_of(state);
	_cleanup_(session) struct session *session = facts_world_begin(
		world, ORIGIN_LOCAL);
	struct facts facts;

	session_header(session, "X-Postern-Ticket", world->email.ticket);
	facts_read(world->pool, session, &facts);
	assert_int_equal(facts.verdict.ticket, TICKET_STAGED);
	assert_false(facts.verdict.one_ticket);
	facts_clear(&facts);

	session_begin(session, "a@other.test", NULL);
	facts_read(world->pool, session, &facts);
	assert_int_equal(facts.verdict.ticket, TICKET_NONE);
	assert_null(facts.domain);
	facts_clear(&facts);

	session_header(session, "X-Postern-Ticket", "");
	facts_read(world->pool, session, &facts);
	assert_int_equal(facts.verdict.ticket, TICKET_UNKNOWN);
	assert_false(facts.ticket_found);
	facts_clear(&facts);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(                                       \
		test_##name, facts_world_setup, facts_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(our_own),
		TEST(states),
		TEST(sender),
		TEST(recipients),
		TEST(endless_recipients),
		TEST(from),
		TEST(from_as_built),
		TEST(number_of_froms),
		TEST(tickets),
	};

	assert_int_equal(secret_init(), 0);
	mime_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
