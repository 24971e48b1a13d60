/*
 * outcome: why, by whom, how long; and what store_outcome counts of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/outcome.h"
#include "core/store/store_outcome.h"
#include "tests/unit/temp_db.h"

static void test_reasons(void **state)
{
	static const struct {
		const char *dsn, *text, *reason;
	} cases[] = {
		{"5.1.1", "host mx[192.0.2.1] said: 550 5.1.1 User unknown", "no_mailbox"},
		{"5.1.10", "RESOLVER.ADR.RecipientNotFound", "no_mailbox"},
		{"5.1.2", "unknown domain", "no_domain"},
		{"5.4.4", "Host or domain name not found. Name service error", "no_domain"},
		{"4.4.1", "connect to mx[192.0.2.1]:25: Connection timed out", "unreachable"},
		{"5.2.1", "mailbox disabled", "disabled"},
		{"5.2.2", "quota exceeded", "full"},
		{"4.2.2", "mailbox full", "full"},
		{"5.3.4", "message size exceeds", "too_large"},
		{"5.2.3", NULL, "too_large"},
		{"5.7.1", "relay access denied", "policy"},
		{"5.7.26", "unauthenticated email", "policy"},
		{"5.7.1", "Message BLOCKED by content filter", "spam"},
		{"5.1.1", "listed at Spamhaus", "spam"},
		{NULL, "blocked", "spam"},
		{"5.1.8", "bad sender", "policy"},
		{"5.5.0", "unknown command", "other"},
		{"5.0.0", NULL, "other"},
		{"5.10.1", NULL, "other"},
		{"5", NULL, "other"},
		{"", "", "other"},
		{NULL, NULL, "other"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(outcome_reason(cases[i].dsn, cases[i].text), cases[i].reason);
}

static void test_providers(void **state)
{
	static const struct {
		const char *relay, *address, *provider;
	} cases[] = {
		{"gmail-smtp-in.l.google.com[192.0.2.1]:25", "a@shop.example", "google"},
		{"ALT1.ASPMX.L.GOOGLE.COM[2001:db8::1]:25", "a@shop.example", "google"},
		{"shop-example.mail.protection.outlook.com[192.0.2.1]:25", "a@b.example",
			"microsoft"},
		{"shop-example.n-v1.mx.microsoft[192.0.2.1]:25", "a@b.example", "microsoft"},
		{"smarthost.example[192.0.2.1]:587", "a@GMail.com", "google"},
		{NULL, "a@hotmail.com", "microsoft"},
		{"evilgoogle.com[192.0.2.1]:25", "a@notgmail.com", "other"},
		{"google.com.evil.example[192.0.2.1]:25", "a@b.example", "other"},
		{"none", "\"a@gmail.com\"@b.example", "other"},
		{NULL, "nobody", "other"},
		{NULL, NULL, "other"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(
			outcome_provider(cases[i].relay, cases[i].address), cases[i].provider);
}

static void test_delays(void **state)
{
	int64_t counts[OUTCOME_DELAYS] = {0};

	(void)state;
	assert_int_equal(outcome_delay_class(-1), 0);
	assert_int_equal(outcome_delay_class(49999), 0);
	assert_int_equal(outcome_delay_class(50000), 1);
	assert_int_equal(outcome_delay_class(INT64_MAX), OUTCOME_DELAYS - 1);
	for (size_t i = 1; i < OUTCOME_DELAYS; i++) {
		assert_true(outcome_delay_end_ms(i) > outcome_delay_end_ms(i - 1));
		assert_int_equal(outcome_delay_class(outcome_delay_end_ms(i - 1) * 1000), i);
	}
	assert_int_equal(outcome_delay_percentile_ms(counts, 50), -1);
	/* 100 between 500 ms and 1 s, 100 between 1 h and 2 h. */
	counts[outcome_delay_class(700 * 1000)] = 100;
	assert_int_equal(outcome_delay_percentile_ms(counts, 50), 750);
	assert_int_equal(outcome_delay_percentile_ms(counts, 100), 1000);
	counts[outcome_delay_class(5000 * SECOND_US)] = 100;
	assert_int_equal(outcome_delay_percentile_ms(counts, 50), 1000);
	assert_int_equal(outcome_delay_percentile_ms(counts, 95), 3600000 + 3600000 * 90 / 100);
}

