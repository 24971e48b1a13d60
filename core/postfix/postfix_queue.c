/*
 * postfix_queue: Postfix's queue, accessed with its programs.
 *
 * Output goes to files in memory, except for the list of the queue, which is read line by line,
 * each a JSON object for one message.
 *
 * Threads: any; waits for the programs that it runs.
 */
#include "core/postfix/postfix_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/program.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/postfix/postconf.h"
#include "core/postfix/queue_helper.h"

enum {
	TIMEOUT_MS = 10 * 60 * 1000, /* per program, because a queue can be long */
	END_MS = 10 * 1000,          /* for sendmail(1) to end after the session */
	DAY_S = 24 * 3600,
	REPLY_PIECE = 1024,
	REPLY_MAX = 64 * 1024,
	CONTENT_PIECE = 16 * 1024,
	ID_MAX = 63,
	HASH_DEPTH_MAX = 3, /* of hash_queue_depth */
};

struct postfix_queue {
	char *commands; /* directory of Postfix's programs */
	char *folder;   /* queue_directory */
	const char *config;
	const char *sendmail;
	int helper; /* see queue_helper.h; -1: this process has the rights itself */
};

int postfix_queue_check_rights(struct err *err)
{
	if (geteuid() == 0)
		return 0;
	return err_set(err, ERR_CONFIG,
		"only root may read or change mail in Postfix's queue: run this with sudo");
}

int postfix_queue_open(const struct conf *conf, struct postfix_queue **queue_r, struct err *err)
{
	static const char *const names[] = {"command_directory", "queue_directory"};
	struct postfix_queue *queue;
	char *values[ARRAY_SIZE(names)];

	if (postconf_read(conf->submission.postfix_config, names, ARRAY_SIZE(names), values, err) <
		0)
		return -1;
	queue = mem_new(struct postfix_queue);
	queue->commands = values[0];
	queue->folder = values[1];
	queue->helper = -1;
	queue->config = conf->submission.postfix_config;
	queue->sendmail = conf->submission.sendmail;
	*queue_r = queue;
	return 0;
}

void postfix_queue_free(struct postfix_queue *queue)
{
	if (queue == NULL)
		return;
	free(queue->commands);
	free(queue->folder);
	free(queue);
}

void postfix_queue_use_helper(struct postfix_queue *queue, int helper)
{
	queue->helper = helper;
}

void queue_item_clear(struct queue_item *item)
{
	free(item->queue);
	free(item->id);
	free(item->sender);
	strv_free(&item->recipients);
	strv_free(&item->reasons);
	*item = (struct queue_item){0};
}

bool queue_item_came_by(const struct queue_item *item, int64_t came_us)
{
	enum { SLACK_S = 60 }; /* the milter sees a message when it is complete */

	return item->arrival_s <= came_us / 1000000 + SLACK_S;
}

int postfix_queue_times(const struct conf *conf, struct queue_times *times_r, struct err *err)
{
	static const char *const names[] = {"minimal_backoff_time", "maximal_backoff_time",
		"maximal_queue_lifetime", "bounce_queue_lifetime"};
	static const int64_t own_units_s[] = {1, 1, DAY_S, DAY_S};
	char *values[ARRAY_SIZE(names)];
	int64_t seconds[ARRAY_SIZE(names)];
	int result = 0;

	if (postconf_read(conf->submission.postfix_config, names, ARRAY_SIZE(names), values, err) <
		0)
		return -1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		/* A time of postconf(5): `5d`, `300s`, or `5` in the parameter's own unit. Postfix
		 * has it in an int. */
		const struct unit units[] = {{"", own_units_s[i]}, {"s", 1}, {"m", 60}, {"h", 3600},
			{"d", DAY_S}, {"w", 7 * DAY_S}, {0}};

		if (str_amount(values[i], units, &seconds[i]) < 0 || seconds[i] < 0 ||
			seconds[i] > INT32_MAX)
			result = err_set(err, ERR_CONFIG, "Postfix's %s is no time: \"%s\"",
				names[i], values[i]);
		free(values[i]);
	}
	if (result == 0)
		*times_r = (struct queue_times){seconds[0], seconds[1], seconds[2], seconds[3]};
	return result;
}

