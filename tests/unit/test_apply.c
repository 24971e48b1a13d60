/*
 * apply: what Postfix is told, and what is on record by then.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/str.h"
#include "core/store/outbox/store_probe.h"
#include "core/store/host/store_refusal.h"
#include "milter/apply.h"
#include "tests/unit/facts_world.h"
#include "tests/unit/service_world.h"

static int setup(void **state)
{
	service_world_setup(state);
	service_world_local_domains(service_world_of(state), "Here.test,\t also.test");
	service_world_reload(service_world_of(state));
	return 0;
}

static void change(struct service_world *world, enum refuse_local way, bool trace)
{
	world->conf->milter.refuse_local = way;
	world->conf->milter.trace_header = trace;
	service_world_reload(world);
}

/* A message, up to its end. */
static struct milter_session *message(
	enum mail_origin origin, const char *sender, const struct email *email)
{
	struct milter_session *session = session_new(origin, NULL, false);

	session_begin(session, sender, NULL);
	session_header(session, "From", "hello@example.com");
	if (email)
		facts_world_ticket(session, email);
	session_queue_id(session, "4F2A");
	return session;
}

static sfsistat apply(struct service_world *world, const struct milter_session *session)
{
	_cleanup_facts_ struct facts facts = {0};
	struct fake_smfi *fake = &world->fake;

	fake_smfi_clear(fake);
	fake->code[0] = fake->held[0] = '\0';
	facts_read(world->service->readers, session, &facts);
	return apply_verdict(fake_smfi_ctx(fake), world->service, session, &facts);
}

/* The last refusal that was noted, as `outcome reason origin sender from`; ""
 * for none. */
static void assert_noted(struct db *db, const char *expected)
{
	static const struct refusal_scope everything = {0};
	_cleanup_free_ char *found = NULL;
	struct refusal_list list;

	OK(store_refusal_list(db, &everything, 1, &list, &why));
	found = list.n == 0
			? mem_strdup("")
			: mem_printf("%s %s %s %s %s %s",
				  store_refusal_outcome_name(list.items[0].outcome),
				  list.items[0].reason, list.items[0].domain, list.items[0].origin,
				  list.items[0].sender, list.items[0].from);
	store_refusal_list_free(&list);
	assert_string_equal(found, expected);
}

/* Mail without a ticket that claims example.com. */
static const struct {
	enum mail_origin origin;
	enum refuse_local way;
	const char *sender;
	sfsistat answer;
	bool held;
	const char *noted;
} unticketed[] = {
	{ORIGIN_INTERNAL, REFUSE_LOCAL_DISCARD, "root@here.test", SMFIS_REJECT, false,
		"rejected no_ticket example.com internal root@here.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "root@here.test", SMFIS_REJECT, false,
		"rejected no_ticket example.com local root@here.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "root@ALSO.test", SMFIS_REJECT, false,
		"rejected no_ticket example.com local root@ALSO.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "root@far.test", SMFIS_ACCEPT, true,
		"held no_ticket example.com local root@far.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "root@sub.here.test", SMFIS_ACCEPT, true,
		"held no_ticket example.com local root@sub.here.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "", SMFIS_ACCEPT, true,
		"held no_ticket example.com local  hello@example.com"},
	/* Postfix would send these bounces to other hosts. */
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "v%far.test@here.test", SMFIS_ACCEPT, true,
		"held no_ticket example.com local v%far.test@here.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "far.test!w@here.test", SMFIS_ACCEPT, true,
		"held no_ticket example.com local far.test!w@here.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "\"y@far.test\"@here.test", SMFIS_ACCEPT, true,
		"held no_ticket example.com local \"y@far.test\"@here.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "q@far.test@here.test", SMFIS_ACCEPT, true,
		"held no_ticket example.com local q@far.test@here.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "a\\b@here.test", SMFIS_ACCEPT, true,
		"held no_ticket example.com local a\\b@here.test hello@example.com"},
	/* They would find nobody. */
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "noreply@here.test", SMFIS_ACCEPT, true,
		"held no_ticket example.com local noreply@here.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_REJECT, "\"a b\"@here.test", SMFIS_ACCEPT, true,
		"held no_ticket example.com local \"a b\"@here.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_HOLD, "a@here.test", SMFIS_ACCEPT, true,
		"held no_ticket example.com local a@here.test hello@example.com"},
	{ORIGIN_LOCAL, REFUSE_LOCAL_DISCARD, "a@far.test", SMFIS_DISCARD, false,
		"discarded no_ticket example.com local a@far.test hello@example.com"},
};

