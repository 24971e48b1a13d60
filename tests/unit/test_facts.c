/*
 * facts: what the milter learns of a message, from a real store.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/mail/mime_build.h"
#include "core/policy/recipient_set.h"
#include "core/store/store_domain.h"
#include "core/store/store_exemption.h"
#include "milter/facts.h"
#include "milter/sources.h"
#include "tests/unit/temp_db.h"

struct world {
	struct temp_tenant acme; /* example.com */
	struct email email;      /* staged: hello@example.com */
	struct db_pool *pool;
};

static int setup(void **state)
{
	struct world *world = mem_new(struct world);
	struct temp_db *temp;

	temp_db_setup(state);
	temp = *state;
	temp->more = world;
	temp_db_tenant(temp->db, "Acme", "example.com", &world->acme);
	temp_db_email(&world->acme, &world->email);
	OK(store_email_stage(temp->db, &world->email, &why));
	world->pool = db_pool_new(temp->path, 2);
	return 0;
}

static int teardown(void **state)
{
	struct world *world = ((struct temp_db *)*state)->more;

	db_pool_free(world->pool);
	store_email_clear(&world->email);
	return temp_db_teardown(state);
}

static struct world *world_of(void **state)
{
	return ((struct temp_db *)*state)->more;
}

/* The message that httpd would have submitted. */
static struct session *begin(struct world *world, enum mail_origin origin)
{
	struct session *session = session_new(origin, NULL);

	session_begin(session, world->email.sender, NULL);
	session_header(session, "X-Postern-Ticket", world->email.ticket);
	session_header(session, "From", "Acme <hello@example.com>");
	return session;
}

static void test_our_own(void **state)
{
	struct world *world = world_of(state);
	_cleanup_(session) struct session *session = begin(world, ORIGIN_LOCAL);
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
	struct world *world = world_of(state);
	_cleanup_(session) struct session *session = begin(world, ORIGIN_LOCAL);
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
	struct world *world = temp->more;
	struct email *email = &world->email;

	id_new(email->id);
	secret_ticket(email->ticket);
	free(email->sender);
	free(email->from);
	email->sender = mem_strdup(sender);
	email->from = mem_strdup(from);
	OK(store_email_stage(temp->db, email, &why));
}

static bool sender_matches(struct world *world, const char *sender)
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
		if (sender_matches(world_of(state), cases[i].sender) !=
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
	struct world *world = world_of(state);

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
		session = begin(world, ORIGIN_LOCAL);
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
	struct world *world = world_of(state);
	_cleanup_(session) struct session *session = NULL;
	_cleanup_strv_ struct strv staged = STRV_INIT;
	_cleanup_facts_ struct facts facts;

	strv_add(&staged, "a@b.test");
	world->email.recipients = recipient_set_of(&staged);
	restage(*state, "hello@example.com", "hello@example.com");
	session = begin(world, ORIGIN_LOCAL);
	for (int i = 0; i < SESSION_RECIPIENTS + 10; i++)
		session_recipient(session, "a@b.test");
	assert_int_equal(session->message.recipients.len,
		(SESSION_RECIPIENTS + 1) * RECIPIENT_DIGITS);
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.recipients_match);
}

static bool from_matches(struct world *world, const char *from)
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
		if (from_matches(world_of(state), cases[i].from) !=
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
		if (!from_matches(world_of(state), built))
			fail_msg("%s, built as %s", staged, built);
	}
}

