/*
 * cmd_status: `postern status`: the state of the host on one screen.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/cmd.h"
#include "cli/doctor.h"
#include "cli/process.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/ops/op_host.h"
#include "core/postfix/postconf.h"
#include "core/postfix/postfix_queue.h"
#include "core/store/email/store_email.h"
#include "core/store/event/store_event_count.h"
#include "core/store/outbox/store_outbox.h"

enum { DAEMONS = 6, ALARMS_SHOWN = 8, SCREEN = 80, LABEL = 18 };

static const char *const daemons[DAEMONS] = {"postern-httpd", "postern-milter", "postern-events",
	"postern-webhook", "postern-held", "postern-auth"};

enum {
	VERSION,
	HTTPD,
	MILTER,
	EVENTS,
	WEBHOOK,
	DECISIONS,
	AUTH,
	POSTFIX,
	OUTBOX,
	OUTBOX_BYTES,
	QUEUE,
	DEFERRED,
	HELD,
	LAST,
	ACCEPTED,
	DELIVERED,
	BOUNCED,
	HOSTS,
	ALARMS
};

static const struct column columns[] = {
	[VERSION] = {"version", NULL, .type = COLUMN_TEXT},
	[HTTPD] = {"httpd_since", NULL, .type = COLUMN_TIME},
	[MILTER] = {"milter_since", NULL, .type = COLUMN_TIME},
	[EVENTS] = {"events_since", NULL, .type = COLUMN_TIME},
	[WEBHOOK] = {"webhook_since", NULL, .type = COLUMN_TIME},
	[DECISIONS] = {"held_since", NULL, .type = COLUMN_TIME},
	[AUTH] = {"auth_since", NULL, .type = COLUMN_TIME},
	[POSTFIX] = {"postfix_since", NULL, .type = COLUMN_TIME},
	[OUTBOX] = {"outbox_emails", NULL, .type = COLUMN_INT},
	[OUTBOX_BYTES] = {"outbox_bytes", NULL, .type = COLUMN_INT},
	[QUEUE] = {"queue_messages", NULL, .type = COLUMN_INT},
	[DEFERRED] = {"queue_deferred", NULL, .type = COLUMN_INT},
	[HELD] = {"queue_held", NULL, .type = COLUMN_INT},
	[LAST] = {"last_email_at", NULL, .type = COLUMN_TIME},
	[ACCEPTED] = {"accepted_in_a_day", NULL, .type = COLUMN_INT},
	[DELIVERED] = {"delivered_in_a_day", NULL, .type = COLUMN_INT},
	[BOUNCED] = {"bounced_in_a_day", NULL, .type = COLUMN_INT},
	[HOSTS] = {"hosts", NULL, .type = COLUMN_TEXT},
	[ALARMS] = {"alarms", NULL, .type = COLUMN_LIST},
	{0},
};

struct status {
	const struct call *call;
	struct report *report;
	struct buf text;
};

/* Adds a line with its label, cut to the screen. */
__attribute__((format(printf, 3, 4))) static void line(
	struct status *status, const char *label, const char *format, ...)
{
	_cleanup_buf_ struct buf shown = BUF_INIT;
	char *text;
	va_list args;

	va_start(args, format);
	text = mem_vprintf(format, args);
	va_end(args);
	visible_add(&shown, text);
	free(text);
	buf_printf(&status->text, "%-*s%.*s\n", LABEL, label,
		(int)visible_cut(buf_str(&shown), SCREEN - LABEL), buf_str(&shown));
}

/* Such as `since 2026-11-23 09:30:00Z`. */
static char *since(int64_t time_us)
{
	_cleanup_buf_ struct buf text = BUF_INIT;

	buf_add_str(&text, "since ");
	clock_add(&text, time_us);
	return buf_take(&text);
}

