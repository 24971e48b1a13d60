/*
 * probe_report: the rules of probes, and the outcome of the last one.
 *
 * Threads: any; a mutex guards the outcome.
 */
#include "httpd/send/probe_report.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/row.h"

/* The longest pause, in intervals. */
enum { SLOWEST = 4 };

#define PATIENCE_MIN_US (5 * SECOND_US)
#define PATIENCE_MAX_US (20 * SECOND_US)

/* Texts for people. They must be true for every cause of the finding. */
static const struct {
	bool good;
	bool serves;
	bool rarer; /* see probe_pause_us() */
	const char *words;
	const char *effect;
	const char *hint;
} findings[PROBE_FINDINGS] = {
	[PROBE_NONE] = {.good = true, .serves = true, .words = "emails were not tried yet"},
	[PROBE_PASSED] = {.good = true, .serves = true, .words = "emails go out"},
	[PROBE_STORE] = {.words = "the store cannot be read or written",
		.effect = "emails are answered with 503, so programs keep them and try again; "
			  "what was accepted before is not lost",
		.hint = "make room on its disk, end the program that keeps others from writing, or "
			"correct the owner and rights of its files (postern doctor names them); "
			"replace a damaged one by a backup (postern db "
			"restore)"},
	[PROBE_POSTFIX] = {.words = "Postfix is not running",
		.effect = "emails wait in the outbox, nothing is lost",
		.hint = "start Postfix: systemctl start postfix"},
	[PROBE_MILTER] = {.words = "postern-milter does not answer",
		.effect = "emails wait in the outbox, and Postfix puts other mail off: nothing is "
			  "lost",
		.hint = "start it: systemctl restart postern-milter; if it ends again, journalctl "
			"-u postern-milter and postern doctor say why"},
	[PROBE_BYPASSED] = {.words = "postern-milter does not answer, and mail is not safe "
				     "meanwhile",
		.effect = "mail of other programs passes unchecked and unrecorded, or mail is lost",
		.hint = "start it: systemctl restart postern-milter; then run postern setup, which "
			"has Postfix wait for it"},
	[PROBE_REFUSED] = {.rarer = true,
		.words = "Postfix takes no email",
		.effect = "emails wait in the outbox, are answered with an error, or bounce",
		.hint = "run postern doctor"},
	[PROBE_PUT_OFF] = {.rarer = true,
		.words = "Postfix or another milter puts all mail off",
		.effect = "emails wait in Postfix's queue, nothing is lost",
		.hint = "correct the milter or the rule that Postfix's log names in that line"},
	[PROBE_UNANSWERED] = {.words = "Postfix does not answer in time",
		.effect = "emails wait in the outbox, nothing is lost",
		.hint = "run postern doctor, and look into Postfix's log"},
	[PROBE_UNASKED] = {.rarer = true,
		.words = "Postfix does not ask postern-milter",
		.effect = "emails wait, unrecorded; mail of other programs may pass unchecked",
		.hint = "run postern doctor, which names the cause; then postfix reload, and "
			"postern held release --waiting"},
	[PROBE_CHANGED] = {.words = "something changes emails on their way to postern-milter",
		.effect = "emails are refused as forgeries (ticket_mismatch)",
		.hint = "have no other milter, and no rule of Postfix, change the Message-ID "
			"or From before postern-milter is asked: postfix-conf/enable puts it first"},
	[PROBE_STUCK] = {.words = "Postfix's queue manager does not work",
		.effect = "emails are taken, and wait in Postfix's queue",
		.hint = "see Postfix's log for qmgr, and restart Postfix"},
	[PROBE_UNCHECKED] = {.serves = true,
		.words = "some mail is not checked by the rules",
		.effect = "emails of clients go out; mail of other programs passes unchecked and "
			  "unrecorded",
		.hint = "run postern doctor, which says more, and postfix-conf/enable; then "
			"postfix reload"},
	[PROBE_UNGUARDED] = {.serves = true,
		.words = "mail is not safe while postern-milter is away",
		.effect = "none while postern-milter runs; without it mail is lost, or passes "
			  "unchecked",
		.hint = "run postfix-conf/enable, then postfix reload"},
	[PROBE_CLOCK] = {.serves = true,
		.words = "the clock was put back",
		.effect = "emails go out; lists by time, retention and Idempotency-Keys go wrong",
		.hint = "see timedatectl status, and set the clock right"},
};

