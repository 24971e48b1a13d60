/*
 * store_email: the facts behind a ticket, and the milter's decisions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/str.h"
#include "core/store/row.h"
#include "core/store/company/store_domain.h"
#include "tests/unit/temp_db.h"

struct scene {
	struct temp_tenant tenant, other;
	struct email email;
};

static int setup(void **state)
{
	struct temp_db *temp;
	struct scene *scene = mem_new(struct scene);

	temp_db_setup(state);
	temp = *state;
	temp->more = scene;
	temp_db_tenant(temp->db, "One", "one.test", &scene->tenant);
	temp_db_tenant(temp->db, "Other", "other.test", &scene->other);
	temp_db_email(&scene->tenant, &scene->email);
	OK(store_email_stage(temp->db, &scene->email, &why));
	return 0;
}

static int teardown(void **state)
{
	struct temp_db *temp = *state;
	struct scene *scene = temp->more;

	store_email_clear(&scene->email);
	return temp_db_teardown(state);
}

static void test_ticket(void **state)
{
	struct temp_db *temp = *state;
	const struct email *email = &((struct scene *)temp->more)->email;
	struct email_ticket ticket = {0};

	assert_int_equal(store_email_ticket(temp->db, "none", &ticket, NULL), 0);
	assert_null(ticket.domain);
	assert_int_equal(store_email_ticket(temp->db, email->id, &ticket, NULL), 0);

	assert_int_equal(store_email_ticket(temp->db, email->ticket, &ticket, NULL), 1);
	assert_string_equal(ticket.id, email->id);
	assert_string_equal(ticket.company_id, email->company_id);
	assert_string_equal(ticket.key_id, email->key_id);
	assert_string_equal(ticket.domain, email->domain);
	assert_string_equal(ticket.sender, email->sender);
	assert_string_equal(ticket.from, email->from);
	assert_int_equal(ticket.state, EMAIL_STAGED);
	store_email_ticket_clear(&ticket);
}

/* An email that Postfix has already: as if it had been staged and recorded. */
static void test_add_sent(void **state)
{
	static const char sql_same[] =
		"SELECT (a.state, a.decided_us, a.queue_id, a.last_event, a.closed)"
		" = (b.state, b.decided_us, b.queue_id, b.last_event, b.closed)"
		" AND (SELECT count FROM open_count WHERE last_event = 'sent') = 2"
		" AND (SELECT count FROM open_count WHERE last_event = 'staged') = 0"
		" FROM email a, email b"
		" WHERE a.seq = $a AND b.seq = $b";
	struct temp_db *temp = *state;
	struct scene *scene = temp->more;
	struct email *email = &scene->email, added;
	int64_t same;

	temp_db_email(&scene->tenant, &added);
	added.created_us = email->created_us + 1;
	assert_int_equal(
		store_email_record(temp->db, email->ticket, "4cXyZ", added.created_us, NULL), 1);
	OK(store_email_add_sent(temp->db, &added, "4cXyZ", &why));
	assert_int_not_equal(added.seq, email->seq);
	assert_int_equal(
		row_number(temp->db, sql_same,
			DB_PARAMS(DB_INT("$a", email->seq), DB_INT("$b", added.seq)), &same, NULL),
		1);
	assert_int_equal(same, 1);
	store_email_clear(&added);
}

