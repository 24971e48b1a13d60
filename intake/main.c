/*
 * postern-intake: takes one message that came to a return path, from pipe(8).
 *
 * The arguments are the envelope; the message is read from standard input. The exit status is 0
 * once everything in it is durable, or Postfix has it in its queue for a person. It is 75 for any
 * failure, so that Postfix keeps the message and tries again.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/program.h"
#include "core/base/secret.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/db/db.h"
#include "core/db/migrate.h"
#include "core/postfix/postfix_queue.h"
#include "intake/intake.h"

enum {
	CHUNK = 64 * 1024,
	WAIT_MS = 5000, /* to wait for the write lock; after that Postfix tries again */
	/* To wait for postern-events to read the log; after that Postfix tries again. */
	EARLY_MS = 5000,
	LOOK_MS = 250,
};

static const char help[] =
	"usage: postern-intake [-c FILE] SENDER RECIPIENT... <MESSAGE\n"
	"\n"
	"Takes a message that came to a return path from pipe(8). An empty SENDER\n"
	"stands for <>. Exits with 0 when it is done, with 75 to be tried again.\n"
	"\n"
	"  -c FILE    the settings (default: " CONF_DEFAULT_PATH
	")\n"
	"  --help, --version\n";

struct program {
	const char *conf_path;
	struct conf *conf;
	struct log *log;
	struct db *db;
	struct intake_message message;
	struct buf head; /* of the message */
	int file;        /* in memory: INTAKE_FIELD, then the whole message */
};

/* Reads the message into the file, and its beginning into head. Postfix limits the length of the
 * message (message_size_limit). */
static int read_message(struct program *program, struct err *err)
{
	static char chunk[CHUNK];
	ssize_t n, written;

	program->file = program_file("message", err);
	if (program->file < 0)
		return -1;
	if (dprintf(program->file, INTAKE_FIELD ": %s\n",
		    strpbrk(program->message.recipients.items[0], "\r\n")
			    ? "?"
			    : program->message.recipients.items[0]) < 0)
		return err_set(err, ERR_TEMPORARY, "cannot keep the message");
	for (;;) {
		n = read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(
				err, ERR_TEMPORARY, "cannot read the message: %s", strerror(errno));
		if (n == 0)
			break;
		if (program->head.len < INTAKE_READ_MAX) {
			size_t room = INTAKE_READ_MAX - program->head.len;

			buf_add(&program->head, chunk, (size_t)n < room ? (size_t)n : room);
		}
		for (ssize_t done = 0; done < n;) {
			written = write(program->file, chunk + done, (size_t)(n - done));
			if (written > 0)
				done += written;
			else if (written < 0 && errno != EINTR)
				return err_set(err, ERR_TEMPORARY, "cannot keep the message: %s",
					strerror(errno));
		}
	}
	program->message.data = buf_str(&program->head);
	program->message.len = program->head.len;
	return 0;
}

/* Reads the message and stores what it says. One that says nothing known is forwarded to a person.
 */
static int handle_message(
	struct program *program, struct intake_outcome *outcome_r, struct err *err)
{
	const char *store = conf_store(program->conf);
	struct postfix_queue *queue;
	int result;

	if (read_message(program, err) < 0 || migrate_check_name(store, err) < 0 ||
		db_open(store, DB_WRITE, &program->db, err) < 0)
		return -1;
	db_set_wait(program->db, WAIT_MS);
	for (int waited_ms = 0;; waited_ms += LOOK_MS) {
		program->message.now_us = clock_now_us(&clock_system);
		if (intake_store(program->db, &program->message, outcome_r, err) < 0)
			return -1;
		if (outcome_r->result != INTAKE_EARLY || waited_ms >= EARLY_MS)
			break;
		usleep(LOOK_MS * 1000);
	}
	if (outcome_r->result != INTAKE_FORWARD)
		return 0;
	if (lseek(program->file, 0, SEEK_SET) < 0)
		return err_set(err, ERR_TEMPORARY, "cannot read the message again");
	if (postfix_queue_open(program->conf, &queue, err) < 0)
		return -1;
	result = postfix_queue_submit(
		queue, "", program->conf->returns.forward_to, program->file, err);
	postfix_queue_free(queue);
	return result;
}