int64_t queue_next_attempt(const struct queue_times *times, int64_t arrival_s, int64_t last_s)
{
	int64_t wait_s = last_s - arrival_s;

	if (wait_s > times->longest_s)
		wait_s = times->longest_s;
	if (wait_s < times->shortest_s)
		wait_s = times->shortest_s;
	return last_s + wait_s;
}

/* Starts a command line for our configuration. */
static void start_argv(const struct postfix_queue *queue, const char *name, struct strv *argv)
{
	strv_take(argv, mem_printf("%s/%s", queue->commands, name));
	if (str_empty(queue->config))
		return;
	strv_add(argv, "-c");
	strv_add(argv, queue->config);
}

static int fail_program(const char *program, int status, int errors, struct err *err)
{
	_cleanup_free_ char *line = program_last_line(errors);

	if (WIFSIGNALED(status))
		return err_set(err, ERR_TEMPORARY, "%s was killed by signal %d", program,
			WTERMSIG(status));
	if (strstr(line, "No such file or directory"))
		return err_set(err, ERR_NOT_FOUND, "%s", line);
	return err_set(err, ERR_TEMPORARY, "%s ended with status %d: %s", program,
		WEXITSTATUS(status), line);
}

/* Runs the program to its end with these files. Its standard error is appended to errors, if
 * that is not NULL. */
static int run_program(
	const struct strv *argv, int input, int output, struct buf *errors, struct err *err)
{
	int complaints = program_complaints(err);
	int status, result = -1;
	size_t len;
	ssize_t n;
	pid_t pid;

	if (complaints < 0)
		return -1;
	if (program_start(argv->items, (int[]){input, output, complaints}, &pid, err) == 0)
		result = program_end(pid, argv->items[0], TIMEOUT_MS, &status, err);
	if (result == 0 && status != 0)
		result = fail_program(argv->items[0], status, complaints, err);
	if (result == 0 && errors) {
		len = (size_t)lseek(complaints, 0, SEEK_CUR);
		n = pread(complaints, buf_reserve(errors, len), len, 0);
		buf_wrote(errors, n > 0 ? (size_t)n : 0);
	}
	close(complaints);
	return result;
}

static char *text_member(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return mem_strdup(text ? text : "");
}

static int read_queue_item(char *line, struct queue_item *item, struct err *err)
{
	bool mended = !str_utf8_valid(line, strlen(line));
	json_t *object, *recipient;
	json_error_t why;
	size_t i;

	if (mended)
		str_utf8_mend(line);
	object = json_loads(line, 0, &why);
	if (object == NULL)
		return err_set(err, ERR_CONFIG, "postqueue -j printed no JSON: %s", why.text);
	*item = (struct queue_item){
		.queue = text_member(object, "queue_name"),
		.id = text_member(object, "queue_id"),
		.arrival_s = json_integer_value(json_object_get(object, "arrival_time")),
		.size = json_integer_value(json_object_get(object, "message_size")),
		.sender = text_member(object, "sender"),
		.mended = mended,
	};
	/* Postfix lists the null sender under this name; any other sender has a domain. */
	if (str_eq(item->sender, "MAILER-DAEMON"))
		*item->sender = '\0';
	json_array_foreach(json_object_get(object, "recipients"), i, recipient) {
		strv_take(&item->recipients, text_member(recipient, "address"));
		strv_take(&item->reasons, text_member(recipient, "delay_reason"));
	}
	json_decref(object);
	return 0;
}

int postfix_queue_list_start(
	const struct postfix_queue *queue, struct queue_listing *listing_r, struct err *err)
{
	_cleanup_strv_ struct strv argv = STRV_INIT;
	int fds[2], errors;
	pid_t pid;

	if (queue->helper >= 0) {
		*listing_r = (struct queue_listing){.helper = queue->helper};
		return queue_helper_list_start(queue->helper, &listing_r->lines, err);
	}
	start_argv(queue, "postqueue", &argv);
	strv_add(&argv, "-j");
	errors = program_complaints(err);
	if (errors < 0)
		return -1;
	if (pipe2(fds, O_CLOEXEC) < 0) {
		close(errors);
		return err_set(err, ERR_TEMPORARY, "pipe: %s", strerror(errno));
	}
	if (program_start(argv.items, (int[]){-1, fds[1], errors}, &pid, err) < 0) {
		close(fds[0]);
		close(fds[1]);
		close(errors);
		return -1;
	}
	close(fds[1]);
	*listing_r = (struct queue_listing){fds[0], -1, errors, pid};
	return 0;
}

