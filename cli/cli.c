/*
 * cli: the command `postern`: runs one verb, from its arguments to its output.
 *
 * Invariant: changes of a verb are committed before anything about them is printed.
 */
#include "cli/cli.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "cli/arguments.h"
#include "cli/cmd.h"
#include "cli/report.h"
#include "cli/verbs.h"
#include "core/base/clock.h"
#include "core/base/daemon.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/db/migrate.h"

enum { FOLLOW_EVERY_MS = 250 };

static void complain(FILE *errors, const struct err *err)
{
	_cleanup_buf_ struct buf text = BUF_INIT;

	visible_add(&text, err->text);
	fprintf(errors, "postern: %s\n", buf_str(&text));
}

/* The actor of the command's changes: the user who runs it, including the one who became root by
 * sudo(8), and the terminal. The strings are static. */
static const struct db_actor *actor_of_process(void)
{
	static struct db_actor actor;
	static char id[24], name[128], origin[128];
	const struct passwd *user = getpwuid(getuid());
	const char *sudo = getenv("SUDO_USER");
	const char *client = getenv("SSH_CONNECTION");
	const char *terminal = ttyname(STDIN_FILENO);

	snprintf(id, sizeof(id), "%u", (unsigned)getuid());
	snprintf(name, sizeof(name), "%s%s%s%s", user ? user->pw_name : id,
		sudo ? " (sudo by " : "", sudo ? sudo : "", sudo ? ")" : "");
	snprintf(origin, sizeof(origin), "%s%s%.*s", terminal ? terminal : "no terminal",
		client ? ", ssh from " : "", client ? (int)strcspn(client, " ") : 0,
		client ? client : "");
	str_utf8_mend(name);
	str_utf8_mend(origin);
	actor = (struct db_actor){"command", id, name, origin, true};
	return &actor;
}

static int run_verb(const struct call *call, struct report *report, struct err *err)
{
	const struct verb *verb = call->arguments->verb;

	int (*run)(const struct call *call, struct report *report,
		struct err *err) = verb->run ? verb->run : call_run;

	if (verb->check && verb->check(call, err) < 0)
		return -1;
	if (verb->run == NULL && call_check(call, err) < 0)
		return -1;
	if (verb->access != VERB_WRITES && verb->access != VERB_MIGRATES)
		return run(call, report, err);
	if (db_begin(call->db, err) < 0)
		return -1;
	if (run(call, report, err) == 0 && db_commit(call->db, err) == 0)
		return 0;
	db_rollback(call->db);
	return -1;
}

static int write_out(FILE *out, const struct buf *text, struct err *err)
{
	size_t written = fwrite(buf_str(text), 1, text->len, out);

	if (written == text->len && fflush(out) == 0)
		return 0;
	return err_set(err, ERR_TEMPORARY, "done, but cannot print it: %s", strerror(errno));
}

static int show_report(
	const struct arguments *arguments, struct report *report, FILE *out, struct err *err)
{
	enum verb_shape shape = arguments->verb->shape;
	size_t terminal = terminal_width(fileno(out));
	_cleanup_secret_buf_ struct buf text = BUF_INIT;

	if (arguments->json) {
		if (shape == VERB_ROWS || shape == VERB_LINES)
			print_json_rows(report, &text);
		else if (shape == VERB_FOLLOWS)
			print_json_lines(report, &text);
		else
			print_json_record(report, &text);
	} else {
		if (shape == VERB_ROWS)
			print_table_rows(report, terminal, &text);
		else if (shape == VERB_RECORD)
			print_table_record(report, terminal, &text);
		if (report->note)
			visible_add_lines(&text, report->note);
		if (terminal == 0)
			buf_add(&text, report->bytes.data, report->bytes.len);
		/* Texts end at a NUL; the bytes may continue after it. */
		for (size_t i = 0; terminal > 0 && i < report->bytes.len; i++) {
			const char *part = report->bytes.data + i;

			visible_add_lines(&text, part);
			i += strlen(part);
			if (i < report->bytes.len)
				buf_add_str(&text, "\\x00");
		}
	}
	return write_out(out, &text, err);
}

