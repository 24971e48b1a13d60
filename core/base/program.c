/*
 * program: runs another program, and collects what it prints if wanted.
 *
 * program_output() reads both its streams until its output ends and it has
 * ended too; a program that closes them but goes on running is waited for only
 * as long as any other.
 */
#include "core/base/program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"

enum { READ_BYTES = 4096, COMPLAINT_BYTES = 4096 };

/* What is waited for. */
enum event { OUTPUT, COMPLAINT, END, EVENTS };

struct run {
	const char *name;
	pid_t pid;
	struct pollfd fds[EVENTS]; /* fd -1: it has come to its end */
	int64_t deadline_us;
	struct buf *output;
	struct buf complaint;
};

static int cannot_run(const char *name, int number, struct err *err)
{
	bool temporary = number == EAGAIN || number == ENOMEM ||
			 number == EMFILE || number == ENFILE;

	return err_set(err, temporary ? ERR_TEMPORARY : ERR_CONFIG,
		"cannot run %s: %s", name, strerror(number));
}

static void set_fd(struct run *run, enum event event, int fd)
{
	run->fds[event] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void close_fd(struct run *run, enum event event)
{
	if (run->fds[event].fd >= 0)
		close(run->fds[event].fd);
	run->fds[event].fd = -1;
}

/* Makes the pipe for a stream; gives the program's end, or -1. */
static int open_stream(struct run *run, enum event event)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	set_fd(run, event, fds[0]);
	return fds[1];
}

int program_start(char *const *argv, const int files[static 3], pid_t *pid_r,
	struct err *err)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all;
	int failed;

	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawn_file_actions_init(&actions);
	for (int i = 0; i < 3; i++)
		if (files[i] >= 0)
			posix_spawn_file_actions_adddup2(&actions, files[i], i);
		else
			posix_spawn_file_actions_addopen(
				&actions, i, "/dev/null", O_RDWR, 0);
	failed = posix_spawnp(
		pid_r, argv[0], &actions, &attributes, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	return failed ? cannot_run(argv[0], failed, err) : 0;
}

static int start(struct run *run, char *const *argv, struct err *err)
{
	int output = open_stream(run, OUTPUT);
	int complaint = open_stream(run, COMPLAINT);
	int result = -1;

	if (output >= 0 && complaint >= 0)
		result = program_start(
			argv, (int[]){-1, output, complaint}, &run->pid, err);
	else
		cannot_run(run->name, errno, err);
	if (output >= 0)
		close(output);
	if (complaint >= 0)
		close(complaint);
	return result;
}

/* Reads what is there; the event is over at the end of the stream. */
static void read_stream(
	struct run *run, enum event event, struct buf *text, size_t max)
{
	char piece[READ_BYTES];
	ssize_t n = read(run->fds[event].fd, piece, sizeof(piece));

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		close_fd(run, event);
	else if (n > 0 && text->len <= max)
		buf_add(text, piece, (size_t)n);
}

static void on_event(struct run *run, enum event event)
{
	switch (event) {
	case OUTPUT:
		read_stream(run, OUTPUT, run->output, PROGRAM_OUTPUT_MAX);
		break;
	case COMPLAINT:
		read_stream(run, COMPLAINT, &run->complaint, COMPLAINT_BYTES);
		break;
	case END:
	case EVENTS:
		close_fd(run, END);
	}
}

static int await(struct run *run, struct err *err)
{
	int64_t left_us = run->deadline_us - clock_monotonic_us();
	int ready = poll(
		run->fds, EVENTS, left_us > 0 ? (int)(left_us / 1000) + 1 : 0);

	if (ready == 0)
		return err_set(
			err, ERR_TEMPORARY, "%s takes too long", run->name);
	return 0;
}

static int follow(struct run *run, struct err *err)
{
	while (run->fds[OUTPUT].fd >= 0 || run->fds[END].fd >= 0) {
		if (await(run, err) < 0)
			return -1;
		for (int i = 0; i < EVENTS; i++)
			if (run->fds[i].fd >= 0 && run->fds[i].revents)
				on_event(run, (enum event)i);
		if (run->output->len > PROGRAM_OUTPUT_MAX)
			return err_set(err, ERR_TOO_LARGE,
				"%s prints more than %d bytes", run->name,
				PROGRAM_OUTPUT_MAX);
	}
	if (run->fds[COMPLAINT].fd >= 0)
		on_event(run, COMPLAINT);
	return 0;
}

/* The last line of what the program says is its reason. */
static const char *reason(struct run *run)
{
	struct buf *text = &run->complaint;
	const char *line;

	while (text->len > 0 && text->data[text->len - 1] == '\n')
		text->data[--text->len] = '\0';
	line = memrchr(buf_str(text), '\n', text->len);
	return line ? line + 1 : buf_str(text);
}

static int judge(struct run *run, int status, struct err *err)
{
	const char *why = reason(run);
	bool exited = WIFEXITED(status);

	if (status == 0)
		return 0;
	if (exited && WEXITSTATUS(status) == 1 && !*why && run->output->len == 0)
		return err_set(err, ERR_NOT_FOUND, "%s found nothing", run->name);
	return err_set(err, ERR_CONFIG, "%s failed (%s %d)%s%s", run->name,
		exited ? "exit status" : "signal",
		exited ? WEXITSTATUS(status) : WTERMSIG(status),
		*why ? ": " : "", why);
}

static int run_to_end(struct run *run, struct err *err)
{
	int status = 0, result = -1;
	int end = pidfd_open(run->pid, 0);

	set_fd(run, END, end);
	if (end < 0)
		cannot_run(run->name, errno, err);
	else
		result = follow(run, err);
	if (result < 0)
		kill(run->pid, SIGKILL);
	while (waitpid(run->pid, &status, 0) < 0 && errno == EINTR) {
	}
	return result < 0 ? -1 : judge(run, status, err);
}

int program_output(char *const *argv, int64_t timeout_ms, struct buf *output_r,
	struct err *err)
{
	struct run run = {
		.name = argv[0],
		.deadline_us = clock_monotonic_us() + timeout_ms * 1000,
		.output = output_r,
	};
	int result;

	for (int i = 0; i < EVENTS; i++)
		set_fd(&run, (enum event)i, -1);
	result = start(&run, argv, err);
	if (result == 0)
		result = run_to_end(&run, err);
	for (int i = 0; i < EVENTS; i++)
		close_fd(&run, (enum event)i);
	buf_free(&run.complaint);
	return result;
}

int program_end(pid_t pid, const char *name, int64_t timeout_ms, int *status_r,
	struct err *err)
{
	struct pollfd end = {.fd = pidfd_open(pid, 0), .events = POLLIN};
	int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000;
	int ready = -1;

	while (end.fd >= 0 && ready < 0) {
		int64_t left_us = deadline_us - clock_monotonic_us();

		ready = poll(
			&end, 1, left_us > 0 ? (int)(left_us / 1000) + 1 : 0);
	}
	if (end.fd < 0)
		cannot_run(name, errno, err);
	else
		close(end.fd);
	if (ready <= 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, status_r, 0) < 0 && errno == EINTR) {
	}
	if (ready == 0)
		return err_set(err, ERR_TEMPORARY, "%s takes too long", name);
	return ready < 0 ? -1 : 0;
}