static void test_unticketed(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);

	for (size_t i = 0; i < ARRAY_SIZE(unticketed); i++) {
		_cleanup_(milter_session) struct milter_session *session = message(
			unticketed[i].origin, unticketed[i].sender, NULL);

		OK(db_exec(temp->db, "DELETE FROM refusal", &why));
		change(world, unticketed[i].way, false);
		if (apply(world, session) != unticketed[i].answer)
			fail_msg("%zu", i);
		assert_int_equal(*world->fake.held != '\0', unticketed[i].held);
		assert_string_equal(
			world->fake.code, unticketed[i].answer == SMFIS_REJECT ? "550" : "");
		assert_noted(temp->db, unticketed[i].noted);
	}
}

/* httpd answers for our own email; nobody is told twice. */
static void test_own(void **state)
{
	static const enum mail_origin origins[] = {ORIGIN_LOCAL, ORIGIN_INTERNAL};
	static const sfsistat answers[] = {SMFIS_DISCARD, SMFIS_REJECT};
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);

	OK(db_exec(temp->db, "UPDATE api_key SET revoked_us = 1", &why));
	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
			_cleanup_(milter_session) struct milter_session *session = message(
				origins[i], world->email.sender, &world->email);

			assert_int_equal(apply(world, session), answers[i]);
			assert_string_equal(world->fake.held, "");
			service_world_assert_email(state, EMAIL_REFUSED);
			assert_noted(temp->db, "");
		}
}

/* A stranger with a ticket of ours is no email of ours, and does not spend it. */
static const struct {
	enum mail_origin origin;
	const char *sender;
	sfsistat answer;
	const char *noted;
} forged[] = {
	{ORIGIN_LOCAL, "evil@far.test", SMFIS_ACCEPT,
		"held ticket_mismatch example.com local evil@far.test hello@example.com"},
	{ORIGIN_LOCAL, "root@here.test", SMFIS_REJECT,
		"rejected ticket_mismatch example.com local root@here.test hello@example.com"},
	{ORIGIN_INTERNAL, "evil@far.test", SMFIS_REJECT,
		"rejected ticket_mismatch example.com internal evil@far.test hello@example.com"},
};

static void test_forged_ticket(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);

	change(world, REFUSE_LOCAL_REJECT, false);
	for (size_t i = 0; i < ARRAY_SIZE(forged); i++) {
		_cleanup_(milter_session) struct milter_session *session = message(
			forged[i].origin, forged[i].sender, &world->email);

		OK(db_exec(temp->db, "DELETE FROM refusal", &why));
		assert_int_equal(apply(world, session), forged[i].answer);
		assert_int_equal(world->fake.recipients.n, 0);
		service_world_assert_email(state, EMAIL_STAGED);
		assert_noted(temp->db, forged[i].noted);
	}
}

/* The genuine email goes out whatever was tried with its ticket before. */
static void test_genuine_after_forged(void **state)
{
	struct service_world *world = service_world_of(state);
	static const char *const senders[] = {"evil@here.test", NULL};

	for (size_t i = 0; i < ARRAY_SIZE(senders); i++) {
		_cleanup_(milter_session) struct milter_session *session = message(
			ORIGIN_LOCAL, senders[i] ? senders[i] : world->email.sender, &world->email);

		apply(world, session);
	}
	service_world_assert_email(state, EMAIL_SENT);
}

