/*
 * Messages with the login of a key, callback by callback: what is kept of them, once however
 * often they come, and what they wait for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "core/base/str.h"
#include "core/store/email/store_message.h"
#include "core/store/company/store_pause.h"
#include "tests/unit/milter_play.h"

/* What a client sends; what is NULL is left out. */
struct mail {
	const char *date, *key_field, *key, *body;
	bool skipped; /* the milter wants no body */
};

static sfsistat play(struct service_world *world, const struct mail *mail)
{
	_cleanup_free_ char *body = mem_strdup(mail->body ? mail->body : "hello\r\n");
	char recipient[] = "<bob@dst.test>";
	char *arguments[] = {recipient, NULL};
	SMFICTX *ctx = fake_smfi_ctx(&world->fake);

	strv_free(&world->fake.deleted);
	world->fake.login = world->acme.key_id;
	world->fake.daemon = SESSION_KEY_SERVICE;
	world->fake.queue_id = "4F2A";
	milter_play_mail(world, "<hello@example.com>");
	assert_int_equal(fake_smfi_callbacks.xxfi_envrcpt(ctx, arguments), SMFIS_NOREPLY);
	milter_play_header(world, "From", "Ann <hello@example.com>");
	milter_play_header(world, "To", "bob@dst.test");
	milter_play_header(world, "Subject", "x");
	if (mail->date)
		milter_play_header(world, "Date", mail->date);
	if (mail->key)
		milter_play_header(
			world, mail->key_field ? mail->key_field : "Idempotency-Key", mail->key);
	assert_int_equal(fake_smfi_callbacks.xxfi_body(ctx, (unsigned char *)body, strlen(body)),
		mail->skipped ? SMFIS_SKIP : SMFIS_CONTINUE);
	return milter_play_end(world);
}

static int64_t sent(struct temp_db *temp)
{
	static const char sql_sent[] = "SELECT count(*) FROM email WHERE state = 'sent'";

	return temp_db_number(temp->db, sql_sent);
}

static void test_kept(void **state)
{
	static const char sql_text[] = "SELECT text FROM email_content ORDER BY seq DESC LIMIT 1";
	static const char sql_id[] = "SELECT id FROM email ORDER BY seq DESC LIMIT 1";
	static const char sql_kept[] = "SELECT size FROM message_kept";
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	_cleanup_free_ char *text = NULL, *id = NULL;
	_cleanup_buf_ struct buf message = BUF_INIT;

	assert_int_equal(play(world, &(struct mail){.date = "now"}), SMFIS_ACCEPT);
	text = temp_db_text(temp->db, sql_text);
	assert_string_equal(text, "hello\n");
	id = temp_db_text(temp->db, sql_id);
	FOUND(store_message_read(temp->db, temp->path, id, &message, &why));
	assert_true(str_starts(message.data, "From: Ann <hello@example.com>\nTo: bob@dst.test\n"));
	assert_non_null(strstr(message.data, "\nDate: now\n\nhello\n"));
	assert_int_equal(temp_db_number(temp->db, sql_kept), message.len);
}

/* Another Date is no other message; other words are. Under either name. */
static void test_repeats(void **state)
{
	static const char sql_delivered[] = "UPDATE email_recipient SET state = 'delivered'";
	static const char sql_lost[] =
		"UPDATE email_recipient SET state = 'unknown'"
		" WHERE email = (SELECT max(seq) FROM email)";
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	const struct mail first = {.date = "a", .key = "k"};
	const struct mail again = {.date = "b", .key_field = "resend-idempotency-key", .key = " k"};

	assert_int_equal(play(world, &first), SMFIS_ACCEPT);
	assert_true(strv_has(&world->fake.deleted, "Idempotency-Key#1"));
	assert_int_equal(play(world, &again), SMFIS_TEMPFAIL);
	milter_play_assert_reply(world, "451", "still in progress");
	/* Whatever became of it, it is not there. */
	OK(db_exec(temp->db, sql_lost, &why));
	assert_int_equal(play(world, &again), SMFIS_ACCEPT);
	assert_int_equal(sent(temp), 2);
	assert_int_equal(play(world, &first), SMFIS_TEMPFAIL);
	OK(db_exec(temp->db, sql_delivered, &why));
	assert_int_equal(play(world, &first), SMFIS_DISCARD);
	assert_int_equal(sent(temp), 2);
	assert_int_equal(
		play(world, &(struct mail){.key = "k", .body = "other\r\n"}), SMFIS_REJECT);
	milter_play_assert_reply(world, "550", "used with a different message");
	assert_int_equal(play(world, &(struct mail){.key = "other"}), SMFIS_ACCEPT);
	assert_int_equal(sent(temp), 3);
}

/* Two messages with one Idempotency-Key end at the same moment: neither finds the other, and the
 * second one that is stored has to come again. */
