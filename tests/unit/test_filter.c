/*
 * The callbacks, from negotiation to close, with a real store behind them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "core/base/str.h"
#include "tests/unit/milter_play.h"

enum {
	STEPS = SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOEOH | SMFIP_NOUNKNOWN | SMFIP_NR_CONN |
		SMFIP_NR_MAIL | SMFIP_NR_RCPT | SMFIP_NR_HDR | SMFIP_SKIP
};

static void abort_message(struct service_world *world)
{
	assert_int_equal(
		fake_smfi_callbacks.xxfi_abort(fake_smfi_ctx(&world->fake)), SMFIS_CONTINUE);
}

static void assert_stripped(struct service_world *world, const char *fields)
{
	_cleanup_free_ char *deleted = strv_join(&world->fake.deleted, " ");

	assert_string_equal(deleted, fields);
}

/* The email's recipients are there, and its ticket is not. */
static void assert_exchanged(struct service_world *world)
{
	_cleanup_free_ char *changes = strv_join(&world->fake.recipients, " ");
	_cleanup_free_ char *expected = mem_printf(
		"+<a@dst.test> +<b@dst.test> +<c@dst.test> -<%s@postern.invalid>",
		world->email.ticket);

	assert_string_equal(changes, expected);
}

static int negotiate(struct service_world *world, unsigned long actions, unsigned long steps,
	unsigned long *actions_r, unsigned long *steps_r)
{
	unsigned long none = 0;

	return fake_smfi_callbacks.xxfi_negotiate(fake_smfi_ctx(&world->fake), actions, steps, 0, 0,
		actions_r, steps_r, &none, &none);
}

static void test_negotiate(void **state)
{
	struct service_world *world = service_world_of(state);
	unsigned long actions = 0, steps = 0;

	assert_int_equal(negotiate(world, 0x1ff, 0x1fffff, &actions, &steps), SMFIS_CONTINUE);
	assert_int_equal(actions, SMFIF_ADDRCPT | SMFIF_DELRCPT | SMFIF_ADDHDRS | SMFIF_CHGHDRS |
					  SMFIF_QUARANTINE | SMFIF_CHGFROM | SMFIF_SETSYMLIST);
	assert_int_equal(steps, STEPS);
	assert_true(strv_has(&fake_smfi_macros, "2:i {auth_authen} {mail_addr} {daemon_name}"));
	assert_true(strv_has(&fake_smfi_macros, "5:i"));
	assert_int_equal(fake_smfi_callbacks.xxfi_flags, actions);
	assert_true(str_starts(fake_smfi_address, "unix:/"));
}

/* An MTA that cannot do what we need must not look as if it could. */
static void test_negotiate_with_less(void **state)
{
	struct service_world *world = service_world_of(state);
	unsigned long actions = 0, steps = 0;

	for (unsigned long bit = 1; bit <= 0x100; bit <<= 1)
		if (fake_smfi_callbacks.xxfi_flags & bit)
			assert_int_equal(negotiate(world, 0x1ff & ~bit, 0x1fffff, &actions, &steps),
				SMFIS_REJECT);
	for (unsigned long bit = 1; bit <= 0x100000; bit <<= 1)
		if (STEPS & bit)
			assert_int_equal(negotiate(world, 0x1ff, 0x1fffff & ~bit, &actions, &steps),
				SMFIS_REJECT);
}

static void test_ours_is_recorded(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);
	static const char sql_queue_id[] = "SELECT queue_id FROM email";
	_cleanup_free_ char *queue_id = NULL;

	milter_play_ours(world);
	world->fake.queue_id = "4F2A";
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	assert_exchanged(world);
	milter_play_assert_reply(world, "", "");
	service_world_assert_email(state, EMAIL_SENT);
	queue_id = temp_db_text(temp->db, sql_queue_id);
	assert_string_equal(queue_id, "4F2A");
}

static void test_ours_comes_again(void **state)
{
	struct service_world *world = service_world_of(state);

	for (int i = 0; i < 3; i++) {
		milter_play_ours(world);
		assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
		assert_exchanged(world);
		service_world_assert_email(state, EMAIL_SENT);
	}
}

