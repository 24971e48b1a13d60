/*
 * queue_helper: the half of a process that keeps the rights of root.
 *
 * A request is one packet: a letter, and queue ids with a newline between them. So is the answer:
 * the code of an error, and its text; without an error the ids that were changed, or the header
 * as a file in memory. The helper trusts nothing in a request: it takes ids for no other queue
 * than hold, and nothing that has not the form of an id.
 */
#include "core/postfix/queue_helper.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

enum { PACKET_MAX = 64 * 1024 };

static const char letters[] = {
	[QUEUE_RELEASE] = 'H', [QUEUE_REMOVE] = 'd', [QUEUE_REMOVE_HELD] = 'd'};
static const char letter_read = 'r', letter_list = 'l';

/* Sends a packet; with a file, unless that is -1. */
static int send_packet(int socket, char first, const char *text, int file)
{
	struct iovec parts[] = {{&first, 1}, {(void *)(uintptr_t)text, strlen(text)}};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct msghdr packet = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};

	if (file >= 0) {
		packet.msg_control = &control;
		packet.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(int)),
		};
		memcpy(CMSG_DATA(&control.header), &file, sizeof(file));
	}
	return sendmsg(socket, &packet, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

/* Receives one, its text with a NUL behind it: 1, 0 when the other half has ended, -1. *file_r is
 * -1 without a file; NULL: none is wanted, and the kernel drops one that comes. */
static int receive_packet(int socket, char *first_r, char text_r[static PACKET_MAX], int *file_r)
{
	struct iovec parts[] = {{first_r, 1}, {text_r, PACKET_MAX - 1}};
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr packet = {.msg_iov = parts, .msg_iovlen = ARRAY_SIZE(parts)};
	const struct cmsghdr *header;
	ssize_t n;

	if (file_r) {
		*file_r = -1;
		packet.msg_control = &control;
		packet.msg_controllen = sizeof(control);
	}
	do
		n = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	header = CMSG_FIRSTHDR(&packet);
	if (file_r && header && header->cmsg_type == SCM_RIGHTS)
		memcpy(file_r, CMSG_DATA(header), sizeof(*file_r));
	text_r[n - 1] = '\0';
	return packet.msg_flags & MSG_TRUNC ? -1 : 1;
}

static int answer_read(const struct postfix_queue *queue, char *id, int *file_r, struct err *err)
{
	static char hold[] = "hold";
	const struct queue_item item = {.queue = hold, .id = id};

	return postfix_queue_read(queue, &item, false, file_r, err);
}

/* Two answers: the lines, which the other half reads while they come, and how it ended. */
static int answer_list(int socket, const struct postfix_queue *queue)
{
	struct queue_listing listing;
	struct err err = ERR_INIT;
	int result;

	if (postfix_queue_list_start(queue, &listing, &err) < 0)
		return send_packet(socket, (char)err.code, err.text, -1);
	result = send_packet(socket, ERR_NONE, "", listing.lines);
	if (postfix_queue_list_end(&listing, &err) < 0 || result < 0)
		return result < 0 ? -1 : send_packet(socket, (char)err.code, err.text, -1);
	return send_packet(socket, ERR_NONE, "", -1);
}

/* Does what one request says, and answers: 0, or -1 when nobody takes the answer. */
static int answer(int socket, const struct postfix_queue *queue, char letter, const char *text)
{
	_cleanup_strv_ struct strv ids = STRV_INIT, done = STRV_INIT;
	_cleanup_free_ char *changed = NULL;
	struct err err = ERR_INIT;
	int file = -1, result = 0;

	if (letter == letter_list)
		return answer_list(socket, queue);
	strv_split(&ids, text, '\n');
	if (ids.n == 0)
		result = err_set(&err, ERR_INVALID, "there is no queue id");
	for (size_t i = 0; result == 0 && i < ids.n; i++)
		if (!queue_id_is_valid(ids.items[i]))
			result = err_set(&err, ERR_INVALID, "that is no queue id");
	if (result < 0)
		;
	else if (letter == letter_read && ids.n == 1)
		result = answer_read(queue, ids.items[0], &file, &err);
	else if (letter == letters[QUEUE_RELEASE])
		result = postfix_queue_change(queue, QUEUE_RELEASE, &ids, &done, &err);
	else if (letter == letters[QUEUE_REMOVE_HELD])
		result = postfix_queue_change(queue, QUEUE_REMOVE_HELD, &ids, &done, &err);
	else
		result = err_set(&err, ERR_INVALID, "that is no request");
	changed = strv_join(&done, "\n");
	result = send_packet(socket, (char)err.code, result < 0 ? err.text : changed, file);
	if (file >= 0)
		close(file);
	return result;
}

/* Until the other half has ended; its exit status. */
static int help(int socket, const struct postfix_queue *queue, pid_t other, int signals)
{
	struct pollfd sources[] = {
		{.fd = socket, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	char text[PACKET_MAX], letter;
	int status;

	for (;;) {
		struct signalfd_siginfo signal;

		if (poll(sources, ARRAY_SIZE(sources), -1) < 0)
			continue;
		if (sources[1].revents && read(signals, &signal, sizeof(signal)) > 0)
			kill(other, SIGTERM);
		if (sources[0].revents && (receive_packet(socket, &letter, text, NULL) <= 0 ||
						  answer(socket, queue, letter, text) < 0))
			break;
	}
	close(socket);
	while (waitpid(other, &status, 0) < 0 && errno == EINTR) {
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* For good: the saved ids go, too. */
static int become(uid_t uid, gid_t gid, struct err *err)
{
	const struct passwd *user = getpwuid(uid);

	if (uid == geteuid())
		return 0;
	if ((user ? initgroups(user->pw_name, gid) : setgroups(1, &gid)) == 0 &&
		setresgid(gid, gid, gid) == 0 && setresuid(uid, uid, uid) == 0)
		return 0;
	return err_set(
		err, ERR_CONFIG, "cannot become the user %u: %s", (unsigned)uid, strerror(errno));
}

int queue_helper_start(const struct conf *conf, const char *folder, int *helper_r, struct err *err)
{
	_cleanup_(postfix_queue) struct postfix_queue *queue = NULL;
	int sockets[2], signals, status;
	struct stat info;
	sigset_t ends;
	pid_t pid;

	if (stat(folder, &info) < 0)
		return err_set(err, ERR_CONFIG, "%s: %s", folder, strerror(errno));
	if (postfix_queue_open(conf, &queue, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return err_set(err, ERR_TEMPORARY, "%s", strerror(errno));
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	pid = fork();
	if (pid < 0)
		return err_set(err, ERR_TEMPORARY, "%s", strerror(errno));
	if (pid == 0) {
		close(sockets[0]);
		*helper_r = sockets[1];
		/* After the ids: a change of these clears it. */
		if (become(info.st_uid, info.st_gid, err) < 0)
			return -1;
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		return 0;
	}
	close(sockets[1]);
	signals = signalfd(-1, &ends, SFD_CLOEXEC);
	status = help(sockets[0], queue, pid, signals);
	close(signals);
	postfix_queue_free(TAKE_PTR(queue));
	_exit(status);
}

/* Waits for an answer. */
static int hear(int helper, char text_r[static PACKET_MAX], int *file_r, struct err *err)
{
	char code;

	if (receive_packet(helper, &code, text_r, file_r) <= 0)
		return err_set(err, ERR_TEMPORARY, "the half that has root's rights has ended");
	if (code != ERR_NONE)
		return err_set(err, (enum err_code)code, "%s", text_r);
	return 0;
}

static int ask(int helper, char letter, const char *ids, char text_r[static PACKET_MAX],
	int *file_r, struct err *err)
{
	if (send_packet(helper, letter, ids, -1) < 0)
		return err_set(err, ERR_TEMPORARY, "the half that has root's rights has ended");
	return hear(helper, text_r, file_r, err);
}

/* Asks for a file. */
static int ask_file(int helper, char letter, const char *ids, int *file_r, struct err *err)
{
	_cleanup_free_ char *text = mem_alloc(1, PACKET_MAX);
	int file;

	if (ask(helper, letter, ids, text, &file, err) < 0)
		return -1;
	if (file < 0)
		return err_set(err, ERR_TEMPORARY, "no descriptor is free");
	*file_r = file;
	return 0;
}

int queue_helper_list_start(int helper, int *lines_r, struct err *err)
{
	return ask_file(helper, letter_list, "", lines_r, err);
}

int queue_helper_list_end(int helper, struct err *err)
{
	_cleanup_free_ char *text = mem_alloc(1, PACKET_MAX);

	return hear(helper, text, NULL, err);
}

int queue_helper_read(int helper, const char *id, int *file_r, struct err *err)
{
	return ask_file(helper, letter_read, id, file_r, err);
}

int queue_helper_change(int helper, enum queue_change change, const struct strv *ids,
	struct strv *done_r, struct err *err)
{
	_cleanup_free_ char *text = mem_alloc(1, PACKET_MAX), *joined = strv_join(ids, "\n");

	if (ask(helper, letters[change], joined, text, NULL, err) < 0)
		return -1;
	if (*text)
		strv_split(done_r, text, '\n');
	return 0;
}
