/*
 * cmd_doctor: `postern doctor`: reports problems, what they mean and how to fix them, and fixes
 * what is safe to fix.
 */
#include <errno.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/cmd.h"
#include "cli/doctor.h"
#include "core/base/mem.h"
#include "core/base/program.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/ops/doctor_results.h"
#include "core/postfix/postconf.h"

enum { CHECK, RESULT, TEXT, MEANS, MEND, SAFE };

static const struct column columns[] = {
	[CHECK] = {"check", "CHECK", .type = COLUMN_TEXT},
	[RESULT] = {"result", "RESULT", .type = COLUMN_TEXT},
	[TEXT] = {"text", "TEXT", .type = COLUMN_TEXT},
	[MEANS] = {"means", "MEANS", .type = COLUMN_TEXT},
	[MEND] = {"mend", "MEND", .type = COLUMN_TEXT},
	[SAFE] = {"safe", "SAFE", .type = COLUMN_FLAG},
	{0},
};

enum {
	LABEL = 9,
	MEND_MS = 60 * 1000,
	SETTLE_MS = 2000, /* time for restarted services to come up */
};

/* Texts are wrapped on a terminal, else each has one line. */
static void report_findings(
	const struct call *call, const struct doctor *doctor, struct report *report)
{
	static const char *const labels[] = {
		[DOCTOR_GOOD] = "good:",
		[DOCTOR_UNKNOWN] = "unknown:",
		[DOCTOR_WARNING] = "warning:",
		[DOCTOR_WRONG] = "WRONG:",
	};
	size_t width = isatty(STDOUT_FILENO) ? screen_width() : SIZE_MAX;
	bool quiet = call_option(call, OPTION_QUIET) != NULL;
	_cleanup_buf_ struct buf text = BUF_INIT;
	size_t counts[DOCTOR_WRONG + 1] = {0};

	for (size_t i = 0; i < doctor->n; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];
		bool bad = finding->result >= DOCTOR_WARNING;
		_cleanup_free_ char *mend = bad ? doctor_mend_words(doctor, finding) : NULL;
		_cleanup_free_ char *line = mend ? mem_printf("To fix it: %s", mend) : NULL;

		counts[finding->result]++;
		if (quiet && !bad)
			continue;
		report_add_row(report);
		report_text(report, CHECK, finding->row->name);
		report_text(report, RESULT, doctor_result_name(finding->result));
		report_text(report, TEXT, finding->text);
		report_text(report, MEANS, bad ? finding->row->means : NULL);
		report_text(report, MEND, mend);
		report_number(report, SAFE, doctor_mend_is_safe(finding));
		visible_add_labelled(&text, labels[finding->result], finding->text, LABEL, width);
		if (bad)
			visible_add_wrapped(&text, finding->row->means, LABEL, width);
		if (line)
			visible_add_wrapped(&text, line, LABEL, width);
	}
	if (!quiet)
		buf_printf(&text, "%zu wrong, %zu warning%s, %zu unknown, %zu good\n",
			counts[DOCTOR_WRONG], counts[DOCTOR_WARNING],
			counts[DOCTOR_WARNING] == 1 ? "" : "s", counts[DOCTOR_UNKNOWN],
			counts[DOCTOR_GOOD]);
	if (text.len) {
		text.data[text.len - 1] = '\0'; /* the note adds the last newline */
		report_note(report, "%s", buf_str(&text));
	}
	report->status = counts[DOCTOR_WRONG] ? 2 : counts[DOCTOR_WARNING] ? 1 : 0;
}

/* Stores the results for the dashboard. Without a database, the file would look like a trace of a
 * lost one. */
static void keep_results(const struct doctor *doctor)
{
	const char *database = doctor->conf->store.database;
	json_t *results = json_array();
	struct err err = ERR_INIT;

	for (size_t i = 0; i < doctor->n; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];
		bool bad = finding->result >= DOCTOR_WARNING;
		_cleanup_free_ char *mend = doctor_mend_words(doctor, finding);

		json_array_append_new(results,
			json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:b}", "check", finding->row->name,
				"result", doctor_result_name(finding->result), "text",
				finding->text, "means", bad ? finding->row->means : NULL, "mend",
				mend, "safe", doctor_mend_is_safe(finding)));
	}
	if (doctor_results_write(database, doctor->now_us, results, &err) < 0)
		fprintf(stderr, "postern: %s\n", err.text);
}