enum probe_finding probe_judge(const struct probe_facts *facts)
{
	const char *refusal = facts->refusal ? facts->refusal : "";
	bool seen = facts->seen || facts->others_seen;

	if (facts->postfix_over)
		return PROBE_POSTFIX;
	if (facts->milter_silent)
		return facts->unguarded ? PROBE_BYPASSED : PROBE_MILTER;
	if (facts->store_failed)
		return PROBE_STORE;
	if (facts->blamed)
		return PROBE_UNASKED;
	if (facts->message == PROBE_UNSENT)
		return PROBE_NONE;
	if (facts->message == PROBE_NOT_TAKEN)
		return PROBE_REFUSED;
	if (*refusal)
		return strstr(refusal, ": 4.") || str_starts(refusal, "hold") ||
				       str_starts(refusal, "milter-hold")
			       ? PROBE_PUT_OFF
			       : PROBE_REFUSED;
	if (!seen && !facts->overdue)
		return PROBE_NONE;
	if (!seen)
		return facts->message == PROBE_SENT ? PROBE_UNANSWERED : PROBE_UNASKED;
	if (facts->changed)
		return PROBE_CHANGED;
	if (facts->stuck)
		return PROBE_STUCK;
	/* A fault that only the log has shown ends only when the log says so. */
	if (facts->wait_for_log && !facts->taken)
		return PROBE_NONE;
	if (facts->unchecked)
		return PROBE_UNCHECKED;
	if (facts->unguarded)
		return PROBE_UNGUARDED;
	return facts->clock_behind ? PROBE_CLOCK : PROBE_PASSED;
}

int64_t probe_patience_us(int64_t interval_us)
{
	int64_t patience_us = interval_us * 2 / 3;

	if (patience_us < PATIENCE_MIN_US)
		return PATIENCE_MIN_US;
	return patience_us < PATIENCE_MAX_US ? patience_us : PATIENCE_MAX_US;
}

int64_t probe_pause_us(int64_t interval_us, enum probe_finding finding, unsigned in_row)
{
	int64_t slower = 1;

	if (findings[finding].rarer)
		for (unsigned i = 1; i < in_row && slower < SLOWEST; i++)
			slower *= 2;
	return interval_us * slower;
}

enum probe_log_finding probe_log_judge(const struct probe_log *log, int64_t patience_us)
{
	if (log->taken_us)
		return PROBE_LOG_TAKEN;
	if (!log->alive || log->seen_us == 0 || log->read_to_end_us < log->seen_us + patience_us)
		return PROBE_LOG_WAIT;
	if (log->logged_us == 0)
		return PROBE_LOG_MUTE;
	/* A busy queue manager picks up other messages first. */
	return log->others_us >= log->seen_us ? PROBE_LOG_WAIT : PROBE_LOG_STUCK;
}

bool probe_is_good(enum probe_finding finding)
{
	return findings[finding].good;
}

bool probe_serves(enum probe_finding finding)
{
	return findings[finding].serves;
}

const char *probe_finding_words(enum probe_finding finding)
{
	return findings[finding].words;
}

const char *probe_finding_effect(enum probe_finding finding)
{
	return findings[finding].effect;
}

const char *probe_finding_hint(enum probe_finding finding)
{
	return findings[finding].hint;
}

/*
 * The reader of the log.
 */

static const struct {
	const char *words;
	const char *hint;
} reader_faults[READER_FAULTS] = {
	[READER_AWAY] = {"postern-events does not run",
		"start it: systemctl restart postern-events; if it ends again, journalctl -u "
		"postern-events tells why"},
	[READER_UNSEEN] = {"postern-httpd cannot open the file of metrics of postern-events",
		"see whether postern-httpd may read the files beside the store, and has file "
		"descriptors left (accept_failed in its log)"},
	[READER_FOREIGN] = {"postern-events is of another version, or its file of metrics is "
			    "damaged",
		"restart it: systemctl restart postern-events"},
	[READER_FAILING] = {"postern-events cannot read Postfix's log, or store what it says",
		"see its log: journalctl -u postern-events"},
	[READER_BEHIND] = {"postern-events is behind with Postfix's log, or hangs",
		"see its log: journalctl -u postern-events"},
	[READER_MUTE] = {"Postfix's log tells nothing of messages that Postfix has taken",
		"see whether the system's logger runs, and that postern-events reads the log that "
		"Postfix writes (postern-events --check); when its disk was full, run postfix "
		"reload"},
};