/* What may have happened between staging and the milter's look. */
static void test_facts(void **state)
{
	static const struct {
		const char *sql;
		bool key_valid, owned, active;
	} cases[] = {
		{"SELECT 1", true, true, true},
		{"UPDATE domain SET active = 0 WHERE name = 'one.test'", true, true, false},
		{"UPDATE api_key SET revoked_us = 7 WHERE name = 'One'", false, true, true},
		{"UPDATE api_key SET revoked_us = 7 WHERE name = 'Other'", true, true, true},
		{"UPDATE api_key SET scopes = 6 WHERE name = 'One'", false, true, true},
		{"UPDATE api_key SET scopes = 1 WHERE name = 'One'", true, true, true},
		{"DELETE FROM api_key WHERE name = 'One'", false, true, true},
		{"UPDATE api_key SET domain_id ="
		 " (SELECT id FROM domain WHERE name = 'one.test')"
		 " WHERE name = 'One'",
			true, true, true},
		{"INSERT INTO domain (id, company_id, name, active, created_us)"
		 " SELECT 'x', id, 'more.test', 1, 1 FROM company"
		 "  WHERE name = 'One';"
		 "UPDATE api_key SET domain_id = 'x' WHERE name = 'One'",
			false, true, true},
		{"DELETE FROM domain WHERE name = 'one.test'", true, false, false},
		{"UPDATE domain SET active = 0, pending = 1"
		 " WHERE name = 'one.test'",
			true, false, false},
		{"UPDATE domain SET company_id ="
		 " (SELECT id FROM company WHERE name = 'Other')"
		 " WHERE name = 'one.test'",
			true, false, false},
		{"UPDATE email SET key_id ="
		 " (SELECT id FROM api_key WHERE name = 'Other')",
			false, true, true},
		{"DELETE FROM company WHERE name = 'One'", false, false, false},
		{"DELETE FROM company WHERE name = 'Other'", true, true, true},
	};
	struct temp_db *temp = *state;
	const struct scene *scene = temp->more;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct email_ticket ticket;

		OK(db_begin(temp->db, &why));
		OK(db_exec(temp->db, cases[i].sql, &why));
		assert_int_equal(
			store_email_ticket(temp->db, scene->email.ticket, &ticket, NULL), 1);
		assert_int_equal(ticket.key_valid, cases[i].key_valid);
		assert_int_equal(ticket.domain_owned, cases[i].owned);
		assert_int_equal(ticket.domain_active, cases[i].active);
		store_email_ticket_clear(&ticket);
		db_rollback(temp->db);
	}
}

enum action { NOTHING, RECORD, REFUSE };

struct steps {
	enum action actions[3];
	enum email_state state;
	int decided_by; /* the action whose values are kept, from 1; 0: none */
	const char *last_event;
};

static void act(struct db *db, const char *ticket, enum action action, int number, int expected)
{
	_cleanup_free_ char *text = mem_printf("%d", number);

	if (action == RECORD)
		assert_int_equal(store_email_record(db, ticket, text, number, NULL), expected);
	if (action == REFUSE)
		assert_int_equal(
			store_email_refuse(db, ticket, text, text, number, NULL), expected);
}

/* What was refused is not sent. */
static int result_of(const struct steps *steps, int number)
{
	if (number > 0 && steps->actions[0] == RECORD && steps->actions[number] == RECORD)
		return STORE_EMAIL_RECORDED;
	return steps->actions[0] == RECORD || steps->actions[number] == REFUSE;
}

static void assert_outcome(struct db *db, const char *id, const struct steps *steps)
{
	_cleanup_free_ char *by = mem_printf("%d", steps->decided_by);
	_cleanup_free_ char *refusal = NULL;
	const struct email_scope all = {0};
	enum email_state state;
	struct email got;

	assert_int_equal(store_email_outcome(db, id, &state, &refusal, NULL), 1);
	assert_int_equal(state, steps->state);
	assert_int_equal(store_email_get(db, id, &all, &got, NULL), 1);
	assert_int_equal(got.state, steps->state);
	assert_true(got.decided_us == steps->decided_by);
	if (state == EMAIL_STAGED) {
		assert_null(got.queue_id);
		assert_null(got.last_event);
	} else {
		assert_string_equal(got.queue_id, by);
		assert_string_equal(got.last_event, steps->last_event);
	}
	if (state == EMAIL_REFUSED) {
		assert_string_equal(refusal, by);
		assert_string_equal(got.refusal, by);
	} else {
		assert_null(refusal);
		assert_null(got.refusal);
	}
	store_email_clear(&got);
}

