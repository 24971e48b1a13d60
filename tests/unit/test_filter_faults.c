/*
 * The callbacks when something fails or ends early, and what a reload changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/unit/milter_play.h"

static void test_strip_fails(void **state)
{
	struct service_world *world = service_world_of(state);

	world->fake.chgheader_fails = true;
	milter_play_ours(world);
	milter_play_header(world, "X-Postern-Email-Id", "forged");
	assert_int_equal(milter_play_end(world), SMFIS_TEMPFAIL);
	milter_play_assert_reply(world, "451", "try again");
	service_world_assert_email(state, EMAIL_STAGED);
}

static void test_store_fails(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);

	OK(db_exec(temp->db, "ALTER TABLE domain RENAME TO gone", &why));
	milter_play_mail(world, "<a@example.com>");
	assert_int_equal(milter_play_end(world), SMFIS_TEMPFAIL);
	milter_play_assert_reply(world, "451", "try again later");
	assert_string_equal(world->fake.status, "4.7.1");
	milter_play_mail(world, "<a@other.test>");
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	OK(db_exec(temp->db, "ALTER TABLE gone RENAME TO domain", &why));
	milter_play_mail(world, "<a@other.test>");
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
}

/* Reading works, writing does not: nothing is accepted unrecorded. */
static void test_record_fails(void **state)
{
	struct temp_db *temp = *state;
	struct service_world *world = service_world_of(state);

	temp_db_forbid(temp->db, "UPDATE", "email");
	temp_db_forbid(temp->db, "INSERT", "refusal");
	milter_play_ours(world);
	assert_int_equal(milter_play_end(world), SMFIS_TEMPFAIL);
	milter_play_assert_reply(world, "451", "cannot be recorded");
	milter_play_ours(world);
	milter_play_header(world, "From", "evil@example.com");
	assert_int_equal(milter_play_end(world), SMFIS_TEMPFAIL);
	service_world_assert_email(state, EMAIL_STAGED);
	temp_db_allow(temp->db, "UPDATE", "email");
	milter_play_ours(world);
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
	service_world_assert_email(state, EMAIL_SENT);
}

static void test_too_many_fields(void **state)
{
	struct service_world *world = service_world_of(state);

	milter_play_mail(world, "<a@other.test>");
	for (int i = 0; i < 10000; i++)
		milter_play_header(world, "Sender", "a@other.test");
	assert_int_equal(milter_play_end(world), SMFIS_REJECT);
	milter_play_assert_reply(world, "550", "more header fields");
}

/* What Postfix still has to say to a milter that ends is put off. */
static void test_service_closes(void **state)
{
	struct service_world *world = service_world_of(state);

	milter_play_ours(world);
	service_close(world->service);
	assert_int_equal(milter_play_end(world), SMFIS_TEMPFAIL);
	service_world_assert_email(state, EMAIL_STAGED);
	milter_play_ours(world);
	assert_int_equal(milter_play_end(world), SMFIS_TEMPFAIL);
	milter_play_close(world);
	service_free(world->service);
	OK(service_open(world->conf, NULL, &world->service, &why));
}

static void test_reload(void **state)
{
	struct service_world *world = service_world_of(state);
	struct err err = ERR_INIT;

	free(world->conf->milter.internal_hosts);
	world->conf->milter.internal_hosts = mem_strdup("10.0.0.0/8, bogus");
	assert_int_equal(service_reload(world->service, world->conf, &err), -1);
	assert_non_null(strstr(err.text, "internal_hosts"));
	free(world->conf->milter.internal_hosts);
	world->conf->milter.internal_hosts = mem_strdup("192.0.2.0/24");
	service_world_reload(world);
	milter_play_connect(world, "192.0.2.1");
	milter_play_mail(world, "<hello@example.com>");
	assert_int_equal(milter_play_end(world), SMFIS_REJECT);
	milter_play_connect(world, "10.0.0.1");
	milter_play_mail(world, "<hello@example.com>");
	assert_int_equal(milter_play_end(world), SMFIS_ACCEPT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, milter_play_setup, milter_play_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_strip_fails),
		TEST(test_store_fails),
		TEST(test_record_fails),
		TEST(test_too_many_fields),
		TEST(test_service_closes),
		TEST(test_reload),
	};

	assert_int_equal(secret_init(), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
