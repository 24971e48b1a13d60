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
#include "core/store/event/outcome.h"
#include "core/store/event/store_outcome.h"
#include "core/store/outbox/store_backlog.h"
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
	/* No class is empty: delays that grow by a tenth pass through all of them. */
	for (int64_t delay_us = 1000, class = 0; class < OUTCOME_DELAYS - 1;
		delay_us += delay_us / 10) {
		int64_t next = (int64_t)outcome_delay_class(delay_us);

		assert_true(next == class || next == class + 1);
		class = next;
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

static int add(struct temp_db *temp, const char *company_id, const char *domain, int64_t at_us,
	bool domain_only)
{
	const struct outcome_event event = {
		.company_id = company_id,
		.domain = domain,
		.address = "ann@dst.test",
		.kind = EVENT_BOUNCED,
		.occurred_us = at_us,
		.dsn = "5.2.2",
	};
	struct outcome_tally *tally = outcome_tally_new();
	int result;

	/* Many others in between, so that the table grows. */
	for (int i = 0; i < 2; i++) {
		outcome_tally_add(tally, &event, domain_only);
		for (int hours = 1; hours < 100; hours++) {
			struct outcome_event other = event;

			other.company_id = "other";
			other.occurred_us = at_us % HOUR_US + hours * HOUR_US;
			outcome_tally_add(tally, &other, true);
		}
	}
	result = outcome_tally_write(temp->db, tally, 0, NULL);
	outcome_tally_free(tally);
	return result;
}

static void expect(struct temp_db *temp, const struct outcome_filter *filter, bool by_step,
	size_t n, int64_t first, int64_t last)
{
	struct outcome_counts counts;

	assert_int_equal(
		store_outcome_counts(temp->db, filter, OUTCOME_REASON, by_step, &counts, NULL), 0);
	assert_int_equal(counts.n, n);
	if (n > 0) {
		assert_int_equal(counts.items[0].count, first);
		assert_int_equal(counts.items[n - 1].count, last);
		assert_string_equal(counts.items[n - 1].name, "full");
		assert_int_equal(counts.items[n - 1].kind, EVENT_BOUNCED);
	}
	store_outcome_counts_free(&counts);
}

/* Of a domain, a company and all, by hour, day and the whole time; hours go after some weeks. */
static void test_counts(void **state)
{
	enum { HOURS = 26 };
	struct temp_db *temp = *state;
	const int64_t day = 20000 * DAY_US, later = day + (OUTCOME_HOURS_DAYS + 1) * DAY_US;
	struct outcome_filter filter = {
		.step = OUTCOME_HOUR, .begin_us = day, .end_us = day + 2 * DAY_US};
	struct temp_tenant tenant;
	const char *one;

	temp_db_tenant(temp->db, "One", "one.test", &tenant);
	one = tenant.company_id;
	for (int64_t i = 0; i < HOURS; i++)
		assert_int_equal(add(temp, one, "one.test", day + i * HOUR_US, false), 0);
	assert_int_equal(add(temp, "b", "b.test", day, false), 0);
	assert_int_equal(add(temp, one, "two.test", day, true), 0);

	filter.company_id = one;
	expect(temp, &filter, true, HOURS, 2, 2);
	filter.domain = "two.test";
	expect(temp, &filter, true, 1, 2, 2);
	filter.domain = "one.test";
	expect(temp, &filter, true, HOURS, 2, 2);
	filter.step = OUTCOME_DAY;
	expect(temp, &filter, true, 2, 48, 4);
	filter.company_id = "b";
	expect(temp, &filter, true, 0, 0, 0);
	filter.company_id = filter.domain = NULL;
	expect(temp, &filter, true, 2, 50, 4);
	expect(temp, &filter, false, 1, 54, 54);

	assert_int_equal(add(temp, one, "one.test", later, false), 0);
	assert_int_equal(store_outcome_clean(temp->db, later, NULL), 0);
	filter.company_id = one;
	filter.step = OUTCOME_HOUR;
	expect(temp, &filter, true, 2, 2, 2);
	filter.step = OUTCOME_DAY;
	expect(temp, &filter, true, 2, 48, 4);
}

static void add_event(struct temp_db *temp, const struct email *email, int64_t seq, int64_t day_us)
{
	static const char sql_event[] =
		"INSERT INTO event (seq, key, email, n, domain, kind, attempt, occurred_us,"
		"   recorded_us, dsn, source, company_id)"
		" VALUES ($seq, $key, $email, 0, 'example.com', 'bounced', 1, $day,"
		"   $day + $seq, '5.2.2', 'log', $company)";

	OK(db_change(temp->db, sql_event,
		   DB_PARAMS(DB_INT("$seq", seq), DB_BLOB("$key", &seq, sizeof(seq)),
			   DB_INT("$email", email->seq), DB_INT("$day", day_us),
			   DB_TEXT("$company", email->company_id)),
		   &why) == 1
			? 0
			: -1);
}

/* Events from before are counted in steps, from the newest on: of the domain in any case; of the
 * company and of all, unless they were. */
static void test_fill(void **state)
{
	enum { EVENTS = 250, COUNTED = 50 };
	static const char sql_fill[] =
		"UPDATE outcome_fill SET next_seq = $events, counted_us = $counted";
	static const char sql_domain[] =
		"INSERT INTO event_domain (domain, company_id) VALUES ('example.com', $company)";
	struct temp_db *temp = *state;
	const int64_t day = 20000 * DAY_US, now = day + 100 * DAY_US;
	struct outcome_filter filter = {.step = OUTCOME_DAY, .end_us = INT64_MAX};
	struct temp_tenant tenant;
	struct email email;
	int64_t missing;

	temp_db_staged(temp->db, &tenant, &email);
	assert_int_equal(store_outcome_fill(temp->db, 0, now, NULL), 0);
	OK(store_outcome_missing(temp->db, &missing, &why));
	assert_int_equal(missing, 0);
	assert_int_equal(db_change(temp->db, sql_domain,
				 DB_PARAMS(DB_TEXT("$company", tenant.company_id)), NULL),
		1);
	for (int64_t seq = 1; seq <= EVENTS; seq++)
		add_event(temp, &email, seq, seq <= EVENTS / 2 ? day : now);
	assert_int_equal(db_change(temp->db, sql_fill,
				 DB_PARAMS(DB_INT("$events", EVENTS),
					 DB_INT("$counted", now + EVENTS - COUNTED + 1)),
				 NULL),
		1);

	assert_int_equal(store_outcome_fill(temp->db, 0, now, NULL), 1);
	expect(temp, &filter, true, 1, 50, 50);
	OK(store_outcome_missing(temp->db, &missing, &why));
	assert_int_equal(missing, 59);
	assert_int_equal(store_outcome_fill(temp->db, 0, now, NULL), 1);
	assert_int_equal(store_outcome_fill(temp->db, 0, now, NULL), 0);
	assert_int_equal(store_outcome_fill(temp->db, 0, now, NULL), 0);
	OK(store_outcome_missing(temp->db, &missing, &why));
	assert_int_equal(missing, 0);
	expect(temp, &filter, true, 2, 125, 75);
	filter.domain = "example.com";
	expect(temp, &filter, true, 2, 125, 125);
	filter.company_id = tenant.company_id;
	expect(temp, &filter, false, 1, 250, 250);
	filter.domain = NULL;
	expect(temp, &filter, false, 1, 200, 200);
	/* Hours of so long ago are not kept. */
	filter.step = OUTCOME_HOUR;
	expect(temp, &filter, true, 1, 75, 75);
	store_email_clear(&email);
}

static void test_samples(void **state)
{
	struct temp_db *temp = *state;
	const int64_t hour = 20000 * DAY_US;
	static const char sql_outbox[] =
		"INSERT INTO outbox (email, company_id, size, due_us)"
		" VALUES ($email, $company, 1, $due)"
		" ON CONFLICT (email)"
		" DO UPDATE SET due_us = excluded.due_us";
	static const char sql_host[] = "UPDATE email SET host = 'other.example'";
	static const char sql_sent[] = "UPDATE email SET state = 'sent', last_event = 'sent'";
	struct backlog_samples samples;
	struct temp_tenant tenant;
	struct email email;

	assert_int_equal(store_backlog_sample(temp->db, hour + SECOND_US, NULL), 1);
	temp_db_staged(temp->db, &tenant, &email);
	/* Not twice in the same five minutes. */
	assert_int_equal(store_backlog_sample(temp->db, hour + 2 * SECOND_US, NULL), 0);
	/* Also what is in the outbox of another host. */
	assert_int_equal(db_change(temp->db, sql_host, NULL, NULL), 1);
	assert_int_equal(store_backlog_sample(temp->db, hour + 400 * SECOND_US, NULL), 1);
	assert_int_equal(db_change(temp->db, sql_sent, NULL, NULL), 1);
	assert_int_equal(store_backlog_sample(temp->db, hour + HOUR_US, NULL), 1);
	assert_int_equal(
		store_backlog_samples(temp->db, NULL, hour, hour + DAY_US, HOUR_US, &samples, NULL),
		0);
	assert_int_equal(samples.n, 2);
	assert_int_equal(samples.items[0].time_us, hour);
	assert_int_equal(samples.items[0].outbox, 1);
	assert_int_equal(samples.items[0].queue, 0);
	assert_int_equal(samples.items[1].outbox, 0);
	assert_int_equal(samples.items[1].queue, 1);
	store_backlog_samples_free(&samples);
	/* Of a company: what waited, and nothing where only others did. */
	for (int due = 0; due < 2; due++) {
		char last[ID_SIZE] = "";

		assert_int_equal(db_change(temp->db, sql_outbox,
					 DB_PARAMS(DB_INT("$email", email.seq), DB_INT("$due", due),
						 DB_TEXT("$company", tenant.company_id)),
					 NULL),
			1);
		assert_int_equal(store_backlog_sample_companies(
					 temp->db, last, SECOND_US, hour + due * HOUR_US, NULL),
			0);
	}
	store_email_clear(&email);
	assert_int_equal(store_backlog_samples(temp->db, tenant.company_id, hour, hour + DAY_US,
				 HOUR_US, &samples, NULL),
		0);
	assert_int_equal(samples.n, 2);
	assert_int_equal(samples.items[0].outbox, 0);
	assert_int_equal(samples.items[1].outbox, 1);
	store_backlog_samples_free(&samples);
	/* The oldest go. */
	assert_int_equal(
		store_backlog_sample(temp->db, hour + (BACKLOG_SAMPLE_DAYS + 1) * DAY_US, NULL), 1);
	assert_int_equal(
		store_backlog_samples(temp->db, NULL, 0, INT64_MAX, HOUR_US, &samples, NULL), 0);
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
		cmocka_unit_test_setup_teardown(test_fill, temp_db_setup, temp_db_teardown),
		cmocka_unit_test_setup_teardown(test_samples, temp_db_setup, temp_db_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