static void tell_of_daemons(struct status *status)
{
	const struct conf *conf = status->call->conf;
	struct process_list running = {0};

	process_list_read(&running);
	for (size_t i = 0; i < DAEMONS; i++) {
		struct process process;
		bool replaced = false;

		if (process_find(&running, daemons[i], conf, &process)) {
			_cleanup_free_ char *words = since(process.start_us);

			free(process_program(process.pid, &replaced));
			report_time(status->report, HTTPD + i, process.start_us);
			line(status, daemons[i], "running %s%s", words,
				replaced ? ", an older version than installed"
					 : ", " POSTERN_VERSION);
		} else if (i != AUTH - HTTPD) { /* many hosts have no logins; doctor knows */
			line(status, daemons[i],
				geteuid() == 0 ? "not running" : "unknown: run as root");
		}
	}
	process_list_clear(&running);
}

static void tell_of_postfix(struct status *status)
{
	static const char *const names[] = {"queue_directory", "mail_version"};
	const char *config = status->call->conf->submission.postfix_config;
	_cleanup_free_ char *queue = NULL, *version = NULL;
	char *values[ARRAY_SIZE(names)];
	struct process master;
	struct err err = ERR_INIT;

	if (postconf_read(config, names, ARRAY_SIZE(names), values, &err) < 0) {
		line(status, "Postfix", "%s", err.text);
		return;
	}
	queue = values[0];
	version = values[1];
	if (process_find_postfix(queue, &master)) {
		_cleanup_free_ char *words = since(master.start_us);

		report_time(status->report, POSTFIX, master.start_us);
		line(status, "Postfix", "running %s, %s", words, version);
	} else {
		line(status, "Postfix", "not running (%s)", version);
	}
}

struct counted {
	int64_t emails, bytes;
	int64_t all, deferred, held;
};

static void count_outbox(void *arg, const char *company_id, int64_t bytes, int64_t emails)
{
	struct counted *counted = arg;

	(void)company_id;
	counted->bytes += bytes;
	counted->emails += emails;
}

static int count_queue(void *arg, struct queue_item *item, struct err *err)
{
	struct counted *counted = arg;

	(void)err;
	counted->all++;
	counted->deferred += str_eq(item->queue, "deferred");
	counted->held += str_eq(item->queue, "hold");
	return 0;
}

static int tell_of_queues(struct status *status, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	struct counted counted = {0};

	if (store_outbox_sizes(status->call->db, count_outbox, &counted, err) < 0)
		return -1;
	report_number(status->report, OUTBOX, counted.emails);
	report_number(status->report, OUTBOX_BYTES, counted.bytes);
	line(status, "Outbox", "%" PRId64 " emails, %" PRId64 " KiB", counted.emails,
		(counted.bytes + 1023) / 1024);
	if (postfix_queue_open(status->call->conf, &queue, NULL) < 0 ||
		postfix_queue_each(queue, count_queue, &counted, NULL) < 0) {
		line(status, "Postfix queue", "cannot be read");
		return 0;
	}
	report_number(status->report, QUEUE, counted.all);
	report_number(status->report, DEFERRED, counted.deferred);
	report_number(status->report, HELD, counted.held);
	line(status, "Postfix queue",
		"%" PRId64 " messages: %" PRId64 " deferred, %" PRId64 " on hold", counted.all,
		counted.deferred, counted.held);
	return 0;
}

