/*
 * record: what is in the store after each decision of the milter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "milter/apply.h"
#include "tests/unit/facts_world.h"
#include "tests/unit/service_world.h"

/* A message up to its end, with this ticket, if any. */
static struct milter_session *message(const struct service_world *world, const char *ticket)
{
	struct milter_session *session = session_new(ORIGIN_LOCAL, NULL, false);

	session_begin(session, world->email.sender, "joe");
	if (ticket) {
		struct email email = world->email;

		*stpncpy(email.ticket, ticket, SECRET_TICKET_SIZE - 1) = '\0';
		facts_world_ticket(session, &email);
	}
	session_queue_id(session, "4F2A");
	return session;
}

static const struct facts first; /* the email is staged, and nobody is suppressed */

/* record_sent(), and a ticket of which nothing is known, or not any more. */
static void test_sent(void **state)
{
	struct service_world *world = service_world_of(state);
	struct temp_db *temp = *state;
	_cleanup_(milter_session) struct milter_session *own = message(world, world->email.ticket);
	_cleanup_(milter_session) struct milter_session *forged = message(
		world, "00000000000000000000000000000000");
	const struct facts again = {.ticket.state = EMAIL_SENT};
	_cleanup_free_ char *queue_id = NULL;
	struct err err = ERR_INIT;

	OK(record_sent(world->service, own, &first, &why));
	service_world_assert_email(state, EMAIL_SENT);
	OK(record_sent(world->service, own, &again, &why));
	service_world_assert_email(state, EMAIL_SENT);
	/* Two messages were judged at the same time. */
	assert_int_equal(record_sent(world->service, own, &first, &err), -1);
	assert_int_equal(err.code, ERR_TEMPORARY);
	queue_id = temp_db_text(temp->db, "SELECT queue_id FROM email");
	assert_string_equal(queue_id, "4F2A");
	assert_int_equal(record_sent(world->service, forged, &first, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

static int refuse(const struct service_world *world, const struct milter_session *session,
	const struct record_refusal *refusal, struct err *err)
{
	struct facts facts = {.domain = (char[]){"example.com"}};

	memcpy(facts.ticket.ticket, session->message.ticket, sizeof(facts.ticket.ticket));
	return record_refused(world->service, session, &facts, refusal, err);
}

/* What was refused stays so. */
static void test_own_refused(void **state)
{
	static const struct record_refusal refusal = {.reason = REASON_KEY_INVALID, .own = true};
	struct service_world *world = service_world_of(state);
	struct temp_db *temp = *state;
	_cleanup_(milter_session) struct milter_session *own = message(world, world->email.ticket);
	_cleanup_free_ char *told = NULL;
	struct err err = ERR_INIT;

	OK(refuse(world, own, &refusal, &why));
	service_world_assert_email(state, EMAIL_REFUSED);
	told = temp_db_text(temp->db, "SELECT refusal FROM email");
	assert_string_equal(told, verdict_reason_text(REASON_KEY_INVALID));
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM refusal"), 0);
	assert_int_equal(record_sent(world->service, own, &first, &err), -1);
	assert_int_equal(err.code, ERR_NOT_FOUND);
}

/* A message that is not the email of its ticket is noted, with all that is
 * known of it, and the email is left alone. */
static void test_other_refused(void **state)
{
	static const char sql_note[] =
		"SELECT format('%s %s %s %s %s %s %s', outcome, reason, domain,"
		" origin, login, sender, queue_id) FROM refusal";
	static const struct record_refusal refusal = {
		.reason = REASON_NO_TICKET, .outcome = REFUSAL_HELD};
	struct service_world *world = service_world_of(state);
	struct temp_db *temp = *state;
	_cleanup_(milter_session) struct milter_session *other = message(
		world, world->email.ticket);
	_cleanup_free_ char *noted = NULL;

	OK(refuse(world, other, &refusal, &why));
	service_world_assert_email(state, EMAIL_STAGED);
	noted = temp_db_text(temp->db, sql_note);
	assert_string_equal(noted, "held no_ticket example.com login joe hello@example.com 4F2A");
}

/* How the From of a message is noted. */
static void test_from(void **state)
{
	static const struct {
		const char *fields[2];
		const char *noted;
	} cases[] = {
		{{NULL}, ""},
		{{"a@x.test"}, "a@x.test"},
		{{"Joe <a@x.test>"}, "a@x.test"},
		{{"Joe\n <a@x.test>"}, "a@x.test"},
		{{"no address at all <"}, "no address at all <"},
		{{"Joe <a@x.test>", "b@x.test"}, "Joe <a@x.test>"},
	};
	static const struct record_refusal refusal = {0};
	struct service_world *world = service_world_of(state);
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(milter_session) struct milter_session *session = message(world, NULL);
		_cleanup_free_ char *noted = NULL;

		for (size_t n = 0; n < 2 && cases[i].fields[n]; n++)
			session_header(session, "From", cases[i].fields[n]);
		OK(db_exec(temp->db, "DELETE FROM refusal", &why));
		OK(refuse(world, session, &refusal, &why));
		noted = temp_db_text(temp->db, "SELECT header_from FROM refusal");
		assert_string_equal(noted, cases[i].noted);
	}
}

/* No more notes are kept than the settings say, and a few. */
static void test_notes_are_bounded(void **state)
{
	static const struct record_refusal refusal = {0};
	struct service_world *world = service_world_of(state);
	struct temp_db *temp = *state;

	world->conf->milter.refusals_kept = 10;
	service_world_reload(world);
	for (int i = 0; i < 400; i++) {
		_cleanup_(milter_session) struct milter_session *session = message(world, NULL);
		_cleanup_free_ char *from = mem_printf("a%d@x.test", i);

		session_header(session, "From", from);
		OK(refuse(world, session, &refusal, &why));
	}
	/* One note in sixteen, by chance, takes old ones away. */
	assert_in_range(temp_db_number(temp->db, "SELECT count(*) FROM refusal"), 10, 250);
}

/* Half of a refusal is none: the email stays staged when the note beside it
 * cannot be written, and so does all else. */
static void test_store_fails(void **state)
{
	static const struct record_refusal other = {.outcome = REFUSAL_HELD};
	static const struct record_refusal own = {.own = true};
	struct service_world *world = service_world_of(state);
	struct temp_db *temp = *state;
	_cleanup_(milter_session) struct milter_session *session = message(
		world, world->email.ticket);
	struct err err = ERR_INIT;

	temp_db_forbid(temp->db, "UPDATE", "email");
	temp_db_forbid(temp->db, "INSERT", "refusal");
	assert_int_equal(record_sent(world->service, session, &first, &err), -1);
	assert_int_equal(refuse(world, session, &own, &err), -1);
	assert_int_equal(refuse(world, session, &other, &err), -1);
	service_world_assert_email(state, EMAIL_STAGED);
}

int main(void)
{
#define TEST(name)                                                                                 \
	cmocka_unit_test_setup_teardown(test_##name, service_world_setup, service_world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(sent),
		TEST(own_refused),
		TEST(other_refused),
		TEST(from),
		TEST(notes_are_bounded),
		TEST(store_fails),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