/* What Postfix was told about recipients, joined. */
static char *recipients_of(const struct service_world *world)
{
	return strv_join(&world->fake.recipients, " ");
}

/* All of the email go in before its ticket comes out. */
static void test_recipients(void **state)
{
	struct service_world *world = service_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = message(
		ORIGIN_LOCAL, world->email.sender, &world->email);
	_cleanup_free_ char *expected = mem_printf(
		"+<a@dst.test> +<b@dst.test> +<c@dst.test> -<%s@postern.invalid>",
		world->email.ticket);
	_cleanup_free_ char *found = NULL;

	assert_int_equal(apply(world, session), SMFIS_ACCEPT);
	found = recipients_of(world);
	assert_string_equal(found, expected);
}

/* Not one may be missing: then the message comes again. */
static void test_recipients_fail(void **state)
{
	struct service_world *world = service_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = message(
		ORIGIN_LOCAL, world->email.sender, &world->email);
	_cleanup_free_ char *ticket = mem_printf("-<%s@postern.invalid>", world->email.ticket);
	const char *const changes[] = {"+<a@dst.test>", "+<b@dst.test>", "+<c@dst.test>", ticket};

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		world->fake.recipient_fails = changes[i];
		assert_int_equal(apply(world, session), SMFIS_TEMPFAIL);
		assert_string_equal(world->fake.code, "451");
		assert_int_equal(world->fake.recipients.n, i);
		service_world_assert_email(state, EMAIL_STAGED);
	}
	world->fake.recipient_fails = NULL;
	assert_int_equal(apply(world, session), SMFIS_ACCEPT);
}

/* Rows that nobody of ours writes: what Postfix would take for the end of the
 * list, and no recipient at all. */
static void test_damaged_recipients(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = message(
		ORIGIN_LOCAL, world->email.sender, &world->email);

	OK(db_exec(temp->db, "UPDATE email_recipient SET address = '' WHERE n = 1", &why));
	assert_int_equal(apply(world, session), SMFIS_TEMPFAIL);
	service_world_assert_email(state, EMAIL_STAGED);
	OK(db_exec(temp->db, "DELETE FROM email_recipient", &why));
	assert_int_equal(apply(world, session), SMFIS_ACCEPT);
	assert_string_not_equal(world->fake.held, "");
	assert_int_equal(world->fake.recipients.n, 0);
	service_world_assert_email(state, EMAIL_STAGED);
}

static void test_sent_notes_nothing(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = message(
		ORIGIN_LOCAL, world->email.sender, &world->email);

	assert_int_equal(apply(world, session), SMFIS_ACCEPT);
	assert_int_equal(world->service->counts.of[VERDICT_RECORD], 1);
	service_world_assert_email(state, EMAIL_SENT);
	assert_noted(temp->db, "");
	assert_int_equal(world->fake.added.n, 0);
}

/* Only with the setting, only ours, and never two. */
static void test_trace(void **state)
{
	struct service_world *world = service_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = message(
		ORIGIN_LOCAL, world->email.sender, &world->email);
	_cleanup_free_ char *field = mem_printf("X-Postern-Email-Id: %s", world->email.id);

	session_header(session, "x-postern-email-id", "forged");
	session_header(session, "X-Postern-Email-Id", "forged");
	for (int on = 0; on < 2; on++) {
		change(world, REFUSE_LOCAL_REJECT, on);
		assert_int_equal(apply(world, session), SMFIS_ACCEPT);
		assert_true(strv_has(&world->fake.deleted, "X-Postern-Email-Id#1"));
		assert_true(strv_has(&world->fake.deleted, "X-Postern-Email-Id#2"));
		assert_int_equal(world->fake.added.n, on);
		assert_int_equal(strv_has(&world->fake.added, field), on);
	}
}