static void test_decisions(void **state)
{
	static const struct steps cases[] = {
		{{NOTHING}, EMAIL_STAGED, 0, NULL},
		{{RECORD}, EMAIL_SENT, 1, "sent"},
		{{RECORD, RECORD}, EMAIL_SENT, 2, "sent"},
		{{RECORD, REFUSE}, EMAIL_SENT, 1, "sent"},
		{{RECORD, REFUSE, RECORD}, EMAIL_SENT, 3, "sent"},
		{{REFUSE}, EMAIL_REFUSED, 1, "failed"},
		{{REFUSE, REFUSE}, EMAIL_REFUSED, 1, "failed"},
		{{REFUSE, RECORD}, EMAIL_REFUSED, 1, "failed"},
		{{REFUSE, RECORD, REFUSE}, EMAIL_REFUSED, 1, "failed"},
		{{REFUSE, REFUSE, RECORD}, EMAIL_REFUSED, 1, "failed"},
	};
	struct temp_db *temp = *state;
	const struct email *email = &((struct scene *)temp->more)->email;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OK(db_begin(temp->db, &why));
		for (int d = 0; d < 3; d++)
			act(temp->db, email->ticket, cases[i].actions[d], d + 1,
				result_of(&cases[i], d));
		assert_outcome(temp->db, email->id, &cases[i]);
		db_rollback(temp->db);
	}
}

/* A client that knows the id is told of the refusal by an event of each recipient, whichever of the
 * two comes first. Whoever waits for the answer learns it there. It counts once, as refused. */
static void test_refusal_is_an_event(void **state)
{
	static const char sql_failed[] =
		"SELECT count(DISTINCT n) FROM event WHERE kind = 'failed' AND text = 'no'";
	static const char sql_counted[] =
		"SELECT sum(count) FROM event_count WHERE kind IN ('refused', 'failed')";
	struct temp_db *temp = *state;
	const struct email *email = &((struct scene *)temp->more)->email;

	for (int answered = -1; answered <= 1; answered++) {
		OK(db_begin(temp->db, &why));
		if (answered < 0)
			FOUND(store_email_answered(temp->db, email->id, &why));
		for (int again = 0; again < 2; again++)
			FOUND(store_email_refuse(temp->db, email->ticket, "Q", "no", 5, &why));
		for (int again = 0; again < 2 && answered > 0; again++)
			FOUND(store_email_answered(temp->db, email->id, &why));
		assert_int_equal(temp_db_number(temp->db, sql_failed),
			answered == 0 ? 0 : (int64_t)email->recipients.n);
		assert_int_equal(temp_db_number(temp->db, sql_counted), 1);
		db_rollback(temp->db);
	}
}

static void test_no_such_ticket(void **state)
{
	struct temp_db *temp = *state;
	const struct email *email = &((struct scene *)temp->more)->email;
	const struct steps untouched = {{NOTHING}, EMAIL_STAGED, 0, NULL};

	assert_int_equal(store_email_record(temp->db, "none", "Q", 1, NULL), 0);
	assert_int_equal(store_email_refuse(temp->db, "none", "Q", "no", 1, NULL), 0);
	assert_int_equal(store_email_record(temp->db, email->id, "Q", 1, NULL), 0);
	assert_outcome(temp->db, email->id, &untouched);
}

/* The decision rewrites the small row and leaves the content alone. */
static void test_content_stays(void **state)
{
	struct temp_db *temp = *state;
	const struct email *email = &((struct scene *)temp->more)->email;
	const struct email_scope all = {0};
	struct email got;

	temp_db_forbid(temp->db, "UPDATE", "email_content");
	act(temp->db, email->ticket, REFUSE, 1, 1);
	act(temp->db, email->ticket, RECORD, 2, 0);
	assert_int_equal(store_email_get(temp->db, email->id, &all, &got, NULL), 1);
	assert_string_equal(got.html, email->html);
	assert_string_equal(got.text, email->text);
	store_email_clear(&got);
}

/* The email with another ticket. */
static struct email again_of(const struct email *email)
{
	struct email again = {0};

	memcpy(again.id, email->id, ID_SIZE);
	memcpy(again.company_id, email->company_id, ID_SIZE);
	secret_ticket(again.ticket);
	return again;
}

static void assert_superseded(struct db *db, const char *ticket, const char *email_id)
{
	struct email_ticket got;

	assert_int_equal(store_email_ticket(db, ticket, &got, NULL), 1);
	assert_true(got.superseded);
	assert_string_equal(got.id, email_id);
	store_email_ticket_clear(&got);
	assert_int_equal(store_email_record(db, ticket, "Q", 1, NULL), 0);
	assert_int_equal(store_email_refuse(db, ticket, "Q", "no", 1, NULL), 0);
	assert_int_equal(store_email_retract(db, ticket, NULL), 0);
}

