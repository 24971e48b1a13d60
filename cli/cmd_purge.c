/*
 * cmd_purge: removes emails by age, of a domain, or of a recipient who is to be forgotten.
 *
 * It works in short transactions with pauses in between, so that daemons can write. If it is
 * killed, the removed rows stay removed, and running it again does the rest.
 *
 * At the end it empties the WAL, which still contains the removed pages; SQLite overwrites them in
 * the database.
 */
#include <time.h>

#include "cli/cmd.h"
#include "core/address/addr.h"
#include "core/base/clock.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/email/store_purge.h"
#include "core/store/company/store_suppression.h"

enum {
	STEP_US = 5000,
	PAUSE_US = 5000, /* a waiting writer retries within this time */
	LOG_WAIT_S = 10, /* for readers of an older snapshot */
	LOG_PAUSE_US = 100000,
};

enum { EMAILS, RECIPIENTS, LEFT, DRY_RUN, LOG_EMPTIED, SUPPRESSIONS };

static const struct column columns[] = {
	[EMAILS] = {"emails", NULL, .type = COLUMN_INT},
	[RECIPIENTS] = {"recipients", NULL, .type = COLUMN_INT},
	[LEFT] = {"left", NULL, .type = COLUMN_INT},
	[DRY_RUN] = {"dry_run", NULL, .type = COLUMN_FLAG},
	[LOG_EMPTIED] = {"log_emptied", NULL, .type = COLUMN_FLAG},
	[SUPPRESSIONS] = {"suppressions", NULL, .type = COLUMN_INT},
	{0},
};

static int purge_some(const struct call *call, struct purge *purge, struct err *err)
{
	int result;

	if (purge->dry)
		return store_purge_step(call->db, purge, call->now_us, STEP_US, err);
	if (db_begin(call->db, err) < 0)
		return -1;
	result = store_purge_step(call->db, purge, call->now_us, STEP_US, err);
	/* The last commit makes all earlier ones durable. */
	if (result >= 0 &&
		(result > 0 ? db_commit_lazy(call->db, err) : db_commit(call->db, err)) == 0)
		return result;
	db_rollback(call->db);
	return -1;
}

/* Suppression entries of a forgotten recipient stay, because they prevent further emails. */
static void report_purged(const struct purge *purge, int64_t suppressions, struct report *report)
{
	_cleanup_buf_ struct buf text = BUF_INIT;

	report_add_row(report);
	report_number(report, EMAILS, purge->removed);
	report_number(report, RECIPIENTS, purge->recipients);
	report_number(report, LEFT, purge->left);
	report_number(report, DRY_RUN, purge->dry);
	report_number(report, LOG_EMPTIED, !purge->dry);
	report_number(report, SUPPRESSIONS, suppressions);
	buf_printf(&text, "%lld email%s %s removed", (long long)purge->removed,
		purge->removed == 1 ? "" : "s",
		purge->dry            ? "would be"
		: purge->removed == 1 ? "was"
				      : "were");
	if (purge->to)
		buf_printf(&text, ", and the address taken out of %lld more",
			(long long)purge->recipients);
	if (suppressions > 0)
		buf_printf(&text,
			"; the address stays in %lld list%s of suppressed addresses, so that "
			"nothing is sent to it: postern suppression remove %s --company ID takes "
			"it out",
			(long long)suppressions, suppressions == 1 ? "" : "s", purge->to);
	if (purge->left)
		buf_printf(&text,
			"; %lld left, of the last 24 hours or waiting: to be purged later",
			(long long)purge->left);
	if (!purge->dry)
		buf_add_str(&text, "; the write-ahead log was emptied");
	report_note(report, "%s", buf_str(&text));
}

