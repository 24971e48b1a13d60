/*
 * The callbacks, from negotiation to close, with a real store behind them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/str.h"
#include "core/store/store_domain.h"
#include "milter/filter.h"
#include "tests/unit/fake_smfi.h"
#include "tests/unit/temp_db.h"

enum {
	STEPS = SMFIP_NOHELO | SMFIP_NODATA | SMFIP_NOEOH | SMFIP_NOBODY |
		SMFIP_NOUNKNOWN | SMFIP_NR_CONN | SMFIP_NR_MAIL |
		SMFIP_NR_RCPT | SMFIP_NR_HDR
};

struct world {
	struct temp_tenant acme;
	struct email email;
	struct conf *conf;
	struct service *service;
	struct fake_smfi fake;
};

static void connect_from(struct world *world, const char *address)
{
	struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = 4711};
	char host[] = "client.test";

	assert_int_equal(inet_pton(AF_INET, address, &peer.sin_addr), 1);
	assert_int_equal(
		fake_smfi_callbacks.xxfi_connect(
			fake_smfi_ctx(&world->fake), host, (_SOCK_ADDR *)&peer),
		SMFIS_NOREPLY);
}

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
	world->conf = conf_default();
	free(world->conf->store.database);
	world->conf->store.database = mem_strdup(temp->path);
	OK(service_open(world->conf, NULL, &world->service, &why));
	OK(filter_open(world->service, world->conf, &why));
	connect_from(world, "127.0.0.1");
	return 0;
}

static int teardown(void **state)
{
	struct world *world = ((struct temp_db *)*state)->more;

	fake_smfi_callbacks.xxfi_close(fake_smfi_ctx(&world->fake));
	assert_null(world->fake.private);
	assert_true(drain_wait(world->service->drain, 0));
	service_close(world->service);
	service_free(world->service);
	conf_free(world->conf);
	fake_smfi_clear(&world->fake);
	store_email_clear(&world->email);
	return temp_db_teardown(state);
}

static struct world *world_of(void **state)
{
	return ((struct temp_db *)*state)->more;
}

static void mail(struct world *world, const char *sender)
{
	_cleanup_free_ char *argument = mem_strdup(sender);
	char *arguments[] = {argument, NULL};

	assert_int_equal(fake_smfi_callbacks.xxfi_envfrom(
				 fake_smfi_ctx(&world->fake), arguments),
		SMFIS_NOREPLY);
}

static void header(struct world *world, const char *name, const char *value)
{
	_cleanup_free_ char *name_copy = mem_strdup(name);
	_cleanup_free_ char *value_copy = mem_strdup(value);

	assert_int_equal(
		fake_smfi_callbacks.xxfi_header(
			fake_smfi_ctx(&world->fake), name_copy, value_copy),
		SMFIS_NOREPLY);
}

static sfsistat end(struct world *world)
{
	world->fake.code[0] = '\0';
	strv_free(&world->fake.deleted);
	return fake_smfi_callbacks.xxfi_eom(fake_smfi_ctx(&world->fake));
}

static void abort_message(struct world *world)
{
	assert_int_equal(
		fake_smfi_callbacks.xxfi_abort(fake_smfi_ctx(&world->fake)),
		SMFIS_CONTINUE);
}

/* The message that httpd submitted, up to its end. */
static void our_message(struct world *world)
{
	mail(world, world->email.sender);
	header(world, "X-Postern-Ticket", world->email.ticket);
	header(world, "From", "hello@example.com");
}

static void assert_reply(struct world *world, const char *code, const char *text)
{
	if (!str_eq(world->fake.code, code) || !strstr(world->fake.text, text))
		fail_msg("%s %s %s, not %s ... %s", world->fake.code,
			world->fake.status, world->fake.text, code, text);
}

static void assert_stripped(struct world *world, const char *fields)
{
	_cleanup_free_ char *deleted = strv_join(&world->fake.deleted, " ");

	assert_string_equal(deleted, fields);
}

static void assert_outcome(void **state, enum email_state expected)
{
	struct temp_db *temp = *state;
	_cleanup_free_ char *refusal = NULL;
	enum email_state found;
	struct err err = ERR_INIT;

	assert_int_equal(store_email_outcome(temp->db, world_of(state)->email.id,
				 &found, &refusal, &err),
		1);
	assert_int_equal(found, expected);
	assert_true((refusal != NULL) == (expected == EMAIL_REFUSED));
}