static int run_program(struct program *program)
{
	struct intake_outcome outcome = {0};
	struct err err = ERR_INIT;

	if (handle_message(program, &outcome, &err) < 0) {
		log_error(program->log, "intake_failed", "recipient",
			program->message.recipients.items[0], "error", err.text);
		/* pipe(8) copies it to Postfix's log. */
		printf("4.3.0 %s\n", err.text);
		return EX_TEMPFAIL;
	}
	log_event(program->log,
		outcome.result == INTAKE_FORGED || outcome.result == INTAKE_LOOP ? LOG_LEVEL_WARN
										 : LOG_LEVEL_INFO,
		"returned", "outcome", intake_result_name(outcome.result), "kind", outcome.kind,
		"email", outcome.email_id[0] ? outcome.email_id : NULL, "recipients",
		LOG_INT(outcome.recipients), "sender", program->message.sender, "to",
		program->message.recipients.items[0], "forward_to",
		outcome.result == INTAKE_FORWARD ? program->conf->returns.forward_to : NULL,
		"reason", outcome.reason, NULL);
	if (outcome.unlisted > 0)
		log_warn(program->log, "suppressions_full", "not_added", LOG_INT(outcome.unlisted),
			"email", outcome.email_id, "limit",
			LOG_INT(program->conf->limits.suppressions));
	if (outcome.result != INTAKE_EARLY)
		return EX_OK;
	puts("4.3.0 postern-events has not read this bounce in Postfix's log yet");
	return EX_TEMPFAIL;
}

/* Reads the arguments. Returns false if the program must end with *status_r. */
static bool read_arguments(struct program *program, int argc, char **argv, int *status_r)
{
	static const struct option options[] = {
		{"help", no_argument, NULL, 'h'},
		{"version", no_argument, NULL, 'V'},
		{0},
	};
	int option;

	*status_r = EX_OK;
	program->conf_path = CONF_DEFAULT_PATH;
	while ((option = getopt_long(argc, argv, "c:", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			program->conf_path = optarg;
			break;
		case 'h':
			fputs(help, stdout);
			return false;
		case 'V':
			puts("postern-intake " POSTERN_VERSION);
			return false;
		default:
			*status_r = EX_TEMPFAIL;
			return false;
		}
	}
	if (argc - optind < 2) {
		/* Postfix keeps the message, whatever is wrong in master.cf. */
		fputs(help, stderr);
		*status_r = EX_TEMPFAIL;
		return false;
	}
	program->message.sender = argv[optind++];
	while (optind < argc)
		strv_add(&program->message.recipients, argv[optind++]);
	return true;
}

int main(int argc, char **argv)
{
	struct program program = {.file = -1};
	struct err err = ERR_INIT;
	int status;

	if (!read_arguments(&program, argc, argv, &status))
		return status;
	if (secret_init() < 0 || conf_load(program.conf_path, &program.conf, &err) < 0) {
		printf("4.3.5 %s\n", err.text);
		status = EX_TEMPFAIL;
	} else {
		/* Nobody reads the standard error of a program of pipe(8). */
		program.log = log_new("postern-intake",
			isatty(STDERR_FILENO) ? LOG_TARGET_STDERR : LOG_TARGET_SYSLOG,
			(enum log_level)program.conf->log.level);
		program.message.suppression = (struct suppression_terms){
			program.conf->suppression.bounces, program.conf->suppression.bounce_codes,
			program.conf->limits.suppressions};
		status = run_program(&program);
	}
	if (program.file >= 0)
		close(program.file);
	buf_free(&program.head);
	strv_free(&program.message.recipients);
	db_close(program.db);
	log_free(program.log);
	conf_free(program.conf);
	return status;
}
