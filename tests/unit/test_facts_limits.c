/*
 * facts: messages with more than can be checked, and a store that is away.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/buf.h"
#include "milter/facts.h"
#include "tests/unit/facts_world.h"

/* Nothing is asked about mail from elsewhere; the pool leads nowhere. */
static void test_external_needs_no_store(void **state)
{
	struct facts_world *world = facts_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_EXTERNAL, NULL, false);
	_cleanup_(db_pool) struct db_pool *nowhere = db_pool_new("/nonexistent/postern.db", 1);
	struct facts facts;

	session_begin(session, "hello@example.com", NULL);
	session_header(session, "From", "hello@example.com");
	facts_read(nowhere, session, &facts);
	assert_false(facts.verdict.store_failed);
	assert_int_equal(facts.verdict.origin, ORIGIN_EXTERNAL);
	assert_int_equal(verdict_decide(&facts.verdict).action, VERDICT_PASS);
	facts_clear(&facts);

	facts_world_ticket(session, &world->email);
	facts_read(nowhere, session, &facts);
	assert_false(facts.verdict.store_failed);
	assert_int_equal(verdict_decide(&facts.verdict).action, VERDICT_REFUSE);
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
	struct facts_world *world = facts_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = facts_world_begin(
		world, ORIGIN_LOCAL);
	static const char *const faults[][2] = {
		{"ALTER TABLE email RENAME TO gone", "ALTER TABLE gone RENAME TO email"},
		{"ALTER TABLE domain RENAME TO gone", "ALTER TABLE gone RENAME TO domain"},
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
		assert_int_equal(verdict_decide(&facts.verdict).action, VERDICT_RECORD);
		facts_clear(&facts);
	}
}

static void add_froms(struct milter_session *session, int n)
{
	for (int i = 0; i < n; i++)
		session_header(session, "From", "a@other.test");
}

static enum verdict_reason reason_of(
	struct facts_world *world, const struct milter_session *session)
{
	_cleanup_facts_ struct facts facts;

	facts_read(world->pool, session, &facts);
	return verdict_decide(&facts.verdict).reason;
}

static void test_too_many_fields(void **state)
{
	struct facts_world *world = facts_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_INTERNAL, NULL, false);

	session_begin(session, "", NULL);
	add_froms(session, SESSION_SENDER_FIELDS);
	assert_int_equal(reason_of(world, session), REASON_NOT_CLAIMED);
	add_froms(session, 1);
	assert_int_equal(reason_of(world, session), REASON_TOO_MANY_FIELDS);

	session_begin(session, "", NULL);
	for (int i = 0; i <= SESSION_TRACE_FIELDS; i++)
		session_header(session, "X-Postern-Email-Id", "x");
	assert_int_equal(reason_of(world, session), REASON_NOT_CLAIMED);
	facts_world_ticket(session, &world->email);
	assert_int_equal(reason_of(world, session), REASON_TOO_MANY_FIELDS);
}

static void test_too_many_domains(void **state)
{
	struct facts_world *world = facts_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_INTERNAL, NULL, false);
	_cleanup_buf_ struct buf value = BUF_INIT;

	for (int i = 0; i < SOURCES_DOMAINS; i++)
		buf_printf(&value, "%sa@d%d.test", i ? ", " : "", i);
	session_begin(session, "", NULL);
	session_header(session, "From", value.data);
	assert_int_equal(reason_of(world, session), REASON_NOT_CLAIMED);
	session_header(session, "From", "a@example.com");
	assert_int_equal(reason_of(world, session), REASON_TOO_MANY_FIELDS);
}

/* From fields of mail from elsewhere do not matter. */
static void test_too_many_from_elsewhere(void **state)
{
	struct facts_world *world = facts_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = session_new(
		ORIGIN_EXTERNAL, NULL, false);

	session_begin(session, "", NULL);
	add_froms(session, SESSION_SENDER_FIELDS + 1);
	assert_int_equal(reason_of(world, session), REASON_EXTERNAL);
}

#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(test_##name, facts_world_setup, facts_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(external_needs_no_store),
		TEST(broken_store),
		TEST(too_many_fields),
		TEST(too_many_domains),
		TEST(too_many_from_elsewhere),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