enum reader_fault reader_judge(
	enum metrics_found found, const struct metrics_events *values, bool mute, int64_t now_us)
{
	int64_t well_us = values->read_to_end_us > values->process.start_us
				  ? values->read_to_end_us
				  : values->process.start_us;

	if (found == METRICS_FOREIGN)
		return READER_FOREIGN;
	if (found == METRICS_UNREADABLE)
		return READER_UNSEEN;
	if (found != METRICS_LIVE)
		return READER_AWAY;
	if (values->failing)
		return READER_FAILING;
	if (now_us - well_us >= READER_BEHIND_US)
		return READER_BEHIND;
	return mute ? READER_MUTE : READER_WELL;
}

const char *reader_fault_words(enum reader_fault fault)
{
	return reader_faults[fault].words;
}

const char *reader_fault_hint(enum reader_fault fault)
{
	return reader_faults[fault].hint;
}

/*
 * Other faults.
 */

static const struct {
	bool serves;
	bool logged; /* the code that found it has logged it */
	const char *words;
	const char *effect;
	const char *hint;
} faults[SERVICE_FAULTS] = {
	[FAULT_DISK] = {.logged = true,
		.words = "the disk of the store is nearly full",
		.effect = "emails are answered with 503; those that were taken go out",
		.hint = "make room on it, or lower outbox.min_free"},
	[FAULT_INODES] = {.serves = true,
		.words = "the disk of the store has no inodes left",
		.effect = "emails with large messages are answered with 503; others go out",
		.hint = "remove files from it, or move the database to a disk with more inodes"},
	[FAULT_FULL] = {.words = "the outbox is full",
		.effect = "emails are answered with 503; those that were taken wait",
		.hint = "see what waits, and why (postern outbox list), or raise "
			"outbox.max_bytes"},
	[FAULT_CROWDED] = {.serves = true,
		.words = "a company has no more room in the outbox",
		.effect = "its emails are answered with 503; those that were taken wait",
		.hint = "see what waits, and why (postern outbox list), or raise "
			"outbox.max_bytes"},
	[FAULT_LATE] = {.serves = true,
		.words = "emails wait for postern-milter",
		.effect = "nobody has got them yet",
		.hint = "postern held list and postern outbox list say why"},
	[FAULT_SIZE] = {.serves = true,
		.words = "Postfix takes smaller messages than clients are told",
		.effect = "larger ones fail",
		.hint = "reload postern-httpd, or raise message_size_limit"},
	[FAULT_SETTINGS] = {.serves = true,
		.logged = true,
		.words = "postern.conf could not be read anew",
		.effect = "the settings of before hold",
		.hint = "mend it, and reload postern-httpd"},
};

bool service_fault_serves(enum service_fault fault)
{
	return faults[fault].serves;
}

const char *service_fault_words(enum service_fault fault)
{
	return faults[fault].words;
}

const char *service_fault_effect(enum service_fault fault)
{
	return faults[fault].effect;
}

const char *service_fault_hint(enum service_fault fault)
{
	return faults[fault].hint;
}

/*
 * The report.
 */

struct host_read {
	char *name;
	const _Atomic int64_t *live_us; /* NULL unless it is this host */
	int64_t read_us;
};

struct probe_report {
	struct log *log;
	pthread_mutex_t mutex; /* protects the outcome and the hosts */
	struct probe_outcome outcome;
	struct host_read *hosts;
	size_t hosts_n;
	_Atomic int64_t recorded_us; /* monotonic */
	_Atomic int64_t read_us;
};

struct probe_report *probe_report_new(struct log *log)
{
	struct probe_report *report = mem_new(struct probe_report);

	report->log = log;
	pthread_mutex_init(&report->mutex, NULL);
	return report;
}

static void forget_hosts(struct probe_report *report)
{
	for (size_t i = 0; i < report->hosts_n; i++)
		free(report->hosts[i].name);
	free(report->hosts);
	report->hosts = NULL;
	report->hosts_n = 0;
}

void probe_report_free(struct probe_report *report)
{
	if (report == NULL)
		return;
	forget_hosts(report);
	pthread_mutex_destroy(&report->mutex);
	free(report);
}

void probe_report_get(struct probe_report *report, struct probe_outcome *outcome_r)
{
	pthread_mutex_lock(&report->mutex);
	*outcome_r = report->outcome;
	pthread_mutex_unlock(&report->mutex);
}

