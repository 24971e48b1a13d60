/*
 * probe_report: what a probe means, and when the next one is due.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/store/row.h"
#include "httpd/send/probe_report.h"

#define SEEN .message = PROBE_TAKEN, .seen = true

static const struct {
	struct probe_facts facts;
	enum probe_finding finding;
} findings[] = {
	/* Before there is a message. */
	{{0}, PROBE_NONE},
	{{.postfix_over = true}, PROBE_POSTFIX},
	{{.postfix_over = true, .milter_silent = true, .store_failed = true}, PROBE_POSTFIX},
	{{.milter_silent = true, .store_failed = true}, PROBE_MILTER},
	{{.milter_silent = true, .unguarded = true}, PROBE_BYPASSED},
	{{.store_failed = true, .message = PROBE_SENT}, PROBE_STORE},
	{{.blamed = true}, PROBE_UNASKED},
	{{.unchecked = true, .unguarded = true, .clock_behind = true}, PROBE_NONE},
	/* It is on its way. */
	{{.message = PROBE_SENT}, PROBE_NONE},
	{{.message = PROBE_SENT, .overdue = true}, PROBE_UNANSWERED},
	{{.message = PROBE_SENT, .overdue = true, .others_seen = true}, PROBE_PASSED},
	{{.message = PROBE_TAKEN}, PROBE_NONE},
	{{.message = PROBE_TAKEN, .overdue = true}, PROBE_UNASKED},
	{{.message = PROBE_TAKEN, .overdue = true, .others_seen = true}, PROBE_PASSED},
	{{.message = PROBE_TAKEN, .others_seen = true}, PROBE_PASSED},
	{{.message = PROBE_NOT_TAKEN}, PROBE_REFUSED},
	{{.message = PROBE_NOT_TAKEN, .seen = true, .overdue = true}, PROBE_REFUSED},
	/* The milter has seen it. */
	{{SEEN}, PROBE_PASSED},
	{{SEEN, .overdue = true, .refusal = ""}, PROBE_PASSED},
	{{SEEN, .refusal = "milter-reject: END-OF-MESSAGE from x[1.2.3.4]: 5.7.1 No"},
		PROBE_REFUSED},
	{{SEEN, .refusal = "milter-reject: END-OF-MESSAGE from x[1.2.3.4]: 4.7.1 No"},
		PROBE_PUT_OFF},
	{{SEEN, .refusal = "milter-hold: END-OF-MESSAGE from x[1.2.3.4]: HOLD"}, PROBE_PUT_OFF},
	{{SEEN, .refusal = "hold: header Subject: 5"}, PROBE_PUT_OFF},
	{{SEEN, .refusal = "discard: header Subject: x"}, PROBE_REFUSED},
	{{.message = PROBE_TAKEN, .refusal = "reject: header x: 5.7.1 No"}, PROBE_REFUSED},
	{{SEEN, .changed = true}, PROBE_CHANGED},
	{{SEEN, .changed = true, .stuck = true, .unchecked = true}, PROBE_CHANGED},
	{{SEEN, .stuck = true}, PROBE_STUCK},
	{{SEEN, .wait_for_log = true}, PROBE_NONE},
	{{SEEN, .wait_for_log = true, .unchecked = true}, PROBE_NONE},
	{{SEEN, .wait_for_log = true, .taken = true}, PROBE_PASSED},
	/* Nothing is wrong with the message. */
	{{SEEN, .unchecked = true, .unguarded = true, .clock_behind = true}, PROBE_UNCHECKED},
	{{SEEN, .unguarded = true, .clock_behind = true}, PROBE_UNGUARDED},
	{{SEEN, .clock_behind = true}, PROBE_CLOCK},
};

static void test_judge(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(findings); i++)
		if (probe_judge(&findings[i].facts) != findings[i].finding)
			fail_msg("row %zu: %s, not %s", i,
				probe_finding_words(probe_judge(&findings[i].facts)),
				probe_finding_words(findings[i].finding));
}