int postfix_queue_list_end(struct queue_listing *listing, struct err *err)
{
	int status, result;

	close(listing->lines); /* ends the program if its output was not read completely */
	if (listing->helper >= 0)
		return queue_helper_list_end(listing->helper, err);
	result = program_end(listing->pid, "postqueue", TIMEOUT_MS, &status, err);
	if (result == 0 && status != 0)
		result = fail_program("postqueue", status, listing->errors, err);
	close(listing->errors);
	return result;
}

int postfix_queue_each(const struct postfix_queue *queue,
	int (*on_item)(void *arg, struct queue_item *item, struct err *err), void *arg,
	struct err *err)
{
	_cleanup_free_ char *line = NULL;
	struct queue_listing listing;
	int result = 0;
	size_t size = 0;
	FILE *lines;

	if (postfix_queue_list_start(queue, &listing, err) < 0)
		return -1;
	lines = fdopen(fcntl(listing.lines, F_DUPFD_CLOEXEC, 3), "r");
	if (lines == NULL)
		result = err_set(err, ERR_TEMPORARY, "%s", strerror(errno));
	while (result == 0 && getline(&line, &size, lines) > 0) {
		struct queue_item item;

		result = read_queue_item(line, &item, err);
		if (result == 0) {
			result = on_item(arg, &item, err);
			queue_item_clear(&item);
		}
	}
	if (lines)
		fclose(lines);
	if (result != 0) {
		postfix_queue_list_end(&listing, NULL);
		return result < 0 ? -1 : 0;
	}
	return postfix_queue_list_end(&listing, err);
}

bool queue_id_is_valid(const char *id)
{
	static const char letters[] =
		"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"abcdefghijklmnopqrstuvwxyz_";
	size_t len = strspn(id, letters);

	/* postsuper takes ALL for every message. */
	return len > 0 && len <= ID_MAX && id[len] == '\0' && !str_eq(id, "ALL");
}

/* With hash_queue_names the files of a queue are in folders that are named after a hexadecimal
 * digit, hash_queue_depth of them in one another. */