void probe_report_set(
	struct probe_report *report, enum probe_finding finding, const char *cause, int64_t now_us)
{
	struct probe_outcome *outcome = &report->outcome;
	enum probe_finding before;

	pthread_mutex_lock(&report->mutex);
	before = outcome->finding;
	if (finding != before)
		outcome->since_us = now_us;
	outcome->finding = finding;
	outcome->at_us = now_us;
	snprintf(outcome->cause, sizeof(outcome->cause), "%s", cause);
	pthread_mutex_unlock(&report->mutex);
	if (finding == before)
		return;
	if (!findings[finding].good)
		log_error(report->log, "probe_failed", "cause", cause, "effect",
			findings[finding].effect, "hint", findings[finding].hint);
	else if (!findings[before].good)
		log_info(report->log, "probe_passed", "over", findings[before].words);
}

void probe_report_set_read(struct probe_report *report, int64_t as_of_us)
{
	atomic_store_explicit(&report->read_us, as_of_us, memory_order_relaxed);
}

int64_t probe_report_read(const struct probe_report *report)
{
	return atomic_load_explicit(&report->read_us, memory_order_relaxed);
}

void probe_report_set_hosts(
	struct probe_report *report, const char *own, const struct host_list *hosts)
{
	pthread_mutex_lock(&report->mutex);
	forget_hosts(report);
	for (size_t i = 0; i < hosts->n; i++) {
		const struct host_part *part = &hosts->items[i];

		if (!str_eq(part->part, "httpd"))
			continue;
		report->hosts = mem_append(report->hosts, report->hosts_n, sizeof(*report->hosts));
		report->hosts[report->hosts_n++] = (struct host_read){mem_strdup(part->host),
			str_eq(part->host, own) ? &report->read_us : NULL, part->read_us};
	}
	pthread_mutex_unlock(&report->mutex);
}

static int64_t read_of(const struct host_read *host)
{
	return host->live_us ? atomic_load_explicit(host->live_us, memory_order_relaxed)
			     : host->read_us;
}

json_t *probe_report_as_of(struct probe_report *report, const char *host)
{
	int64_t as_of_us = probe_report_read(report);

	pthread_mutex_lock(&report->mutex);
	if (report->hosts_n > 0 && !str_empty(host))
		as_of_us = 0;
	for (size_t i = 0; i < report->hosts_n; i++) {
		int64_t read_us = read_of(&report->hosts[i]);

		if (host ? str_eq(report->hosts[i].name, host) : read_us < as_of_us)
			as_of_us = read_us;
	}
	pthread_mutex_unlock(&report->mutex);
	return row_json_time(as_of_us);
}

void probe_report_set_reader(struct probe_report *report, enum reader_fault fault)
{
	enum reader_fault before;

	pthread_mutex_lock(&report->mutex);
	before = report->outcome.reader;
	report->outcome.reader = fault;
	pthread_mutex_unlock(&report->mutex);
	if (fault == before)
		return;
	if (fault)
		log_error(report->log, "log_not_read", "cause", reader_faults[fault].words,
			"effect", "what becomes of emails is not known", "hint",
			reader_faults[fault].hint);
	else
		log_info(report->log, "log_read_again", "over", reader_faults[before].words);
}

void probe_report_set_order(struct probe_report *report, const char *order)
{
	pthread_mutex_lock(&report->mutex);
	snprintf(report->outcome.order, sizeof(report->outcome.order), "%s", order ? order : "");
	pthread_mutex_unlock(&report->mutex);
}

void probe_report_set_fault(
	struct probe_report *report, enum service_fault fault, const char *cause)
{
	char *there = report->outcome.faults[fault];
	bool before;

	pthread_mutex_lock(&report->mutex);
	before = *there != '\0';
	snprintf(there, sizeof(report->outcome.faults[fault]), "%s", cause);
	pthread_mutex_unlock(&report->mutex);
	if (before == (*cause != '\0') || faults[fault].logged)
		return;
	if (!before)
		log_error(report->log, "service_fault", "cause", cause, "effect",
			faults[fault].effect, "hint", faults[fault].hint);
	else
		log_info(report->log, "service_fault_over", "over", faults[fault].words);
}

void probe_report_recorded(struct probe_report *report)
{
	if (report)
		atomic_store_explicit(
			&report->recorded_us, clock_monotonic_us(), memory_order_relaxed);
}

int64_t probe_report_recorded_us(struct probe_report *report)
{
	return atomic_load_explicit(&report->recorded_us, memory_order_relaxed);
}