static void test_number_of_froms(void **state)
{
	struct world *world = world_of(state);
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
	struct world *world = world_of(state);
	_cleanup_(session) struct session *session = begin(world, ORIGIN_LOCAL);
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

static bool claims(struct world *world, const char *from)
{
	_cleanup_(session) struct session *session = session_new(
		ORIGIN_LOCAL, NULL);
	_cleanup_facts_ struct facts facts;

	session_begin(session, "root@host.test", NULL);
	session_header(session, "From", from);
	facts_read(world->pool, session, &facts);
	assert_false(facts.verdict.store_failed);
	return facts.verdict.claim;
}

/* A company that asks for a domain must not stop the mail of others; once it is
 * registered, active or not, it is protected. */
static void test_asked_for(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = temp->more;
	struct domain domain;

	OK(store_domain_ask(temp->db, world->acme.company_id, "gmail.test", 1,
		&domain, &why));
	assert_false(claims(world, "a@gmail.test"));
	assert_int_equal(store_domain_register(temp->db, domain.id, NULL), 1);
	assert_true(claims(world, "a@gmail.test"));
	assert_int_equal(
		store_domain_set_active(temp->db, domain.id, false, NULL), 1);
	assert_true(claims(world, "a@gmail.test"));
	store_domain_clear(&domain);
}

static void test_claims(void **state)
{
	static const struct {
		const char *sender, *from, *from2, *domain;
	} cases[] = {
		{"a@other.test", "a@other.test", NULL, NULL},
		{"", NULL, NULL, NULL},
		{"root", "root", NULL, NULL},
		{"a@example.com", "a@other.test", NULL, "example.com"},
		{"<a@EXAMPLE.com.>", NULL, NULL, "example.com"},
		{"", "a@example.com", NULL, "example.com"},
		{"", "b@other.test, \"x\" <a@Example.com>", NULL, "example.com"},
		{"", "a@other.test", "a@example.com", "example.com"},
		/* what a reader takes for the sender */
		{"", "\"a@example.com\" <a@other.test>", NULL, "example.com"},
		{"a@sub.example.com", "a@sub.example.com", NULL, NULL},
		{"a@notexample.com", "a@notexample.com", NULL, NULL},
	};
	struct world *world = world_of(state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(session) struct session *session = session_new(
			ORIGIN_INTERNAL, NULL);
		_cleanup_facts_ struct facts facts;

		session_begin(session, cases[i].sender, NULL);
		if (cases[i].from)
			session_header(session, "From", cases[i].from);
		if (cases[i].from2)
			session_header(session, "From", cases[i].from2);
		facts_read(world->pool, session, &facts);
		if ((facts.verdict.claim != CLAIM_NONE) !=
			(cases[i].domain != NULL))
			fail_msg("%s, %s: claim is %d", cases[i].sender,
				cases[i].from, facts.verdict.claim);
		if (cases[i].domain)
			assert_string_equal(facts.domain, cases[i].domain);
		else
			assert_null(facts.domain);
	}
}

/* Every way in which a message can be said to come from someone. */
static void test_sources(void **state)
{
	static const struct {
		const char *sender, *resolved, *from, *name, *value;
		enum domain_claim claim;
		bool unclear;
	} cases[] = {
		{"a@o.test", NULL, "a@o.test", "Sender", "x@example.com",
			CLAIM_EXCLUSIVE, false},
		{"a@o.test", NULL, "a@o.test", "Resent-From", "x@example.com",
			CLAIM_EXCLUSIVE, false},
		{"a@o.test", NULL, "a@o.test", "Resent-Sender", "x@example.com",
			CLAIM_EXCLUSIVE, false},
		{"a@o.test", NULL, "a@o.test", "Reply-To", "x@example.com",
			CLAIM_NONE, false},
		{"a@o.test", NULL, "a@o.test", "X-From", "x@example.com",
			CLAIM_NONE, false},
		{"a", "a@example.com", "a@o.test", "X", "", CLAIM_EXCLUSIVE,
			false},
		{"a%example.com", NULL, "a@o.test", "X", "", CLAIM_EXCLUSIVE,
			false},
		{"\"a@example.com\"", NULL, "a@o.test", "X", "",
			CLAIM_EXCLUSIVE, false},
		{"a@o.test", "a@o.test", "a@o.test, b@p.test", "X", "",
			CLAIM_NONE, true},
		{"a@o.test", NULL, "a@o.test", "From", "a@o.test", CLAIM_NONE,
			true},
		{"a@o.test", NULL, "a@o.test", "Sender",
			"a@o.test, x@example.com", CLAIM_EXCLUSIVE, true},
	};
	struct world *world = world_of(state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(session) struct session *session = session_new(
			ORIGIN_INTERNAL, NULL);
		_cleanup_facts_ struct facts facts;

		session_begin(session, cases[i].sender, NULL);
		session_resolved(session, cases[i].resolved);
		session_header(session, "From", cases[i].from);
		session_header(session, cases[i].name, cases[i].value);
		facts_read(world->pool, session, &facts);
		if (facts.verdict.claim != cases[i].claim ||
			facts.verdict.from_unclear != cases[i].unclear)
			fail_msg("case %zu: claim %d, unclear %d", i,
				facts.verdict.claim, facts.verdict.from_unclear);
	}
}

static void exempt(
	struct temp_db *temp, enum exemption_kind kind, const char *value)
{
	const struct exemption_spec spec = {"example.com", kind, value};
	struct exemption exemption;

	OK(store_exemption_add(temp->db, &spec, 1, &exemption, &why));
	store_exemption_clear(&exemption);
}

/* Policies and exemptions, and what no exemption covers. */
static void test_rules(void **state)
{
	static const struct {
		const char *client, *login, *sender, *from, *other;
		enum domain_claim claim; /* under the policy exclusive */
	} cases[] = {
		{NULL, NULL, "a@o.test", "a@o.test", NULL, CLAIM_NONE},
		{NULL, NULL, "a@example.com", "a@example.com", NULL,
			CLAIM_EXCLUSIVE},
		{"10.1.1.1", NULL, "a@example.com", "a@example.com", NULL,
			CLAIM_EXEMPT},
		{"10.1.1.1", NULL, "a@example.com", "a@example.com, b@o.test",
			NULL, CLAIM_EXCLUSIVE},
		{"10.2.1.1", NULL, "a@example.com", "a@example.com", NULL,
			CLAIM_EXCLUSIVE},
		{NULL, "bob", "a@example.com", "\"x@example.com\" <a@o.test>",
			NULL, CLAIM_EXEMPT},
		{NULL, "eve", "a@example.com", "a@o.test", NULL, CLAIM_EXCLUSIVE},
		{NULL, NULL, "root@example.com", "root@example.com", NULL,
			CLAIM_EXEMPT},
		{NULL, NULL, "root@example.com", "boss@example.com", NULL,
			CLAIM_EXCLUSIVE},
		{NULL, NULL, "root@example.com",
			"\"boss@example.com\" <root@example.com>", NULL,
			CLAIM_EXCLUSIVE},
		{NULL, NULL, "root@example.com", "root@example.com",
			"boss@example.com", CLAIM_EXCLUSIVE},
		{NULL, NULL, "root@example.com", "root@example.com",
			"root@example.com", CLAIM_EXEMPT},
		{NULL, NULL, "root@example.com", "root@example.com (Cron)",
			NULL, CLAIM_EXEMPT},
		{NULL, NULL, "", "root@example.com", NULL, CLAIM_EXCLUSIVE},
	};
	struct temp_db *temp = *state;
	struct world *world = world_of(state);

	exempt(temp, EXEMPT_CLIENT, "10.1.0.0/16");
	exempt(temp, EXEMPT_LOGIN, "bob");
	exempt(temp, EXEMPT_SENDER, "root@example.com");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(session) struct session *session = session_new(
			ORIGIN_INTERNAL, cases[i].client);
		_cleanup_facts_ struct facts facts;

		session_begin(session, cases[i].sender, cases[i].login);
		session_header(session, "From", cases[i].from);
		if (cases[i].other)
			session_header(session, "Sender", cases[i].other);
		facts_read(world->pool, session, &facts);
		if (facts.verdict.claim != cases[i].claim)
			fail_msg("case %zu: claim %d", i, facts.verdict.claim);
	}
}