/* Nobody else ever sees it, how often it came. */
static void test_nonce_comes_off(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);

	secret_ticket(world->email.nonce);
	OK(db_change(temp->db, "UPDATE email SET nonce = $nonce",
		   DB_PARAMS(DB_TEXT("$nonce", world->email.nonce)), &why) < 0
			? -1
			: 0);
	_cleanup_(milter_session) struct milter_session *session = message(
		ORIGIN_LOCAL, world->email.sender, &world->email);

	session_header(session, "postern-nonce", "forged");
	change(world, REFUSE_LOCAL_REJECT, true);
	assert_int_equal(apply(world, session), SMFIS_ACCEPT);
	assert_true(strv_has(&world->fake.deleted, "Postern-Nonce#1"));
	assert_true(strv_has(&world->fake.deleted, "Postern-Nonce#2"));
}

/* Another way it tells nothing of its own one. */
static void test_probe_of_another_way(void **state)
{
	struct email carrier = {.message_id = (char[]){"<probe@example.com>"}};
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	struct probe_secrets secrets;
	struct probe probe;

	OK(store_probe_add(temp->db, 1, EMAIL_WAY_SMTP, false, &secrets, &why));
	memcpy(carrier.ticket, secrets.ticket, sizeof(carrier.ticket));
	memcpy(carrier.nonce, secrets.nonce, sizeof(carrier.nonce));
	_cleanup_(milter_session) struct milter_session *session = message(
		ORIGIN_LOCAL, "", &carrier);

	change(world, REFUSE_LOCAL_DISCARD, false);
	assert_int_equal(apply(world, session), SMFIS_DISCARD);
	assert_int_equal(store_probe_get(temp->db, secrets.ticket, &probe, NULL), 1);
	assert_int_equal(probe.seen_us, 0);
	store_probe_clear(&probe);
}

/* The ticket stands in mailq for everybody; who has not read the message lacks its nonce. The nonce
 * reaches no milter behind ours. */
static void test_nonce_of_probe(void **state)
{
	struct email carrier = {.message_id = (char[]){"<probe@example.com>"}};
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	struct probe_secrets secrets;

	OK(store_probe_add(temp->db, 1, EMAIL_WAY_SENDMAIL, true, &secrets, &why));
	memcpy(carrier.ticket, secrets.ticket, sizeof(carrier.ticket));
	change(world, REFUSE_LOCAL_DISCARD, false);
	for (int i = 0; i < 3; i++) {
		struct milter_session *session;
		struct probe probe;

		memcpy(carrier.nonce, i == 1 ? secrets.ticket : secrets.nonce,
			i == 0 ? 1 : sizeof(carrier.nonce));
		session = message(ORIGIN_LOCAL, "", &carrier);
		assert_int_equal(apply(world, session), i == 2 ? SMFIS_ACCEPT : SMFIS_DISCARD);
		session_free(session);
		assert_int_equal(store_probe_get(temp->db, secrets.ticket, &probe, NULL), 1);
		assert_int_equal(probe.seen_us != 0, i == 2);
		store_probe_clear(&probe);
	}
	assert_true(strv_has(&world->fake.deleted, "Postern-Nonce#1"));
	assert_int_equal(world->fake.recipients.n, 1); /* the ticket is taken off */
}

/* A message that shows that we are asked goes to nobody; that it does so is on
 * record, or it is put off. */
static void test_probe(void **state)
{
	struct email carrier = {.message_id = (char[]){"<probe@example.com>"}};
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	struct probe_secrets secrets;
	struct probe probe;

	OK(store_probe_add(temp->db, 1, EMAIL_WAY_SENDMAIL, false, &secrets, &why));
	memcpy(carrier.ticket, secrets.ticket, sizeof(carrier.ticket));
	memcpy(carrier.nonce, secrets.nonce, sizeof(carrier.nonce));
	for (int again = 0; again < 2; again++) {
		_cleanup_(milter_session) struct milter_session *session = message(
			ORIGIN_LOCAL, "", &carrier);

		assert_int_equal(apply(world, session), SMFIS_DISCARD);
		assert_int_equal(world->fake.recipients.n, 0);
		assert_int_equal(store_probe_get(temp->db, secrets.ticket, &probe, NULL), 1);
		assert_true(probe.seen_us > 0);
		assert_string_equal(probe.queue_id, "4F2A");
		store_probe_clear(&probe);
	}
	assert_noted(temp->db, "");
	OK(db_exec(temp->db, "UPDATE probe SET seen_us = 0", &why));
	temp_db_forbid(temp->db, "UPDATE", "probe");
	_cleanup_(milter_session) struct milter_session *session = message(
		ORIGIN_LOCAL, "", &carrier);

	assert_int_equal(apply(world, session), SMFIS_TEMPFAIL);
}