static int negotiate(struct world *world, unsigned long actions,
	unsigned long steps, unsigned long *actions_r, unsigned long *steps_r)
{
	unsigned long none = 0;

	return fake_smfi_callbacks.xxfi_negotiate(fake_smfi_ctx(&world->fake),
		actions, steps, 0, 0, actions_r, steps_r, &none, &none);
}

static void test_negotiate(void **state)
{
	struct world *world = world_of(state);
	unsigned long actions = 0, steps = 0;

	assert_int_equal(negotiate(world, 0x1ff, 0x1fffff, &actions, &steps),
		SMFIS_CONTINUE);
	assert_int_equal(actions, SMFIF_ADDHDRS | SMFIF_CHGHDRS |
					  SMFIF_QUARANTINE | SMFIF_SETSYMLIST);
	assert_int_equal(steps, STEPS);
	assert_true(
		strv_has(&fake_smfi_macros, "2:i {auth_authen} {mail_addr}"));
	assert_true(strv_has(&fake_smfi_macros, "5:i"));
	assert_int_equal(fake_smfi_callbacks.xxfi_flags, actions);
	assert_true(str_starts(fake_smfi_address, "unix:/"));
}

/* An MTA that cannot do what we need must not look as if it could. */
static void test_negotiate_with_less(void **state)
{
	struct world *world = world_of(state);
	unsigned long actions = 0, steps = 0;

	for (unsigned long bit = 1; bit <= 0x100; bit <<= 1)
		if (fake_smfi_callbacks.xxfi_flags & bit)
			assert_int_equal(negotiate(world, 0x1ff & ~bit,
						 0x1fffff, &actions, &steps),
				SMFIS_REJECT);
	for (unsigned long bit = 1; bit <= 0x100000; bit <<= 1)
		if (STEPS & bit)
			assert_int_equal(negotiate(world, 0x1ff, 0x1fffff & ~bit,
						 &actions, &steps),
				SMFIS_REJECT);
}

static void test_ours_is_recorded(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = world_of(state);
	static const char sql_queue_id[] = "SELECT queue_id FROM email";
	_cleanup_free_ char *queue_id = NULL;

	our_message(world);
	world->fake.queue_id = "4F2A";
	assert_int_equal(end(world), SMFIS_ACCEPT);
	assert_stripped(world, "X-Postern-Ticket#1");
	assert_reply(world, "", "");
	assert_outcome(state, EMAIL_SENT);
	queue_id = temp_db_text(temp->db, sql_queue_id);
	assert_string_equal(queue_id, "4F2A");
}

static void test_ours_comes_again(void **state)
{
	struct world *world = world_of(state);

	for (int i = 0; i < 3; i++) {
		our_message(world);
		assert_int_equal(end(world), SMFIS_ACCEPT);
		assert_stripped(world, "X-Postern-Ticket#1");
		assert_outcome(state, EMAIL_SENT);
	}
}

static void test_no_ticket(void **state)
{
	struct world *world = world_of(state);

	mail(world, "<a@other.test>");
	header(world, "From", "hello@example.com");
	assert_int_equal(end(world), SMFIS_REJECT);
	assert_reply(world, "550", "example.com: ");
	assert_string_equal(world->fake.status, "5.7.1");
	assert_stripped(world, "");
	assert_outcome(state, EMAIL_STAGED);
}

static void test_others_pass(void **state)
{
	struct world *world = world_of(state);

	mail(world, "<a@other.test>");
	header(world, "From", "a@other.test");
	assert_int_equal(end(world), SMFIS_ACCEPT);
	assert_stripped(world, "");
}

/* All of them, the last first. */
static void test_tickets_of_others_come_off(void **state)
{
	struct world *world = world_of(state);

	mail(world, "<a@other.test>");
	for (int i = 0; i < 3; i++)
		header(world, "x-postern-ticket", "forged");
	assert_int_equal(end(world), SMFIS_ACCEPT);
	assert_stripped(world,
		"X-Postern-Ticket#3 X-Postern-Ticket#2 X-Postern-Ticket#1");
}