/* The strictest of several claims, and what a ticket covers. */
static void test_several_claims(void **state)
{
	static const struct {
		const char *from2, *policy;
		enum domain_claim claim;
		bool other;
	} cases[] = {
		{"x@example.com", "exclusive", CLAIM_EXCLUSIVE, false},
		{"x@b.test", "exclusive", CLAIM_EXCLUSIVE, true},
		{"x@b.test", "learn", CLAIM_EXCLUSIVE, true},
		{"x@b.test", "shared", CLAIM_EXCLUSIVE, false},
		{"x@o.test", "shared", CLAIM_EXCLUSIVE, false},
	};
	struct temp_db *temp = *state;
	struct world *world = world_of(state);
	struct temp_tenant other;

	temp_db_tenant(temp->db, "Other", "b.test", &other);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(session) struct session *session = begin(
			world, ORIGIN_LOCAL);
		_cleanup_free_ char *sql = mem_printf(
			"UPDATE domain SET policy = '%s' WHERE name = 'b.test'",
			cases[i].policy);
		_cleanup_facts_ struct facts facts;

		OK(db_exec(temp->db, sql, &why));
		session_header(session, "Sender", cases[i].from2);
		facts_read(world->pool, session, &facts);
		assert_string_equal(facts.domain, "example.com");
		if (facts.verdict.claim != cases[i].claim ||
			facts.verdict.other_claim != cases[i].other)
			fail_msg("case %zu: claim %d, other %d", i,
				facts.verdict.claim, facts.verdict.other_claim);
	}
}

/* Nothing is asked about mail from elsewhere; the pool leads nowhere. */
static void test_external_needs_no_store(void **state)
{
	struct world *world = world_of(state);
	_cleanup_(session) struct session *session = begin(
		world, ORIGIN_EXTERNAL);
	_cleanup_(db_pool) struct db_pool *nowhere = db_pool_new(
		"/nonexistent/postern.db", 1);
	struct facts facts;

	facts_read(nowhere, session, &facts);
	assert_false(facts.verdict.store_failed);
	assert_int_equal(facts.verdict.origin, ORIGIN_EXTERNAL);
	assert_int_equal(verdict_decide(&facts.verdict).action, VERDICT_PASS);
	facts_clear(&facts);

	session_begin(session, "hello@example.com", "bob");
	facts_read(nowhere, session, &facts);
	assert_int_equal(facts.verdict.origin, ORIGIN_LOGIN);
	assert_true(facts.verdict.store_failed);
	assert_int_equal(verdict_decide(&facts.verdict).action, VERDICT_TEMPFAIL);
	assert_true(strlen(facts.err.text) > 0);
	facts_clear(&facts);
}

