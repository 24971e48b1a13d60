/*
 * facts: which registered domains a message claims, and by which rule.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/mem.h"
#include "core/store/company/store_domain.h"
#include "core/store/company/store_exemption.h"
#include "tests/unit/facts_world.h"

static bool claims(struct facts_world *world, const char *from)
{
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, false);
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
	struct facts_world *world = temp->more;
	struct domain domain;

	OK(store_domain_add(temp->db, world->acme.company_id, "gmail.test",
		&(const struct domain){.pending = true}, 1, &domain, &why));
	assert_false(claims(world, "a@gmail.test"));
	assert_int_equal(temp_db_activate(temp->db, domain.id, true, NULL), 1);
	assert_true(claims(world, "a@gmail.test"));
	assert_int_equal(temp_db_activate(temp->db, domain.id, false, NULL), 1);
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
	struct facts_world *world = facts_world_of(state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(milter_session) struct milter_session *session = session_new(
			ORIGIN_INTERNAL, NULL, false);
		_cleanup_facts_ struct facts facts;

		session_begin(session, cases[i].sender, NULL);
		if (cases[i].from)
			session_header(session, "From", cases[i].from);
		if (cases[i].from2)
			session_header(session, "From", cases[i].from2);
		facts_read(world->pool, session, &facts);
		if ((facts.verdict.claim != CLAIM_NONE) != (cases[i].domain != NULL))
			fail_msg("%s, %s: claim is %d", cases[i].sender, cases[i].from,
				facts.verdict.claim);
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
		{"a@o.test", NULL, "a@o.test", "Sender", "x@example.com", CLAIM_EXCLUSIVE, false},
		{"a@o.test", NULL, "a@o.test", "Resent-From", "x@example.com", CLAIM_EXCLUSIVE,
			false},
		{"a@o.test", NULL, "a@o.test", "Resent-Sender", "x@example.com", CLAIM_EXCLUSIVE,
			false},
		{"a@o.test", NULL, "a@o.test", "Reply-To", "x@example.com", CLAIM_NONE, false},
		{"a@o.test", NULL, "a@o.test", "X-From", "x@example.com", CLAIM_NONE, false},
		{"a", "a@example.com", "a@o.test", "X", "", CLAIM_EXCLUSIVE, false},
		{"a%example.com", NULL, "a@o.test", "X", "", CLAIM_EXCLUSIVE, false},
		{"\"a@example.com\"", NULL, "a@o.test", "X", "", CLAIM_EXCLUSIVE, false},
		{"a@o.test", "a@o.test", "a@o.test, b@p.test", "X", "", CLAIM_NONE, true},
		{"a@o.test", NULL, "a@o.test", "From", "a@o.test", CLAIM_NONE, true},
		{"a@o.test", NULL, "a@o.test", "Sender", "a@o.test, x@example.com", CLAIM_EXCLUSIVE,
			true},
	};
	struct facts_world *world = facts_world_of(state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(milter_session) struct milter_session *session = session_new(
			ORIGIN_INTERNAL, NULL, false);
		_cleanup_facts_ struct facts facts;

		session_begin(session, cases[i].sender, NULL);
		session_resolved(session, cases[i].resolved);
		session_header(session, "From", cases[i].from);
		session_header(session, cases[i].name, cases[i].value);
		facts_read(world->pool, session, &facts);
		if (facts.verdict.claim != cases[i].claim ||
			facts.verdict.from_unclear != cases[i].unclear)
			fail_msg("case %zu: claim %d, unclear %d", i, facts.verdict.claim,
				facts.verdict.from_unclear);
	}
}

static void exempt(struct temp_db *temp, enum exemption_kind kind, const char *value)
{
	const struct exemption_spec spec = {"example.com", kind, value, false};
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
		{NULL, NULL, "a@example.com", "a@example.com", NULL, CLAIM_EXCLUSIVE},
		{"10.1.1.1", NULL, "a@example.com", "a@example.com", NULL, CLAIM_EXEMPT},
		{"10.1.1.1", NULL, "a@example.com", "a@example.com, b@o.test", NULL,
			CLAIM_EXCLUSIVE},
		{"10.2.1.1", NULL, "a@example.com", "a@example.com", NULL, CLAIM_EXCLUSIVE},
		{NULL, "bob", "a@example.com", "\"x@example.com\" <a@o.test>", NULL, CLAIM_EXEMPT},
		{NULL, "eve", "a@example.com", "a@o.test", NULL, CLAIM_EXCLUSIVE},
		{NULL, NULL, "root@example.com", "root@example.com", NULL, CLAIM_EXEMPT},
		{NULL, NULL, "root@example.com", "boss@example.com", NULL, CLAIM_EXCLUSIVE},
		{NULL, NULL, "root@example.com", "\"boss@example.com\" <root@example.com>", NULL,
			CLAIM_EXCLUSIVE},
		{NULL, NULL, "root@example.com", "root@example.com", "boss@example.com",
			CLAIM_EXCLUSIVE},
		{NULL, NULL, "root@example.com", "root@example.com", "root@example.com",
			CLAIM_EXEMPT},
		{NULL, NULL, "root@example.com", "root@example.com (Cron)", NULL, CLAIM_EXEMPT},
		{NULL, NULL, "", "root@example.com", NULL, CLAIM_EXCLUSIVE},
	};
	struct temp_db *temp = *state;
	struct facts_world *world = facts_world_of(state);

	exempt(temp, EXEMPT_CLIENT, "10.1.0.0/16");
	exempt(temp, EXEMPT_LOGIN, "bob");
	exempt(temp, EXEMPT_SENDER, "root@example.com");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(milter_session) struct milter_session *session = session_new(
			ORIGIN_INTERNAL, cases[i].client, false);
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

/* The strictest of several claims; what a message claims besides the domain of its ticket. */
static void test_several_claims(void **state)
{
	static const struct {
		const char *sender, *policy;
		enum domain_claim claim, beside_ticket;
		bool other;
	} cases[] = {
		{"x@example.com", "exclusive", CLAIM_EXCLUSIVE, CLAIM_NONE, false},
		{"x@b.test", "exclusive", CLAIM_EXCLUSIVE, CLAIM_EXCLUSIVE, true},
		{"x@b.test", "learn", CLAIM_EXCLUSIVE, CLAIM_LEARN, true},
		{"x@b.test", "shared", CLAIM_EXCLUSIVE, CLAIM_SHARED, false},
		{"x@o.test", "shared", CLAIM_EXCLUSIVE, CLAIM_NONE, false},
	};
	struct temp_db *temp = *state;
	struct facts_world *world = facts_world_of(state);
	struct temp_tenant other;

	temp_db_tenant(temp->db, "Other", "b.test", &other);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(milter_session) struct milter_session *session = facts_world_begin(
			world, ORIGIN_LOCAL);
		_cleanup_(milter_session) struct milter_session *plain = session_new(
			ORIGIN_LOCAL, NULL, false);
		_cleanup_free_ char *sql = mem_printf(
			"UPDATE domain SET policy = '%s' WHERE name = 'b.test'", cases[i].policy);
		_cleanup_facts_ struct facts facts, plain_facts;

		OK(db_exec(temp->db, sql, &why));
		session_header(session, "Sender", cases[i].sender);
		facts_read(world->pool, session, &facts);
		assert_string_equal(facts.domain, "example.com");
		session_begin(plain, "a@example.com", NULL);
		session_header(plain, "From", "a@example.com");
		session_header(plain, "Sender", cases[i].sender);
		facts_read(world->pool, plain, &plain_facts);
		if (plain_facts.verdict.claim != cases[i].claim ||
			facts.verdict.claim != cases[i].beside_ticket ||
			facts.verdict.other_claim != cases[i].other)
			fail_msg("case %zu: claim %d, %d, other %d", i, plain_facts.verdict.claim,
				facts.verdict.claim, facts.verdict.other_claim);
	}
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(test_##name, facts_world_setup, facts_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(asked_for),
		TEST(claims),
		TEST(sources),
		TEST(rules),
		TEST(several_claims),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