/* Of a company and of all, by hour, day and the whole time; hours go after some weeks. */
static void test_counts(void **state)
{
	enum { HOURS = 26 };
	struct temp_db *temp = *state;
	const int64_t day = 20000 * DAY_US;
	struct outcome outcome = {
		.aspect = OUTCOME_REASON, .name = "full", .kind = EVENT_BOUNCED, .count = 2};
	struct outcome_filter filter = {
		.step = OUTCOME_HOUR, .begin_us = day, .end_us = day + 2 * DAY_US};
	struct outcome_counts counts;
	struct temp_tenant tenant;

	temp_db_tenant(temp->db, "One", "one.test", &tenant);
	outcome.company_id = filter.company_id = tenant.company_id;
	for (int64_t i = 0; i < HOURS; i++) {
		outcome.hour_us = day + i * HOUR_US;
		assert_int_equal(store_outcome_add(temp->db, &outcome, NULL), 0);
	}
	outcome.company_id = "b";
	assert_int_equal(store_outcome_add(temp->db, &outcome, NULL), 0);
	assert_int_equal(
		store_outcome_counts(temp->db, &filter, OUTCOME_REASON, true, &counts, NULL), 0);
	assert_int_equal(counts.n, HOURS);
	assert_int_equal(counts.items[1].time_us, day + HOUR_US);
	assert_int_equal(counts.items[1].count, 2);
	store_outcome_counts_free(&counts);
	filter.step = OUTCOME_DAY;
	filter.company_id = NULL;
	assert_int_equal(
		store_outcome_counts(temp->db, &filter, OUTCOME_REASON, true, &counts, NULL), 0);
	assert_int_equal(counts.n, 2);
	assert_int_equal(counts.items[0].count, 48);
	assert_int_equal(counts.items[1].count, 6);
	assert_string_equal(counts.items[1].name, "full");
	assert_int_equal(counts.items[1].kind, EVENT_BOUNCED);
	store_outcome_counts_free(&counts);
	assert_int_equal(
		store_outcome_counts(temp->db, &filter, OUTCOME_REASON, false, &counts, NULL), 0);
	assert_int_equal(counts.n, 1);
	assert_int_equal(counts.items[0].count, 54);
	store_outcome_counts_free(&counts);
	assert_int_equal(
		store_outcome_counts(temp->db, &filter, OUTCOME_DELAY, true, &counts, NULL), 0);
	assert_int_equal(counts.n, 0);
	store_outcome_counts_free(&counts);

	outcome.company_id = tenant.company_id;
	outcome.hour_us = day + (OUTCOME_HOURS_DAYS + 1) * DAY_US;
	assert_int_equal(store_outcome_add(temp->db, &outcome, NULL), 0);
	assert_int_equal(
		store_outcome_clean(temp->db, day + (OUTCOME_HOURS_DAYS + 1) * DAY_US, NULL), 0);
	filter.company_id = tenant.company_id;
	filter.step = OUTCOME_HOUR;
	assert_int_equal(
		store_outcome_counts(temp->db, &filter, OUTCOME_REASON, true, &counts, NULL), 0);
	assert_int_equal(counts.n, 2);
	store_outcome_counts_free(&counts);
	filter.step = OUTCOME_DAY;
	assert_int_equal(
		store_outcome_counts(temp->db, &filter, OUTCOME_REASON, true, &counts, NULL), 0);
	assert_int_equal(counts.n, 2);
	store_outcome_counts_free(&counts);
}

static void test_samples(void **state)
{
	struct temp_db *temp = *state;
	const int64_t hour = 20000 * DAY_US;
	struct backlog_samples samples;

	assert_int_equal(store_backlog_sample(temp->db, 5, hour + SECOND_US, NULL), 0);
	/* Not twice in the same five minutes. */
	assert_int_equal(store_backlog_sample(temp->db, 99, hour + 2 * SECOND_US, NULL), 0);
	assert_int_equal(store_backlog_sample(temp->db, 7, hour + 400 * SECOND_US, NULL), 0);
	assert_int_equal(store_backlog_sample(temp->db, 1, hour + HOUR_US, NULL), 0);
	assert_int_equal(
		store_backlog_samples(temp->db, hour, hour + DAY_US, HOUR_US, &samples, NULL), 0);
	assert_int_equal(samples.n, 2);
	assert_int_equal(samples.items[0].time_us, hour);
	assert_int_equal(samples.items[0].outbox, 7);
	assert_int_equal(samples.items[1].outbox, 1);
	store_backlog_samples_free(&samples);
	/* The oldest go. */
	assert_int_equal(
		store_backlog_sample(temp->db, 2, hour + (BACKLOG_SAMPLE_DAYS + 1) * DAY_US, NULL),
		0);
	assert_int_equal(store_backlog_samples(temp->db, 0, INT64_MAX, HOUR_US, &samples, NULL), 0);
	assert_int_equal(samples.n, 1);
	store_backlog_samples_free(&samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reasons),
		cmocka_unit_test(test_providers),
		cmocka_unit_test(test_delays),
		cmocka_unit_test_setup_teardown(test_counts, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_samples, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