/* Runs the command of a finding. kill(1) is missing on hosts without procps. Returns 0 or -1. */
static int run_mend(const struct strv *words, struct err *err)
{
	_cleanup_buf_ struct buf output = BUF_INIT;
	int64_t pid;

	if (words->n == 3 && str_eq(words->items[0], "kill") && str_eq(words->items[1], "-CONT") &&
		str_int(words->items[2], 2, INT32_MAX, &pid) == 0)
		return kill((pid_t)pid, SIGCONT) == 0
			       ? 0
			       : err_set(err, ERR_CONFIG, "%s", strerror(errno));
	return program_output(words->items, MEND_MS, &output, err) < 0 ? -1 : 0;
}

/* Runs each safe command once. Returns how many succeeded. */
static size_t mend(const struct doctor *doctor)
{
	_cleanup_strv_ struct strv done = STRV_INIT;
	size_t mended = 0;

	for (size_t i = 0; i < doctor->n; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];
		_cleanup_free_ char *words = doctor_mend_words(doctor, finding);
		struct err err = ERR_INIT;

		if (!doctor_mend_is_safe(finding) || strv_has(&done, words))
			continue;
		strv_add(&done, words);
		if (run_mend(&finding->mend, &err) == 0) {
			fprintf(stderr, "postern: ran: %s\n", words);
			mended++;
		} else {
			fprintf(stderr, "postern: %s: %s\n", words, err.text);
		}
	}
	return mended;
}

static int run_doctor(const struct call *call, struct report *report, struct err *err)
{
	const char *config = call_option(call, OPTION_POSTFIX);
	struct conf *conf = call->conf ? conf_copy(call->conf) : conf_default();
	struct doctor doctor = {
		.conf_path = call->arguments->conf_path,
		.conf = conf,
		.refused = call->refused,
		.postfix = config ? config : conf->submission.postfix_config,
		.now_us = call->now_us,
		.is_root = geteuid() == 0,
	};

	(void)err;
	doctor_find_installation(&doctor);
	postconf_find_milter_socket(conf, NULL);
	doctor_run(&doctor);
	if (call_option(call, OPTION_FIX) && mend(&doctor) > 0) {
		doctor_clear(&doctor);
		usleep(SETTLE_MS * 1000);
		doctor.mended = true;
		doctor_run(&doctor);
	}
	report_findings(call, &doctor, report);
	if (doctor.is_root && doctor.db && str_eq(doctor.postfix, conf->submission.postfix_config))
		keep_results(&doctor);
	doctor_clear(&doctor);
	conf_free(conf);
	return 0;
}

const struct verb cmd_doctor = {
	.noun = "doctor",
	.access = VERB_DIAGNOSES,
	.shape = VERB_LINES,
	.columns = columns,
	.options = {{OPTION_FIX, false,
			    "Runs the commands that cannot make anything worse, and checks again."},
		{OPTION_QUIET, false, "Prints only warnings and faults, for cron(8)."},
		{OPTION_POSTFIX, false,
			"The configuration directory of the Postfix instance to check. The "
			"default is submission.postfix_config."}},
	.help = "Finds what keeps mail from being sent, checked, recorded or tracked. It checks "
		"Postfix's settings, the daemons, their permissions, sockets and units, disks, the "
		"clock, the database, DNS records, and emails that wait. It also sends a message "
		"that nobody receives by each way into Postfix, which shows whether Postfix uses "
		"the milter. Each fault is printed with what it means for mail and the command that "
		"fixes it. The exit status is 0 if there are none, 1 for warnings, 2 if something "
		"is wrong. --json prints an array of check, result (good, unknown, warning, wrong), "
		"text, means, mend and safe. Other users than root see less, and send nothing. The "
		"results of root are kept in a file beside the database, and the dashboard shows "
		"them with their age; postern-doctor.timer runs it every hour.",
	.run = run_doctor,
};