/* True if nobody reads the output any more: the other end of a pipe, or a terminal, was closed. */
static bool is_unread(FILE *out)
{
	struct pollfd output = {.fd = fileno(out)};

	return output.fd >= 0 && poll(&output, 1, 0) == 1 &&
	       (output.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0;
}

/* A signal, or a reader that closes the output, is a normal end. */
static int follow(const struct call *call, struct report *report, FILE *out, struct err *err)
{
	int result;

	do {
		report_clear(report);
		report_init(report, call->arguments->verb->columns);
		result = call->arguments->verb->run(call, report, err);
		if (result < 0)
			return -1;
		if (show_report(call->arguments, report, out, err) < 0)
			return is_unread(out) ? 0 : -1;
	} while (result == 1 && !is_unread(out) && daemon_wait_signal(FOLLOW_EVERY_MS) == 0);
	return 0;
}

/* The destination of the rows of a long list. */
struct shown {
	const struct arguments *arguments;
	FILE *out;
};

static int flush_rows(struct report *report, void *arg, struct err *err)
{
	const struct shown *shown = arg;

	return show_report(shown->arguments, report, shown->out, err);
}

/* Runs the verb with its settings and database, and fills the report. */
static int perform(struct arguments *arguments, struct report *report, FILE *out, struct err *err)
{
	static const enum db_mode modes[] = {
		[VERB_READS] = DB_READ,
		[VERB_READS_ANY] = DB_READ,
		[VERB_WRITES] = DB_WRITE,
		[VERB_STEPS] = DB_WRITE,
		[VERB_MIGRATES] = DB_CREATE,
	};
	struct following following = {0};
	struct op_ready ready = {0};
	const struct verb *verb = arguments->verb;
	_cleanup_(conf) struct conf *conf = NULL;
	struct call call = {
		.arguments = arguments,
		.now_us = clock_now_us(&clock_system),
		.following = &following,
		.ready = &ready,
	};
	bool follows = verb->shape == VERB_FOLLOWS;
	struct shown shown = {arguments, out};
	struct err refused = ERR_INIT;
	int version, result = 0;

	if (follows)
		daemon_block_signals(); /* one that comes before follow() waits for it */
	if (secret_init() < 0)
		return err_set(err, ERR_TEMPORARY, "the system has no random numbers to give");
	if (conf_load(arguments->conf_path, &conf, &refused) < 0) {
		if (verb->access != VERB_DIAGNOSES)
			return err_copy(err, &refused);
		call.refused = refused.text;
	}
	call.conf = conf;
	if (verb->shape == VERB_ROWS && verb->access == VERB_READS) {
		report->flush = flush_rows;
		report->flush_arg = &shown;
	}
	if (verb->prepare && verb->prepare(arguments, conf, err) < 0)
		return -1;
	if (verb->access != VERB_NO_DATABASE && verb->access != VERB_DIAGNOSES) {
		result = db_open(conf_store(conf), modes[verb->access], &call.db, err);
		if (result == 0 && verb->access == VERB_READS_ANY)
			result = migrate_version(call.db, &version, err);
		else if (result == 0 && verb->access != VERB_MIGRATES)
			result = migrate_check(call.db, err);
		if (call.db)
			db_set_actor(call.db, actor_of_process());
	}
	if (result == 0)
		result = follows ? follow(&call, report, out, err) : run_verb(&call, report, err);
	op_ready_clear(&ready);
	db_close(call.db);
	return result < 0 || follows ? result : show_report(arguments, report, out, err);
}

int cli_run(int argc, char **argv, FILE *out, FILE *errors)
{
	_cleanup_buf_ struct buf usage = BUF_INIT;
	struct arguments arguments;
	struct report report;
	struct err err = ERR_INIT;
	int status;

	if (arguments_parse(argc, argv, &arguments, &err) < 0) {
		complain(errors, &err);
		if (arguments.verb)
			usage_add_short(arguments.verb, &usage);
		else
			buf_add_str(&usage, "usage: postern COMMAND ..., see --help\n");
		fputs(usage.data, errors);
		return EX_USAGE;
	}
	if (arguments.help || arguments.version) {
		err = ERR_INIT; /* for a noun alone, whose verbs are shown */
		if (arguments.version)
			buf_add_str(&usage, "postern " POSTERN_VERSION "\n");
		else if (arguments.verb)
			usage_add_verb(arguments.verb, &usage);
		else
			usage_add_all(arguments.noun, &usage);
		if (write_out(out, &usage, &err) < 0)
			complain(errors, &err);
		return err_info(err.code)->exit_status;
	}
	report_init(&report, arguments.verb->columns);
	if (perform(&arguments, &report, out, &err) < 0)
		complain(errors, &err);
	else if (report.failure.code != ERR_NONE) {
		err = report.failure;
		complain(errors, &err);
	}
	status = err.code == ERR_NONE ? report.status : err_info(err.code)->exit_status;
	report_clear(&report);
	return status;
}