/* A forgery does not decide the email whose ticket it carries. */
static void test_mismatch_leaves_the_email(void **state)
{
	struct world *world = world_of(state);

	our_message(world);
	header(world, "From", "hello@example.com");
	assert_int_equal(end(world), SMFIS_REJECT);
	assert_reply(world, "550", "example.com: The message is not the one");
	assert_outcome(state, EMAIL_STAGED);
	our_message(world);
	assert_int_equal(end(world), SMFIS_ACCEPT);
	assert_outcome(state, EMAIL_SENT);
}

/* What was sent stays sent, whoever tries the ticket again. */
static void test_mismatch_after_sent(void **state)
{
	struct world *world = world_of(state);

	our_message(world);
	assert_int_equal(end(world), SMFIS_ACCEPT);
	our_message(world);
	header(world, "From", "evil@example.com");
	assert_int_equal(end(world), SMFIS_REJECT);
	assert_outcome(state, EMAIL_SENT);
}

static void test_messages_do_not_mix(void **state)
{
	struct world *world = world_of(state);

	our_message(world);
	assert_int_equal(end(world), SMFIS_ACCEPT);
	mail(world, "<a@other.test>");
	assert_int_equal(end(world), SMFIS_ACCEPT);
	assert_stripped(world, "");
	our_message(world);
	abort_message(world);
	mail(world, "<hello@example.com>");
	assert_int_equal(end(world), SMFIS_REJECT);
	assert_reply(world, "550", "must be sent with an API key");
	our_message(world);
	mail(world, "<a@other.test>"); /* without an abort */
	assert_int_equal(end(world), SMFIS_ACCEPT);
	assert_stripped(world, "");
	abort_message(world);
	abort_message(world);
}

static void test_external(void **state)
{
	struct world *world = world_of(state);

	connect_from(world, "192.0.2.1");
	our_message(world);
	assert_int_equal(end(world), SMFIS_ACCEPT);
	assert_stripped(world, "X-Postern-Ticket#1");
	assert_outcome(state, EMAIL_STAGED);
	mail(world, "<hello@example.com>");
	assert_int_equal(end(world), SMFIS_ACCEPT);
	world->fake.login = "bob";
	mail(world, "<hello@example.com>");
	assert_int_equal(end(world), SMFIS_REJECT);
	world->fake.login = "";
	mail(world, "<hello@example.com>");
	assert_int_equal(end(world), SMFIS_ACCEPT);
	world->fake.login = NULL;
	mail(world, "<hello@example.com>");
	assert_int_equal(end(world), SMFIS_ACCEPT);
}

static void test_strip_fails(void **state)
{
	struct world *world = world_of(state);

	world->fake.chgheader_fails = true;
	our_message(world);
	assert_int_equal(end(world), SMFIS_TEMPFAIL);
	assert_reply(world, "451", "try again");
	assert_outcome(state, EMAIL_STAGED);
	mail(world, "<a@other.test>");
	header(world, "X-Postern-Ticket", "forged");
	assert_int_equal(end(world), SMFIS_TEMPFAIL);
}

static void test_store_fails(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = world_of(state);

	OK(db_exec(temp->db, "ALTER TABLE domain RENAME TO gone", &why));
	mail(world, "<a@other.test>");
	assert_int_equal(end(world), SMFIS_TEMPFAIL);
	assert_reply(world, "451", "try again later");
	assert_string_equal(world->fake.status, "4.7.1");
	OK(db_exec(temp->db, "ALTER TABLE gone RENAME TO domain", &why));
	mail(world, "<a@other.test>");
	assert_int_equal(end(world), SMFIS_ACCEPT);
}