/* Each fault has an effect and a cure; only those serve that stop no email. */
static void test_findings(void **state)
{
	(void)state;
	for (enum probe_finding i = 0; i < PROBE_FINDINGS; i++) {
		assert_non_null(probe_finding_words(i));
		assert_true(probe_is_good(i) == (i <= PROBE_PASSED));
		assert_true(probe_is_good(i) == (probe_finding_hint(i) == NULL));
		assert_true(probe_is_good(i) == (probe_finding_effect(i) == NULL));
		assert_true(probe_serves(i) == (i <= PROBE_PASSED || i >= PROBE_UNCHECKED));
	}
}

static void test_patience(void **state)
{
	static const struct {
		int64_t interval_s, patience_s;
	} cases[] = {{1, 5}, {6, 5}, {15, 10}, {30, 20}, {60, 20}, {3600, 20}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_true(probe_patience_us(cases[i].interval_s * SECOND_US) ==
			    cases[i].patience_s * SECOND_US);
}

static void test_pause(void **state)
{
	static const struct {
		enum probe_finding finding;
		unsigned in_row;
		int64_t pause_s;
	} cases[] = {
		{PROBE_NONE, 0, 30},
		{PROBE_PASSED, 1, 30},
		{PROBE_PASSED, 1000, 30},
		{PROBE_MILTER, 1000, 30}, /* nothing is left behind */
		{PROBE_POSTFIX, 1000, 30},
		{PROBE_STUCK, 1000, 30},
		{PROBE_CHANGED, 1000, 30},
		{PROBE_UNASKED, 0, 30},
		{PROBE_UNASKED, 1, 30},
		{PROBE_UNASKED, 2, 60},
		{PROBE_UNASKED, 3, 120},
		{PROBE_UNASKED, 4000000000, 120},
		{PROBE_REFUSED, 2, 60},
		{PROBE_PUT_OFF, 9, 120},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_true(probe_pause_us(30 * SECOND_US, cases[i].finding, cases[i].in_row) ==
			    cases[i].pause_s * SECOND_US);
}

static void test_log(void **state)
{
	static const struct {
		struct probe_log log; /* in seconds */
		enum probe_log_finding finding;
	} cases[] = {
		/* alive, read to end, seen, logged, taken, others */
		{{true, 200, 100, 101, 102, 102}, PROBE_LOG_TAKEN},
		{{false, 0, 100, 101, 102, 0}, PROBE_LOG_TAKEN},
		{{true, 200, 0, 0, 0, 0}, PROBE_LOG_WAIT},
		{{true, 105, 100, 0, 0, 0}, PROBE_LOG_WAIT},
		{{true, 120, 100, 0, 0, 0}, PROBE_LOG_MUTE},
		{{true, 120, 100, 0, 0, 119}, PROBE_LOG_MUTE},
		{{false, 120, 100, 0, 0, 0}, PROBE_LOG_WAIT},
		{{true, 120, 100, 101, 0, 99}, PROBE_LOG_STUCK},
		{{true, 120, 100, 101, 0, 110}, PROBE_LOG_WAIT},
		{{true, 119, 100, 101, 0, 99}, PROBE_LOG_WAIT},
		{{false, 120, 100, 101, 0, 99}, PROBE_LOG_WAIT},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (probe_log_judge(&cases[i].log, 20) != cases[i].finding)
			fail_msg("row %zu", i);
}

/* Who reads the log: its file of metrics, and what the log tells. */
static void test_reader(void **state)
{
	static const struct {
		enum metrics_found found;
		int64_t start_us, read_to_end_us, failing;
		bool mute;
		enum reader_fault fault;
	} cases[] = {
		{METRICS_LIVE, 0, 100, 0, false, READER_WELL},
		{METRICS_LIVE, 0, 100, 0, true, READER_MUTE},
		{METRICS_LIVE, 0, 100, 1, true, READER_FAILING},
		{METRICS_LIVE, 100, 0, 0, false, READER_WELL},
		{METRICS_LIVE, 0, 99, 0, true, READER_BEHIND},
		{METRICS_LIVE, 99, 0, 0, false, READER_BEHIND},
		{METRICS_LIVE, 99, 0, 1, false, READER_FAILING},
		{METRICS_ENDED, 100, 100, 1, true, READER_AWAY},
		{METRICS_MISSING, 0, 0, 0, false, READER_AWAY},
		{METRICS_UNREADABLE, 0, 0, 0, true, READER_UNSEEN},
		{METRICS_MISSING, 100, 100, 0, false, READER_AWAY},
		{METRICS_FOREIGN, 100, 100, 0, false, READER_FOREIGN},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct metrics_events values = {.read_to_end_us = cases[i].read_to_end_us,
			.process.start_us = cases[i].start_us,
			.failing = cases[i].failing};
		enum reader_fault fault = reader_judge(
			cases[i].found, &values, cases[i].mute, 99 + READER_BEHIND_US);

		if (fault != cases[i].fault)
			fail_msg("row %zu", i);
		assert_true((fault == READER_WELL) == (reader_fault_hint(fault) == NULL));
	}
}

/* What was found is told to all alike. */
static void test_report(void **state)
{
	struct probe_report *report = probe_report_new(NULL);
	struct probe_outcome outcome;

	(void)state;
	probe_report_get(report, &outcome);
	assert_int_equal(outcome.finding, PROBE_NONE);
	probe_report_set(report, PROBE_MILTER, "it is away", 5);
	probe_report_set(report, PROBE_MILTER, "it is still away", 6);
	probe_report_get(report, &outcome);
	assert_true(outcome.since_us == 5 && outcome.at_us == 6);
	assert_string_equal(outcome.cause, "it is still away");
	probe_report_set(report, PROBE_PASSED, "", 7);
	probe_report_set_reader(report, READER_MUTE);
	probe_report_set_order(report, "smtpd_milters");
	probe_report_set_fault(report, FAULT_SETTINGS, "line 1");
	probe_report_set_fault(report, FAULT_FULL, "it is");
	probe_report_set_fault(report, FAULT_FULL, "");
	probe_report_get(report, &outcome);
	assert_true(outcome.since_us == 7 && outcome.reader == READER_MUTE);
	assert_string_equal(outcome.order, "smtpd_milters");
	for (enum service_fault i = 0; i < SERVICE_FAULTS; i++)
		assert_string_equal(outcome.faults[i], i == FAULT_SETTINGS ? "line 1" : "");
	assert_true(probe_report_recorded_us(report) == 0);
	probe_report_recorded(report);
	assert_true(probe_report_recorded_us(report) > 0);
	probe_report_free(report);
}

static void check_as_of(struct probe_report *report, const char *host, int64_t read_us)
{
	json_t *as_of = probe_report_as_of(report, host), *wanted = row_json_time(read_us);

	assert_true(json_equal(as_of, wanted));
	json_decref(as_of);
	json_decref(wanted);
}

/* What is known of an email is as old as what its host has read; of all, as the oldest. */
static void test_as_of(void **state)
{
	struct host_part parts[] = {
		{.host = (char *)"here", .part = (char *)"httpd", .read_us = 7 * SECOND_US},
		{.host = (char *)"here", .part = (char *)"milter"},
		{.host = (char *)"other", .part = (char *)"httpd", .read_us = 5 * SECOND_US},
	};
	const struct host_list hosts = {parts, ARRAY_SIZE(parts)};
	struct probe_report *report = probe_report_new(NULL);

	(void)state;
	check_as_of(report, NULL, 0);
	probe_report_set_read(report, 9 * SECOND_US);
	check_as_of(report, NULL, 9 * SECOND_US);
	check_as_of(report, "", 9 * SECOND_US);
	for (int i = 0; i < 2; i++) {
		probe_report_set_hosts(report, "here", &hosts);
		check_as_of(report, "", 9 * SECOND_US);
		check_as_of(report, "here", 9 * SECOND_US);
		check_as_of(report, "other", 5 * SECOND_US);
		check_as_of(report, "removed", 0);
		check_as_of(report, NULL, 5 * SECOND_US);
	}
	probe_report_set_read(report, 4 * SECOND_US);
	check_as_of(report, NULL, 4 * SECOND_US);
	probe_report_free(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_findings),
		cmocka_unit_test(test_patience),
		cmocka_unit_test(test_pause),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_reader),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_as_of),
	};

	return cmocka_run_group_tests_name("probe_report", tests, NULL, NULL);
}