static int open_below(int folder, const char *id, int depth)
{
	int file = openat(folder, id, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (file >= 0 || errno != ENOENT || depth == HASH_DEPTH_MAX)
		return file;
	for (const char *digit = "0123456789ABCDEF"; *digit && file < 0; digit++) {
		const char name[] = {*digit, '\0'};
		int inner = openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (inner < 0)
			continue;
		file = open_below(inner, id, depth + 1);
		close(inner);
	}
	return file;
}

/*
 * Opens a queue file. postcat -q would look for the id in maildrop first, where each member of
 * setgid_group may make files and symbolic links: root would read what these lead to. So the
 * file is opened here, in the queue where postqueue(1) saw it, and in those to which Postfix
 * moves it from there.
 */
static int open_message(const struct postfix_queue *queue, const struct queue_item *item)
{
	const char *const names[] = {item->queue, "active", "deferred", "hold"};
	bool moves = !str_eq(item->queue, "maildrop");
	int file = -1;

	if (!queue_id_is_valid(item->id))
		return -1;
	for (size_t i = 0; file < 0 && i < (moves ? ARRAY_SIZE(names) : 1); i++) {
		_cleanup_free_ char *path = mem_printf("%s/%s", queue->folder, names[i]);
		int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct stat info;

		if (folder < 0)
			continue;
		file = open_below(folder, item->id, 0);
		close(folder);
		if (file < 0 || (fstat(file, &info) == 0 && S_ISREG(info.st_mode)))
			continue;
		close(file);
		file = -1;
	}
	return file;
}

int postfix_queue_read(const struct postfix_queue *queue, const struct queue_item *item, bool whole,
	int *file_r, struct err *err)
{
	_cleanup_strv_ struct strv argv = STRV_INIT;
	int message, file, result;

	if (queue->helper >= 0 && !whole)
		return queue_helper_read(queue->helper, item->id, file_r, err);
	message = open_message(queue, item);
	if (message < 0)
		return err_set(err, ERR_NOT_FOUND, "Postfix has no such message (any more)");
	file = program_file("message", err);
	if (file < 0) {
		close(message);
		return -1;
	}
	start_argv(queue, "postcat", &argv);
	strv_add(&argv, whole ? "-hb" : "-h");
	result = run_program(&argv, message, file, NULL, err);
	close(message);
	if (result < 0) {
		close(file);
		return -1;
	}
	*file_r = file;
	return 0;
}

/* Reads which messages postsuper has changed, from lines like `postsuper: ID: removed`. */
static void read_done(const char *said, const char *what, struct strv *done_r)
{
	_cleanup_strv_ struct strv lines = STRV_INIT;

	strv_split(&lines, said, '\n');
	for (size_t i = 0; i < lines.n; i++) {
		char *id = strstr(lines.items[i], ": ");
		char *end = id ? strstr(id + 2, ": ") : NULL;

		if (end && str_eq(end + 2, what)) {
			*end = '\0';
			strv_add(done_r, id + 2);
		}
	}
}

/* A released message goes into the deferred queue. Asks the queue manager to scan it now
 * instead of in a few minutes. */
static void wake_queue_manager(const struct postfix_queue *queue)
{
	_cleanup_strv_ struct strv argv = STRV_INIT;

	start_argv(queue, "postkick", &argv);
	strv_add(&argv, "public");
	strv_add(&argv, "qmgr");
	strv_add(&argv, "D");
	run_program(&argv, -1, -1, NULL, NULL);
}

int postfix_queue_change(const struct postfix_queue *queue, enum queue_change change,
	const struct strv *ids, struct strv *done_r, struct err *err)
{
	static const struct {
		const char *option;
		const char *what;
		const char *queue; /* NULL: any but maildrop */
	} changes[] = {
		[QUEUE_RELEASE] = {"-H", "released from hold", NULL},
		[QUEUE_REMOVE] = {"-d", "removed", NULL},
		[QUEUE_REMOVE_HELD] = {"-d", "removed", "hold"},
	};
	_cleanup_strv_ struct strv argv = STRV_INIT;
	_cleanup_buf_ struct buf said = BUF_INIT;
	_cleanup_free_ char *list = strv_join(ids, "\n");
	int input, result;

	if (ids->n == 0)
		return 0;
	if (queue->helper >= 0)
		return queue_helper_change(queue->helper, change, ids, done_r, err);
	input = program_file("ids", err);
	if (input < 0)
		return -1;
	start_argv(queue, "postsuper", &argv);
	strv_add(&argv, changes[change].option);
	strv_add(&argv, "-");
	if (changes[change].queue)
		strv_add(&argv, changes[change].queue);
	if (dprintf(input, "%s\n", list) < 0 || lseek(input, 0, SEEK_SET) < 0)
		result = err_set(err, ERR_TEMPORARY, "%s", strerror(errno));
	else
		result = run_program(&argv, input, -1, &said, err);
	close(input);
	if (result < 0)
		return -1;
	read_done(buf_str(&said), changes[change].what, done_r);
	if (change == QUEUE_RELEASE && done_r->n > 0)
		wake_queue_manager(queue);
	return 0;
}

/*
 * Submission uses sendmail(1) -bs, which starts its own smtpd on a socket, because every user
 * can read a process's arguments and the recipient is a ticket. Commands are not pipelined,
 * because after a refusal the message must not be read as commands.
 */

/* Reads a complete reply (RFC 5321 4.2) and checks its code. */
static int expect(int smtp, int code, const char *about, struct err *err)
{
	_cleanup_buf_ struct buf reply = BUF_INIT;
	_cleanup_free_ char *text = NULL;
	const char *line = "";

	for (;;) {
		ssize_t n = recv(smtp, buf_reserve(&reply, REPLY_PIECE), REPLY_PIECE, 0);
		const char *end;

		if (n <= 0 || reply.len > REPLY_MAX)
			return err_set(err, ERR_TEMPORARY,
				"sendmail gives no answer to %s; see the mail log", about);
		buf_wrote(&reply, (size_t)n);
		if (reply.data[reply.len - 1] != '\n')
			continue;
		end = memrchr(reply.data, '\n', reply.len - 1);
		line = end ? end + 1 : buf_str(&reply);
		if (strlen(line) < 4 || line[3] != '-')
			break;
	}
	text = str_trim(line, strlen(line));
	str_utf8_mend(text);
	if (atoi(line) == code)
		return 0;
	return err_set(err, ERR_TEMPORARY, "sendmail refuses %s: %s", about, text);
}

/* Sends and empties out, and checks the reply. */
static int say(int smtp, struct buf *out, int code, const char *about, struct err *err)
{
	for (size_t sent = 0; sent < out->len;) {
		ssize_t n = send(smtp, out->data + sent, out->len - sent, MSG_NOSIGNAL);

		if (n < 0)
			return err_set(err, ERR_TEMPORARY, "sendmail does not take %s: %s", about,
				strerror(errno));
		sent += (size_t)n;
	}
	buf_clear(out);
	return expect(smtp, code, about, err);
}

/* Adds the message with CRLF line ends and dot-stuffing (RFC 5321 4.5.2). */
static int add_content(int file, struct buf *out, struct err *err)
{
	char piece[CONTENT_PIECE];
	bool in_line = false;
	off_t at = 0;
	ssize_t n;

	while ((n = pread(file, piece, sizeof(piece), at)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			if (piece[i] == '.' && !in_line)
				buf_add_str(out, ".");
			if (piece[i] == '\n')
				buf_add_str(out, "\r");
			buf_add(out, piece + i, 1);
			in_line = piece[i] != '\n';
		}
		at += n;
	}
	if (n < 0)
		return err_set(err, ERR_TEMPORARY, "%s", strerror(errno));
	buf_add_str(out, in_line ? "\r\n.\r\n" : ".\r\n");
	return 0;
}

/* The recipient is given twice: smtpd writes a single recipient into Received. */
static int speak(int smtp, const char *sender, const char *recipient, int file, struct err *err)
{
	_cleanup_buf_ struct buf out = BUF_INIT;

	if (expect(smtp, 220, "the connection", err) < 0)
		return -1;
	buf_add_str(&out, "EHLO localhost\r\n");
	if (say(smtp, &out, 250, "EHLO", err) < 0)
		return -1;
	buf_printf(&out, "MAIL FROM:<%s>%s\r\n", sender, str_is_ascii(sender) ? "" : " SMTPUTF8");
	if (say(smtp, &out, 250, "the sender", err) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		buf_printf(&out, "RCPT TO:<%s>\r\n", recipient);
		if (say(smtp, &out, 250, "the recipient", err) < 0)
			return -1;
	}
	buf_add_str(&out, "DATA\r\n");
	if (say(smtp, &out, 354, "the message", err) < 0 || add_content(file, &out, err) < 0 ||
		say(smtp, &out, 250, "the message", err) < 0)
		return -1;
	return 0;
}

int postfix_queue_submit(const struct postfix_queue *queue, const char *sender,
	const char *recipient, int file, struct err *err)
{
	static const struct timeval timeout = {.tv_sec = TIMEOUT_MS / 1000};
	_cleanup_strv_ struct strv argv = STRV_INIT;
	int fds[2], status, result;
	pid_t pid;

	strv_add(&argv, queue->sendmail);
	if (!str_empty(queue->config)) {
		strv_add(&argv, "-C");
		strv_add(&argv, queue->config);
	}
	strv_add(&argv, "-bs");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
		return err_set(err, ERR_TEMPORARY, "%s", strerror(errno));
	setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	setsockopt(fds[0], SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	result = program_start(argv.items, (int[]){fds[1], fds[1], -1}, &pid, err);
	close(fds[1]);
	if (result == 0) {
		result = speak(fds[0], sender, recipient, file, err);
		shutdown(fds[0], SHUT_RDWR);
		/* The exit status no longer matters. */
		program_end(pid, argv.items[0], END_MS, &status, NULL);
	}
	close(fds[0]);
	return result;
}