static void test_broken_store(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = world_of(state);
	_cleanup_(session) struct session *session = begin(world, ORIGIN_LOCAL);
	static const char *const faults[][2] = {
		{"ALTER TABLE email RENAME TO gone",
			"ALTER TABLE gone RENAME TO email"},
		{"ALTER TABLE domain RENAME TO gone",
			"ALTER TABLE gone RENAME TO domain"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		struct facts facts;

		OK(db_exec(temp->db, faults[i][0], &why));
		facts_read(world->pool, session, &facts);
		assert_true(facts.verdict.store_failed);
		assert_true(facts.err.code != ERR_NONE);
		facts_clear(&facts);
		OK(db_exec(temp->db, faults[i][1], &why));
		facts_read(world->pool, session, &facts);
		assert_false(facts.verdict.store_failed);
		assert_int_equal(
			verdict_decide(&facts.verdict).action, VERDICT_RECORD);
		facts_clear(&facts);
	}
}

static void add_froms(struct session *session, int n)
{
	for (int i = 0; i < n; i++)
		session_header(session, "From", "a@other.test");
}

static enum verdict_reason reason_of(
	struct world *world, const struct session *session)
{
	_cleanup_facts_ struct facts facts;

	facts_read(world->pool, session, &facts);
	return verdict_decide(&facts.verdict).reason;
}

static void test_too_many_fields(void **state)
{
	struct world *world = world_of(state);
	_cleanup_(session) struct session *session = session_new(
		ORIGIN_INTERNAL, NULL);

	session_begin(session, "", NULL);
	add_froms(session, SESSION_SENDER_FIELDS);
	assert_int_equal(reason_of(world, session), REASON_NOT_CLAIMED);
	add_froms(session, 1);
	assert_int_equal(reason_of(world, session), REASON_TOO_MANY_FIELDS);

	session_begin(session, "", NULL);
	for (int i = 0; i < SESSION_TICKET_FIELDS; i++)
		session_header(session, "X-Postern-Ticket", "x");
	assert_int_equal(reason_of(world, session), REASON_NOT_CLAIMED);
	session_header(session, "X-Postern-Ticket", "x");
	assert_int_equal(reason_of(world, session), REASON_TOO_MANY_FIELDS);

	session_begin(session, "", NULL);
	for (int i = 0; i <= SESSION_TRACE_FIELDS; i++)
		session_header(session, "X-Postern-Email-Id", "x");
	assert_int_equal(reason_of(world, session), REASON_NOT_CLAIMED);
	session_header(session, "X-Postern-Ticket", "x");
	assert_int_equal(reason_of(world, session), REASON_TOO_MANY_FIELDS);
}

static void test_too_many_domains(void **state)
{
	struct world *world = world_of(state);
	_cleanup_(session) struct session *session = session_new(
		ORIGIN_INTERNAL, NULL);
	_cleanup_buf_ struct buf value = BUF_INIT;

	for (int i = 0; i < SOURCES_DOMAINS; i++)
		buf_printf(&value, "%sa@d%d.test", i ? ", " : "", i);
	session_begin(session, "", NULL);
	session_header(session, "From", value.data);
	assert_int_equal(reason_of(world, session), REASON_NOT_CLAIMED);
	session_header(session, "From", "a@example.com");
	assert_int_equal(reason_of(world, session), REASON_TOO_MANY_FIELDS);
}

/* From fields of mail from elsewhere do not matter, its tickets do: they have
 * to be taken off. */
static void test_too_many_from_elsewhere(void **state)
{
	struct world *world = world_of(state);
	_cleanup_(session) struct session *session = session_new(
		ORIGIN_EXTERNAL, NULL);

	session_begin(session, "", NULL);
	add_froms(session, SESSION_SENDER_FIELDS + 1);
	assert_int_equal(reason_of(world, session), REASON_EXTERNAL);
	for (int i = 0; i <= SESSION_TICKET_FIELDS; i++)
		session_header(session, "X-Postern-Ticket", "x");
	assert_int_equal(reason_of(world, session), REASON_TOO_MANY_FIELDS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_our_own),
		TEST(test_states),
		TEST(test_sender),
		TEST(test_recipients),
		TEST(test_endless_recipients),
		TEST(test_from),
		TEST(test_from_as_built),
		TEST(test_number_of_froms),
		TEST(test_tickets),
		TEST(test_claims),
		TEST(test_sources),
		TEST(test_rules),
		TEST(test_several_claims),
		TEST(test_asked_for),
		TEST(test_external_needs_no_store),
		TEST(test_broken_store),
		TEST(test_too_many_fields),
		TEST(test_too_many_domains),
		TEST(test_too_many_from_elsewhere),
	};

	assert_int_equal(secret_init(), 0);
	mime_build_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
