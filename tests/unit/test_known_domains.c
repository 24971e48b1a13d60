/*
 * known_domains: which names the copy excludes, how long, and what mail passes by it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "milter/facts.h"
#include "tests/unit/facts_world.h"

enum { HOUR_MS = 60 * 60 * 1000, MANY = 3000, AT_ONCE = 300 };

static bool excludes(struct known_domains *known, const char *name, int64_t max_age_ms)
{
	_cleanup_strv_ struct strv names = STRV_INIT;

	strv_add(&names, "stranger.test");
	strv_add(&names, name);
	return known_domains_exclude(known, &names, max_age_ms);
}

/* example.com is registered in the world. */
static void test_names(void **state)
{
	static const char *const sql[] = {
		"UPDATE domain SET subdomains = 'own'",
		"INSERT INTO domain (id, company_id, name, active, pending, created_us, policy,"
		" subdomains) SELECT '9b6f7a3e-6f1b-4d0c-a8b5-2f0f6f8b7a11', company_id, 'covered.test', 1, 0, 1,"
		" 'shared', 'covered' FROM domain",
	};
	static const struct {
		const char *name;
		bool excluded;
	} cases[] = {
		{"other.test", true},
		{"example.com", false},
		{"mail.example.com", true},
		{"xexample.com", true},
		{"com", true},
		{"covered.test", false},
		{"a.covered.test", false},
		{"a.b.covered.test", false},
		{"uncovered.test", true},
		{"test", true},
		{"", true},
	};
	struct temp_db *temp = *state;
	_cleanup_(known_domains) struct known_domains *known = known_domains_new(
		facts_world_of(state)->pool);

	for (size_t i = 0; i < ARRAY_SIZE(sql); i++)
		OK(db_exec(temp->db, sql[i], &why));
	assert_false(excludes(known, "other.test", HOUR_MS)); /* it was never read */
	OK(known_domains_refresh(known, &why));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (excludes(known, cases[i].name, HOUR_MS) != cases[i].excluded)
			fail_msg("%s", cases[i].name);
	assert_false(excludes(known, "other.test", 0));

	OK(db_exec(temp->db,
		"UPDATE domain SET active = 0, pending = 1 WHERE name = 'covered.test'", &why));
	assert_false(excludes(known, "covered.test", HOUR_MS));
	OK(known_domains_refresh(known, &why));
	assert_true(excludes(known, "covered.test", HOUR_MS));
}

/* In pieces: a transaction counts its company's domains in one row, and PostgreSQL keeps each
 * version of that row until the transaction ends. */
static void add_domains(struct db *db)
{
	for (int from = 1; from <= MANY; from += AT_ONCE) {
		_cleanup_free_ char *sql = mem_printf(
			"WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
			" INSERT INTO domain (id, company_id, name, active, pending, created_us, policy,"
			" subdomains) SELECT '9b6f7a3e-6f1b-4d0c-a8b5-' || CAST(100000000000 + i AS TEXT),"
			" d.company_id, 'd' || CAST(i AS TEXT) || '.test', 1, 0, 1, 'exclusive', 'covered'"
			" FROM n, domain d WHERE d.name = 'example.com'",
			from, from + AT_ONCE - 1);

		OK(db_exec(db, sql, &why));
	}
}

static void test_many(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(known_domains) struct known_domains *known = known_domains_new(
		facts_world_of(state)->pool);

	add_domains(temp->db);
	OK(known_domains_refresh(known, &why));
	assert_false(excludes(known, "d1.test", HOUR_MS));
	assert_false(excludes(known, "x.d2999.test", HOUR_MS));
	assert_true(excludes(known, "d3001.test", HOUR_MS));
}

/* What a refresh that fails leaves. */
static void test_broken_store(void **state)
{
	struct temp_db *temp = *state;
	_cleanup_(known_domains) struct known_domains *known = known_domains_new(
		facts_world_of(state)->pool);
	struct err err = ERR_INIT;

	OK(known_domains_refresh(known, &why));
	OK(db_exec(temp->db, "ALTER TABLE domain RENAME TO gone", &why));
	assert_int_equal(known_domains_refresh(known, &err), -1);
	assert_true(excludes(known, "other.test", HOUR_MS));
	assert_false(excludes(known, "example.com", HOUR_MS));
	OK(db_exec(temp->db, "ALTER TABLE gone RENAME TO domain", &why));
}

/* A message while the store cannot be read. */
static void test_messages(void **state)
{
	static const struct {
		const char *sender, *from, *other, *trace;
		enum verdict_action action;
	} cases[] = {
		{"a@other.test", "a@other.test", NULL, NULL, VERDICT_PASS},
		{"", "a@other.test", NULL, NULL, VERDICT_PASS},
		{"a@other.test", "A <a@other.test>, b@third.test", NULL, NULL, VERDICT_PASS},
		{"a@example.com", "a@other.test", NULL, NULL, VERDICT_TEMPFAIL},
		{"a@other.test", "a@EXAMPLE.com", NULL, NULL, VERDICT_TEMPFAIL},
		{"a@other.test", "a@other.test", "a@example.com", NULL, VERDICT_TEMPFAIL},
		{"a@other.test", "\"a@example.com\" <a@other.test>", NULL, NULL, VERDICT_TEMPFAIL},
		{"a@other.test", "a@other.test", NULL, "0b6f7a3e-6f1b-4d0c-a8b5-2f0f6f8b7a11",
			VERDICT_TEMPFAIL},
	};
	struct temp_db *temp = *state;
	struct facts_world *world = facts_world_of(state);
	_cleanup_(known_domains) struct known_domains *known = known_domains_new(world->pool);
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_LOCAL, NULL, true);

	OK(known_domains_refresh(known, &why));
	OK(db_exec(temp->db, "ALTER TABLE domain RENAME TO gone", &why));
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct facts facts;

		session_begin(session, cases[i].sender, NULL);
		session_header(session, "From", cases[i].from);
		if (cases[i].other)
			session_header(session, "Sender", cases[i].other);
		if (cases[i].trace)
			session_header(session, "X-Postern-Email-Id", cases[i].trace);
		facts_read(world->pool, session, &facts);
		assert_true(facts.verdict.store_failed);
		facts_read_known(known, HOUR_MS, session, &facts);
		if (verdict_decide(&facts.verdict).action != cases[i].action)
			fail_msg("case %zu", i);
		facts_clear(&facts);
	}
	OK(db_exec(temp->db, "ALTER TABLE gone RENAME TO domain", &why));
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(test_##name, facts_world_setup, facts_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names),
		TEST(many),
		TEST(broken_store),
		TEST(messages),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