/* A verdict that was read under the old ticket records nothing under it. */
static void test_supersede(void **state)
{
	struct temp_db *temp = *state;
	const struct email *email = &((struct scene *)temp->more)->email;
	struct email second = again_of(email), third = again_of(email);
	struct email_ticket ticket;

	assert_int_equal(store_email_supersede(temp->db, &second, NULL), 1);
	assert_int_equal(store_email_supersede(temp->db, &third, NULL), 1);
	assert_superseded(temp->db, email->ticket, email->id);
	assert_superseded(temp->db, second.ticket, email->id);
	assert_int_equal(store_email_ticket(temp->db, third.ticket, &ticket, NULL), 1);
	assert_false(ticket.superseded);
	assert_int_equal(ticket.state, EMAIL_STAGED);
	assert_string_equal(ticket.key_id, email->key_id);
	store_email_ticket_clear(&ticket);

	assert_int_equal(store_email_record(temp->db, third.ticket, "Q", 1, NULL), 1);
	assert_superseded(temp->db, email->ticket, email->id);
}

/* A cancel by an earlier build kept the ticket while the email still had it. */
static void test_supersede_kept(void **state)
{
	struct temp_db *temp = *state;
	const struct email *email = &((struct scene *)temp->more)->email;
	struct email again = again_of(email);

	OK(db_exec(temp->db,
		"INSERT INTO superseded_ticket (ticket, email_id, created_us)"
		" SELECT ticket, id, created_us FROM email",
		&why));
	assert_int_equal(store_email_supersede(temp->db, &again, NULL), 1);
	assert_superseded(temp->db, email->ticket, email->id);
}

/* What was decided keeps its ticket. */
static void test_supersede_nothing(void **state)
{
	static const char *const cases[] = {
		"UPDATE email SET state = 'sent'",
		"UPDATE email SET state = 'refused', refusal = 'no'",
		"DELETE FROM email",
	};
	struct temp_db *temp = *state;
	const struct email *email = &((struct scene *)temp->more)->email;
	struct email again = again_of(email);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OK(db_begin(temp->db, &why));
		OK(db_exec(temp->db, cases[i], &why));
		assert_int_equal(store_email_supersede(temp->db, &again, NULL), 0);
		assert_int_equal(
			temp_db_number(temp->db, "SELECT count(*) FROM superseded_ticket"), 0);
		assert_int_equal(
			temp_db_number(temp->db, "SELECT count(*) FROM email"), i == 2 ? 0 : 1);
		db_rollback(temp->db);
	}
}

/* What the log said of the first message is not told of the second. */
static void test_supersede_deliveries(void **state)
{
	struct temp_db *temp = *state;
	const struct email *email = &((struct scene *)temp->more)->email;
	struct email again = again_of(email);

	OK(db_exec(temp->db,
		"INSERT INTO queue_message (queue_id, since_us, email, how)"
		" SELECT 'A', 1, seq, 'milter' FROM email;"
		"INSERT INTO delivery (email, queue_id, since_us, address, orig_to, state, via,"
		"   began_us, changed_us)"
		" SELECT seq, 'A', 1, 'a@b', '', 'bounced', 'final', 1, 1 FROM email",
		&why));
	assert_int_equal(store_email_supersede(temp->db, &again, NULL), 1);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM queue_message"), 0);
	assert_int_equal(temp_db_number(temp->db, "SELECT count(*) FROM delivery"), 0);
}

/* The first message may come when its email was taken back in the end. */
static void test_superseded_outlives_email(void **state)
{
	struct temp_db *temp = *state;
	const struct email *email = &((struct scene *)temp->more)->email;
	struct email again = again_of(email);

	assert_int_equal(store_email_supersede(temp->db, &again, NULL), 1);
	assert_int_equal(store_email_retract(temp->db, again.ticket, NULL), 1);
	assert_superseded(temp->db, email->ticket, email->id);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(ticket),
		TEST(add_sent),
		TEST(facts),
		TEST(decisions),
		TEST(refusal_is_an_event),
		TEST(no_such_ticket),
		TEST(content_stays),
		TEST(supersede),
		TEST(supersede_kept),
		TEST(supersede_deliveries),
		TEST(supersede_nothing),
		TEST(superseded_outlives_email),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