static void test_stored_at_once(void **state)
{
	static const char sql_race[] =
		"CREATE TRIGGER race BEFORE INSERT ON idempotency"
		" BEGIN"
		"   INSERT INTO idempotency"
		"    VALUES (NEW.company_id, NEW.key_hash, NEW.payload, NEW.created_us, NEW.settled,"
		"      NEW.results);"
		" END";
	static const char sql_race_on_server[] =
		"CREATE FUNCTION race() RETURNS trigger LANGUAGE plpgsql AS '"
		" BEGIN"
		"   IF pg_trigger_depth() = 1 THEN INSERT INTO idempotency VALUES (NEW.*); END IF;"
		"   RETURN NEW;"
		" END';"
		"CREATE TRIGGER race BEFORE INSERT ON idempotency"
		" FOR EACH ROW EXECUTE FUNCTION race()";
	static const char sql_left[] =
		"SELECT (SELECT count(*) FROM idempotency) + (SELECT count(*) FROM message_kept)";
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	const struct mail mail = {.key = "k"};

	OK(db_exec(temp->db, temp_db_sql(temp->db, sql_race, sql_race_on_server), &why));
	assert_int_equal(play(world, &mail), SMFIS_TEMPFAIL);
	milter_play_assert_reply(world, "451", "still in progress");
	assert_int_equal(temp_db_number(temp->db, sql_left), 0);
	assert_int_equal(sent(temp), 0);
	OK(db_exec(temp->db,
		temp_db_sql(temp->db, "DROP TRIGGER race", "DROP TRIGGER race ON idempotency"),
		&why));
	assert_int_equal(play(world, &mail), SMFIS_ACCEPT);
	assert_int_equal(sent(temp), 1);
}

static void test_bad_fields(void **state)
{
	static const struct {
		const char *name, *value, *words;
	} cases[] = {
		{"Idempotency-Key", "", "The field Idempotency-Key must have between 1 and 256"},
		{"X-Mailgun-Tag", "", "The field X-Mailgun-Tag must"},
		{"X-Mailgun-Variables", "x", "The field X-Mailgun-Variables must"},
		{"Resend-Tag", "x", "The field Resend-Tag must"},
	};
	struct service_world *world = service_world_of(state);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(play(world, &(struct mail){.key_field = cases[i].name,
						     .key = cases[i].value}),
			SMFIS_REJECT);
		milter_play_assert_reply(world, "550", cases[i].words);
	}
}

static void test_paused(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	const struct temp_tenant *acme = &world->acme;
	struct pause pauses[] = {
		{.reason = (char[]){""}},
		{.reason = (char[]){""}, .domain = (char[]){"example.com"}},
		{.reason = (char[]){""}},
	};

	memcpy(pauses[2].key_id, acme->key_id, ID_SIZE);
	for (size_t i = 0; i < ARRAY_SIZE(pauses); i++) {
		memcpy(pauses[i].company_id, acme->company_id, ID_SIZE);
		id_new(pauses[i].id);
		OK(store_pause_add(temp->db, &pauses[i], &why));
		assert_int_equal(play(world, &(struct mail){0}), SMFIS_TEMPFAIL);
		milter_play_assert_reply(world, "451", "Sending is paused");
		FOUND(store_pause_remove(temp->db, pauses[i].id, &why));
	}
	assert_int_equal(sent(temp), 0);
	assert_int_equal(play(world, &(struct mail){0}), SMFIS_ACCEPT);
}

static void test_rate(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);

	world->conf->http.rate_limit = 1;
	world->conf->http.rate_burst = 2;
	service_world_reload(world);
	assert_int_equal(play(world, &(struct mail){0}), SMFIS_ACCEPT);
	assert_int_equal(play(world, &(struct mail){0}), SMFIS_ACCEPT);
	assert_int_equal(play(world, &(struct mail){0}), SMFIS_TEMPFAIL);
	milter_play_assert_reply(world, "451", "Too many messages");
	assert_int_equal(sent(temp), 2);
}

/* Where the copies of other messages take all the memory, the next message is put off. */
static void test_no_memory(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	struct session_room *room = &world->service->room;

	atomic_fetch_add(&room->held, room->max);
	assert_int_equal(play(world, &(struct mail){.skipped = true}), SMFIS_TEMPFAIL);
	milter_play_assert_reply(world, "451", "There is no room for the message now");
	assert_int_equal(sent(temp), 0);
	atomic_fetch_sub(&room->held, room->max);
	assert_int_equal(play(world, &(struct mail){0}), SMFIS_ACCEPT);
	assert_int_equal(sent(temp), 1);
}

/* Where the disk has no room nothing is sent. */
static void test_no_room(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);

	world->conf->outbox.min_free = INT64_C(1) << 60;
	service_world_reload(world);
	assert_int_equal(play(world, &(struct mail){0}), SMFIS_TEMPFAIL);
	milter_play_assert_reply(world, "451", "cannot be recorded now");
	assert_int_equal(sent(temp), 0);
}

int main(void)
{
#define TEST(function)                                                                             \
	cmocka_unit_test_setup_teardown(function, milter_play_setup, milter_play_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_kept),
		TEST(test_repeats),
		TEST(test_stored_at_once),
		TEST(test_bad_fields),
		TEST(test_paused),
		TEST(test_rate),
		TEST(test_no_memory),
		TEST(test_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