/* Reading works, writing does not: nothing is accepted unrecorded. */
static void test_record_fails(void **state)
{
	struct temp_db *temp = *state;
	struct world *world = world_of(state);

	OK(db_exec(temp->db,
		"CREATE TRIGGER no BEFORE UPDATE ON email BEGIN"
		" SELECT RAISE (ABORT, 'no'); END;"
		"CREATE TRIGGER nor BEFORE INSERT ON refusal BEGIN"
		" SELECT RAISE (ABORT, 'no'); END",
		&why));
	our_message(world);
	assert_int_equal(end(world), SMFIS_TEMPFAIL);
	assert_reply(world, "451", "cannot be recorded");
	our_message(world);
	header(world, "From", "evil@example.com");
	assert_int_equal(end(world), SMFIS_TEMPFAIL);
	assert_outcome(state, EMAIL_STAGED);
	OK(db_exec(temp->db, "DROP TRIGGER no", &why));
	our_message(world);
	assert_int_equal(end(world), SMFIS_ACCEPT);
	assert_outcome(state, EMAIL_SENT);
}

static void test_too_many_fields(void **state)
{
	struct world *world = world_of(state);

	mail(world, "<a@other.test>");
	for (int i = 0; i < 10000; i++)
		header(world, "X-Postern-Ticket", "forged");
	assert_int_equal(end(world), SMFIS_REJECT);
	assert_reply(world, "550", "more header fields");
}

static void test_closed_in_the_middle(void **state)
{
	struct world *world = world_of(state);

	our_message(world);
	assert_false(drain_wait(world->service->drain, 0));
	fake_smfi_callbacks.xxfi_close(fake_smfi_ctx(&world->fake));
	assert_true(drain_wait(world->service->drain, 0));
	connect_from(world, "127.0.0.1");
}

static sfsistat next_mail(struct world *world)
{
	mail(world, "<a@other.test>");
	return SMFIS_NOREPLY;
}

static sfsistat next_abort(struct world *world)
{
	return fake_smfi_callbacks.xxfi_abort(fake_smfi_ctx(&world->fake));
}

static sfsistat next_close(struct world *world)
{
	fake_smfi_callbacks.xxfi_close(fake_smfi_ctx(&world->fake));
	connect_from(world, "127.0.0.1");
	return SMFIS_NOREPLY;
}

/* An answer counts as written when libmilter goes on with the connection. */
static void test_answers(void **state)
{
	static sfsistat (*const nexts[])(struct world *) = {
		next_mail, next_abort, next_close};
	struct world *world = world_of(state);
	struct drain *drain = world->service->drain;

	for (size_t i = 0; i < ARRAY_SIZE(nexts); i++) {
		our_message(world);
		assert_true(drain_wait_answers(drain, 0));
		assert_int_equal(end(world), SMFIS_ACCEPT);
		assert_false(drain_wait_answers(drain, 0));
		nexts[i](world);
		assert_true(drain_wait_answers(drain, 0));
	}
}

static void test_reload(void **state)
{
	struct world *world = world_of(state);
	struct err err = ERR_INIT;

	free(world->conf->milter.internal_hosts);
	world->conf->milter.internal_hosts = mem_strdup("10.0.0.0/8, bogus");
	assert_int_equal(service_reload(world->service, world->conf, &err), -1);
	assert_non_null(strstr(err.text, "internal_hosts"));
	free(world->conf->milter.internal_hosts);
	world->conf->milter.internal_hosts = mem_strdup("192.0.2.0/24");
	world->service->log = log_new("test", LOG_TARGET_STDERR, LOG_LEVEL_ERROR);
	OK(service_reload(world->service, world->conf, &why));
	log_free(world->service->log);
	world->service->log = NULL;
	connect_from(world, "192.0.2.1");
	mail(world, "<hello@example.com>");
	assert_int_equal(end(world), SMFIS_REJECT);
	connect_from(world, "10.0.0.1");
	mail(world, "<hello@example.com>");
	assert_int_equal(end(world), SMFIS_ACCEPT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_negotiate),
		TEST(test_negotiate_with_less),
		TEST(test_ours_is_recorded),
		TEST(test_ours_comes_again),
		TEST(test_no_ticket),
		TEST(test_others_pass),
		TEST(test_tickets_of_others_come_off),
		TEST(test_mismatch_leaves_the_email),
		TEST(test_mismatch_after_sent),
		TEST(test_messages_do_not_mix),
		TEST(test_external),
		TEST(test_strip_fails),
		TEST(test_store_fails),
		TEST(test_record_fails),
		TEST(test_too_many_fields),
		TEST(test_closed_in_the_middle),
		TEST(test_answers),
		TEST(test_reload),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
