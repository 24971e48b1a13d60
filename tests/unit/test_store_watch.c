/* store_watch: what a look sees that comes after another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/store/company/store_domain.h"
#include "core/store/email/store_email.h"
#include "core/store/company/store_key.h"
#include "core/store/host/store_refusal.h"
#include "core/store/store_watch.h"
#include "tests/unit/temp_db.h"

enum { EMAILS = 1 << WATCH_EMAILS, REFUSALS = 1 << WATCH_REFUSALS };
enum { TENANTS = 1 << WATCH_TENANTS };

#define NOW_US (INT64_C(1000) * 3600 * 1000000)

/* Of all, of the company that things happen to, and of another one. */
struct looks {
	struct store_watch all, own, other;
	struct temp_tenant tenant, stranger;
};

static unsigned look(struct db *db, const char *company_id, struct store_watch *watch)
{
	unsigned changed = 99;

	OK(store_watch_look(db, company_id, NOW_US, watch, &changed, &why));
	return changed;
}

static void expect(struct db *db, struct looks *looks, unsigned changed)
{
	assert_int_equal(look(db, NULL, &looks->all), changed);
	assert_int_equal(look(db, looks->tenant.company_id, &looks->own), changed);
	assert_int_equal(look(db, looks->stranger.company_id, &looks->other), 0);
	/* Once is enough. */
	assert_int_equal(look(db, NULL, &looks->all), 0);
	assert_int_equal(look(db, looks->tenant.company_id, &looks->own), 0);
}

static void begin(struct db *db, struct looks *looks)
{
	*looks = (struct looks){0};
	temp_db_tenant(db, "Acme", "a.test", &looks->tenant);
	temp_db_tenant(db, "Other", "b.test", &looks->stranger);
	expect(db, looks, 0);
}

static void test_emails(void **state)
{
	struct temp_db *temp = *state;
	struct looks looks;
	struct email email;

	begin(temp->db, &looks);
	temp_db_email(&looks.tenant, &email);
	OK(store_email_stage(temp->db, &email, &why));
	expect(temp->db, &looks, EMAILS);
	/* What the milter decides is another change of the same row. */
	OK(db_exec(temp->db, "UPDATE email SET state = 'sent', last_event = 'sent'", &why));
	expect(temp->db, &looks, EMAILS);
	OK(db_exec(temp->db, "UPDATE email SET last_event = 'delivered'", &why));
	expect(temp->db, &looks, EMAILS);
	store_email_clear(&email);
}

/* Of an email that is not among the newest the events tell. */
static void test_events(void **state)
{
	static const char sql_count[] =
		"INSERT INTO event_count (company_id, hour_us, domain, kind,"
		" count) VALUES ($company, $hour, 'a.test', 'delivered', 1)"
		" ON CONFLICT (company_id, hour_us, domain, kind)"
		" DO UPDATE SET count = event_count.count + 1";
	struct temp_db *temp = *state;
	struct looks looks;

	begin(temp->db, &looks);
	OK(db_exec(temp->db, "UPDATE event_last SET seq = seq + 1", &why));
	assert_int_equal(look(temp->db, NULL, &looks.all), EMAILS);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(db_change(temp->db, sql_count,
					 DB_PARAMS(DB_TEXT("$company", looks.tenant.company_id),
						 DB_INT("$hour", NOW_US)),
					 NULL),
			1);
		assert_int_equal(look(temp->db, looks.tenant.company_id, &looks.own), EMAILS);
		assert_int_equal(look(temp->db, looks.stranger.company_id, &looks.other), 0);
	}
}

static void note(struct db *db, const char *domain, int64_t now_us)
{
	const struct refusal_note note = {.reason = "none",
		.domain = domain,
		.sender = "ann@a.test",
		.now_us = now_us,
		.keep = 100};

	OK(store_refusal_note(db, &note, &why));
}

static void test_refusals(void **state)
{
	struct temp_db *temp = *state;
	struct looks looks;

	begin(temp->db, &looks);
	note(temp->db, "a.test", NOW_US);
	expect(temp->db, &looks, REFUSALS);
	/* Counted in the same row. */
	note(temp->db, "a.test", NOW_US + 20);
	expect(temp->db, &looks, REFUSALS);
	/* Nobody's domain: operators alone. */
	note(temp->db, "c.test", NOW_US + 30);
	assert_int_equal(look(temp->db, NULL, &looks.all), REFUSALS);
	assert_int_equal(look(temp->db, looks.tenant.company_id, &looks.own), 0);
	/* Stored behind one that happened later. */
	note(temp->db, "a.test", NOW_US + 25);
	assert_int_equal(look(temp->db, looks.tenant.company_id, &looks.own), REFUSALS);
}

static void test_tenants(void **state)
{
	struct temp_db *temp = *state;
	struct looks looks;

	begin(temp->db, &looks);
	OK(temp_db_policy(temp->db, "a.test", POLICY_LEARN, &why) - 1);
	expect(temp->db, &looks, TENANTS);
	OK(store_key_revoke(temp->db, &(const struct key_range){0}, looks.tenant.key_id, 1, &why) -
		1);
	expect(temp->db, &looks, TENANTS);
	/* The use of a key is no change. */
	OK(store_key_touch(temp->db, looks.tenant.key_id, 2, &why));
	expect(temp->db, &looks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_emails, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_events, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_refusals, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_tenants, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