static int tell_of_emails(struct status *status, struct err *err)
{
	const struct call *call = status->call;
	struct event_count_filter filter = {
		.begin_us = call->now_us - DAY_US,
		.end_us = call->now_us + HOUR_US,
		.step_us = HOUR_US,
	};
	int64_t sums[EVENT_KINDS] = {0};
	struct event_counts counts;
	int64_t newest;
	int found = store_email_newest(call->db, &newest, err);

	if (found < 0)
		return -1;
	if (found) {
		_cleanup_buf_ struct buf at = BUF_INIT;

		clock_add(&at, newest);
		report_time(status->report, LAST, newest);
		line(status, "Last email", "%s", buf_str(&at));
	} else {
		line(status, "Last email", "none yet");
	}
	filter.begin_us -= filter.begin_us % HOUR_US;
	if (store_event_counts(call->db, &filter, &counts, err) < 0)
		return -1;
	for (size_t i = 0; i < counts.n; i++)
		if ((size_t)counts.items[i].kind < EVENT_KINDS)
			sums[counts.items[i].kind] += counts.items[i].count;
	store_event_counts_free(&counts);
	sums[EVENT_BOUNCED] += sums[EVENT_EXPIRED];
	report_number(status->report, ACCEPTED, sums[EVENT_ACCEPTED]);
	report_number(status->report, DELIVERED, sums[EVENT_DELIVERED]);
	report_number(status->report, BOUNCED, sums[EVENT_BOUNCED]);
	line(status, "Last 24 hours",
		"%" PRId64 " accepted, %" PRId64 " delivered, %" PRId64 " bounced",
		sums[EVENT_ACCEPTED], sums[EVENT_DELIVERED], sums[EVENT_BOUNCED]);
	return 0;
}

/* Adds the findings of the checks that only read. */
static void tell_of_alarms(struct status *status)
{
	const struct call *call = status->call;
	struct conf *conf = conf_copy(call->conf);
	struct doctor doctor = {
		.conf_path = call->arguments->conf_path,
		.conf = conf,
		.postfix = conf->submission.postfix_config,
		.now_us = call->now_us,
		.is_root = geteuid() == 0,
		.briefly = true,
	};
	_cleanup_strv_ struct strv alarms = STRV_INIT;

	doctor_find_installation(&doctor);
	postconf_find_milter_socket(conf, NULL);
	doctor_run(&doctor);
	for (size_t i = 0; i < doctor.n; i++)
		if (doctor.findings[i].result >= DOCTOR_WARNING)
			strv_add(&alarms, doctor.findings[i].text);
	if (alarms.n == 0)
		line(status, "Alarms", "none");
	for (size_t i = 0; i < alarms.n && i < ALARMS_SHOWN; i++)
		visible_add_labelled(
			&status->text, i ? "" : "Alarms", alarms.items[i], LABEL, SCREEN);
	if (alarms.n > ALARMS_SHOWN)
		line(status, "", "and %zu more", alarms.n - ALARMS_SHOWN);
	if (alarms.n)
		line(status, "", "postern doctor shows details, and how to fix them.");
	report_list(status->report, ALARMS, &alarms);
	doctor_clear(&doctor);
	conf_free(conf);
}

static int run_status(const struct call *call, struct report *report, struct err *err)
{
	struct status status = {call, report, BUF_INIT};
	_cleanup_buf_ struct buf hosts = BUF_INIT;
	int result;

	report_add_row(report);
	report_text(report, VERSION, POSTERN_VERSION);
	tell_of_daemons(&status);
	tell_of_postfix(&status);
	result = host_summary(call->db, call->now_us, &hosts, err);
	if (hosts.len > 0) {
		report_text(report, HOSTS, buf_str(&hosts));
		line(&status, "Hosts", "%s", buf_str(&hosts));
	}
	if (result == 0)
		result = tell_of_queues(&status, err);
	if (result == 0)
		result = tell_of_emails(&status, err);
	if (result == 0) {
		tell_of_alarms(&status);
		status.text.data[status.text.len - 1] = '\0';
		report_note(report, "%s", buf_str(&status.text));
	}
	buf_free(&status.text);
	return result;
}

const struct verb cmd_status = {
	.noun = "status",
	.access = VERB_READS,
	.shape = VERB_NOTE,
	.columns = columns,
	.help = "Shows the state of everything on one screen: since when the daemons and Postfix "
		"have been running and in which version, the outbox and Postfix's queue, the last "
		"email, the counts of the last 24 hours, and what needs attention. Where several hosts "
		"share the database it names those that are not well; the outbox and the counts are "
		"those of all hosts. It only reads; postern doctor also tests.",
	.run = run_status,
};