static void test_no_ticket(void **state)
{
	struct service_world *world = service_world_of(state);

	milter_play_mail(world, "<a@other.test>");
	milter_play_header(world, "From", "hello@example.com");
	assert_int_equal(milter_play_end(world), SMFIS_REJECT);
	milter_play_assert_reply(world, "550", "example.com: ");
	assert_string_equal(world->fake.status, "5.7.1");
	assert_stripped(world, "");
	service_world_assert_email(state, EMAIL_STAGED);
}

static void test_others_pass(void **state)
{
	struct service_world *world = service_world_of(state);

	milter_play_mail(world, "<a@other.test>");
	milter_play_header(world, "From", "a@other.test");
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	assert_stripped(world, "");
}

/* All of those that claim to be ours, the last first. */
static void test_traces_of_others_come_off(void **state)
{
	struct service_world *world = service_world_of(state);

	milter_play_ours(world);
	for (int i = 0; i < 3; i++)
		milter_play_header(world, "x-postern-email-id", "forged");
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	assert_stripped(world, "X-Postern-Email-Id#3 X-Postern-Email-Id#2 X-Postern-Email-Id#1");
}

/* A forgery does not decide the email whose ticket it carries. */
static void test_mismatch_leaves_the_email(void **state)
{
	struct service_world *world = service_world_of(state);

	milter_play_ours(world);
	milter_play_header(world, "From", "hello@example.com");
	assert_int_equal(milter_play_end(world), SMFIS_REJECT);
	milter_play_assert_reply(world, "550", "example.com: The message is not the one");
	service_world_assert_email(state, EMAIL_STAGED);
	milter_play_ours(world);
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	service_world_assert_email(state, EMAIL_SENT);
}

/* What was sent stays sent, whoever tries the ticket again. */
static void test_mismatch_after_sent(void **state)
{
	struct service_world *world = service_world_of(state);

	milter_play_ours(world);
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	milter_play_ours(world);
	milter_play_header(world, "From", "evil@example.com");
	assert_int_equal(milter_play_end(world), SMFIS_REJECT);
	service_world_assert_email(state, EMAIL_SENT);
}

static void test_messages_do_not_mix(void **state)
{
	struct service_world *world = service_world_of(state);

	milter_play_ours(world);
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	milter_play_mail(world, "<a@other.test>");
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	assert_stripped(world, "");
	milter_play_ours(world);
	abort_message(world);
	milter_play_mail(world, "<hello@example.com>");
	assert_int_equal(milter_play_end(world), SMFIS_REJECT);
	milter_play_assert_reply(world, "550", "must be sent with an API key");
	milter_play_ours(world);
	milter_play_mail(world, "<a@other.test>"); /* without an abort */
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	assert_stripped(world, "");
	abort_message(world);
	abort_message(world);
}

static void test_external(void **state)
{
	struct service_world *world = service_world_of(state);

	milter_play_connect(world, "192.0.2.1");
	milter_play_ours(world);
	assert_int_equal(milter_play_end(world), SMFIS_REJECT);
	milter_play_assert_reply(world, "550", "may use tickets");
	assert_int_equal(world->fake.recipients.n, 0);
	service_world_assert_email(state, EMAIL_STAGED);
	milter_play_mail(world, "<hello@example.com>");
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	world->fake.login = "bob";
	milter_play_mail(world, "<hello@example.com>");
	assert_int_equal(milter_play_end(world), SMFIS_REJECT);
	world->fake.login = "";
	milter_play_mail(world, "<hello@example.com>");
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	world->fake.login = NULL;
	milter_play_mail(world, "<hello@example.com>");
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, milter_play_setup, milter_play_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_negotiate),
		TEST(test_negotiate_with_less),
		TEST(test_ours_is_recorded),
		TEST(test_ours_comes_again),
		TEST(test_no_ticket),
		TEST(test_others_pass),
		TEST(test_traces_of_others_come_off),
		TEST(test_mismatch_leaves_the_email),
		TEST(test_mismatch_after_sent),
		TEST(test_messages_do_not_mix),
		TEST(test_external),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