/* What is let go is on record, or it is not let go. */
static void test_note_fails(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);

	OK(db_exec(temp->db, "DROP TABLE refusal", &why));
	for (int i = 0; i <= REFUSE_LOCAL_DISCARD; i++) {
		_cleanup_(milter_session) struct milter_session *session = message(
			ORIGIN_LOCAL, "a@here.test", NULL);

		change(world, (enum refuse_local)i, false);
		assert_int_equal(apply(world, session), SMFIS_TEMPFAIL);
		assert_string_equal(world->fake.code, "451");
		assert_string_equal(world->fake.held, "");
	}
	assert_int_equal(world->service->counts.of[VERDICT_TEMPFAIL], 3);
	assert_int_equal(world->service->counts.of[VERDICT_REFUSE], 0);
}

static void test_hold_fails(void **state)
{
	struct service_world *world = service_world_of(state);
	_cleanup_(milter_session) struct milter_session *session = message(
		ORIGIN_LOCAL, "a@far.test", NULL);

	world->fake.quarantine_fails = true;
	assert_int_equal(apply(world, session), SMFIS_TEMPFAIL);
	assert_string_equal(world->fake.code, "451");
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, service_world_teardown)

/* On port 25 the ticket of a probe is the sender, and nothing follows from it. */
static void test_probe_sender(void **state)
{
	static const struct {
		enum mail_origin origin;
		enum email_way way;
		bool is_probe, noted;
	} cases[] = {
		{ORIGIN_INTERNAL, EMAIL_WAY_ANY, true, true},
		{ORIGIN_LOCAL, EMAIL_WAY_ANY, true, true},
		{ORIGIN_INTERNAL, EMAIL_WAY_SMTP, true, false},
		{ORIGIN_EXTERNAL, EMAIL_WAY_ANY, true, false},
		{ORIGIN_INTERNAL, EMAIL_WAY_ANY, false, false},
	};
	struct service_world *world = service_world_of(state);
	struct temp_db *temp = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct probe_secrets secrets;
		_cleanup_free_ char *address = NULL;
		struct milter_session *session;
		struct probe probe;

		assert_int_equal(
			store_probe_add(temp->db, 1, cases[i].way, true, &secrets, NULL), 0);
		address = ticket_address(secrets.ticket);
		if (!cases[i].is_probe)
			address[0] = address[0] == 'a' ? 'b' : 'a';
		session = session_new(cases[i].origin, NULL, false);
		session_begin(session, address, NULL);
		record_probe_sender(world->service, session);
		session_free(session);
		assert_int_equal(store_probe_get(temp->db, secrets.ticket, &probe, NULL), 1);
		assert_int_equal(probe.seen_us != 0, cases[i].noted);
		assert_string_equal(probe.queue_id, "");
		store_probe_clear(&probe);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(unticketed),
		TEST(own),
		TEST(forged_ticket),
		TEST(genuine_after_forged),
		TEST(recipients),
		TEST(recipients_fail),
		TEST(damaged_recipients),
		TEST(sent_notes_nothing),
		TEST(trace),
		TEST(nonce_comes_off),
		TEST(probe_of_another_way),
		TEST(probe),
		TEST(nonce_of_probe),
		TEST(probe_sender),
		TEST(note_fails),
		TEST(hold_fails),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