static int run_purge(const struct call *call, struct report *report, struct err *err)
{
	static const struct unit months[] = {{"m", 1}, {0}};
	const struct timespec pause = {.tv_nsec = PAUSE_US * 1000};
	const struct timespec log_pause = {.tv_nsec = LOG_PAUSE_US * 1000};
	const char *domain = call_option(call, OPTION_DOMAIN);
	const char *age = call_option(call, OPTION_OLDER_THAN);
	_cleanup_free_ char *name = NULL;
	struct purge purge = {
		.kind = PURGE_EMAILS,
		.to = call_option(call, OPTION_TO),
		.database = call->conf->store.database,
		.dry = call_option(call, OPTION_DRY_RUN) != NULL,
	};
	int64_t suppressions = 0, end_us, n;
	int result;

	if (domain == NULL && purge.to == NULL && age == NULL)
		return err_set(
			err, ERR_INVALID, "which emails? Give --older-than, --domain or --to");
	/* A permanent removal must not depend on what `m` is meant to be. */
	if (age && str_amount(age, months, &n) == 0)
		return err_set(err, ERR_INVALID,
			"--older-than %s: minutes or months? Write %lldmin for minutes, for months "
			"their days, as 30d",
			age, (long long)n);
	if (call_time_option(call, OPTION_OLDER_THAN, &purge.before_us, err) < 0)
		return -1;
	if (age && purge.before_us == 0)
		purge.before_us = 1; /* 1970: nothing is older */
	if (domain && addr_domain_normalize(domain, &name, err) < 0)
		return -1;
	purge.domain = name;
	while ((result = purge_some(call, &purge, err)) == 1)
		nanosleep(&pause, NULL);
	if (result < 0)
		return -1;
	/* Waits for readers: daemons read for a moment; a backup or sqlite3(1) may take long. */
	end_us = clock_monotonic_us() + LOG_WAIT_S * SECOND_US;
	while (!purge.dry && (result = db_empty_log(call->db, err)) == 0 &&
		clock_monotonic_us() < end_us)
		nanosleep(&log_pause, NULL);
	if (result < 0)
		return -1;
	if (!purge.dry && result == 0)
		return err_set(err, ERR_TEMPORARY,
			"removed %lld emails, and the address from %lld more, but the write-ahead "
			"log (%s-wal) still has them: for %d s a program has been reading the "
			"database. When it has ended (a backup, sqlite3), run this again",
			(long long)purge.removed, (long long)purge.recipients,
			call->conf->store.database, LOG_WAIT_S);
	if (purge.to) {
		suppressions = store_suppression_count(call->db, purge.to, err);
		if (suppressions < 0)
			return -1;
	}
	report_purged(&purge, suppressions, report);
	return 0;
}

const struct verb cmd_email_purge = {
	.noun = "email",
	.name = "purge",
	.access = VERB_STEPS,
	.shape = VERB_NOTE,
	.columns = columns,
	.options = {{OPTION_OLDER_THAN, false,
			    "Only emails that came in before: 30d, 12h, 90min, or a time, as "
			    "2026-11-21."},
		{OPTION_DOMAIN, false, "Only those sent as this domain."},
		{OPTION_TO, false,
			"Erases this recipient. An email that went to nobody else is removed. Of "
			"one that went to others too this address is taken out, with its events; "
			"subject and body stay, as the others got them."},
		{OPTION_DRY_RUN, false, "Only says what would be removed."}},
	.help = "Removes emails for good, with their content, recipients and events. At "
		"least one of --older-than, --domain and --to says which; all that are "
		"given have to fit. Left are emails that wait for postern-milter or in "
		"Postfix's queue, those of the last 24 hours, since a request may come "
		"again, and what postern stats counted. It takes small steps, so that "
		"emails are sent meanwhile; interrupted, it is to be run again. SQLite "
		"overwrites what is removed, and in the end the write-ahead log is "
		"emptied; where that cannot be done within 10 seconds, since a program "
		"reads the database all the while, the command fails with status 75, and "
		"is to be run again. Backups, logs and Postfix's own files are not "
		"touched.",
	.run = run_purge,
};
