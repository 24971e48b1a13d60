/*
 * queue_helper: the privileged process that works on Postfix's hold queue, and its protocol.
 *
 * A request is one packet: a letter, then queue ids separated by newlines. A reply is one packet:
 * an error code, then the text of the error. Without an error, the text has the ids that were
 * changed, or the packet carries a descriptor of a file with the header. The privileged process
 * trusts no request: it accepts only well-formed ids, and looks them up in the hold queue alone.
 */
#include "core/postfix/queue_helper.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "core/base/daemon.h"
#include "core/base/str.h"
#include "core/conf/conf.h"

enum { PACKET_MAX = 64 * 1024 };

static const char letters[] = {
	[QUEUE_RELEASE] = 'H', [QUEUE_REMOVE] = 'd', [QUEUE_REMOVE_HELD] = 'd'};
static const char letter_read = 'r', letter_list = 'l';

/* Sends a packet, with a descriptor unless file is -1. */
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

/* Receives a packet and terminates its text with a NUL. Returns 1, 0 if the other process has
 * ended, or -1. *file_r is -1 if the packet has no descriptor. With file_r == NULL the kernel
 * drops a descriptor. */
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

/* Sends two replies: the descriptor of the lines, which the other process reads while postqueue(1)
 * writes them, and how postqueue(1) ended. */
static int send_listing(int socket, const struct postfix_queue *queue)
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

/* Carries out one request and sends the reply. Returns 0, or -1 if the other process is gone. */
static int handle_request(
	int socket, const struct postfix_queue *queue, char letter, const char *text)
{
	static char hold[] = "hold";
	_cleanup_strv_ struct strv ids = STRV_INIT, done = STRV_INIT;
	_cleanup_free_ char *changed = NULL;
	struct err err = ERR_INIT;
	int file = -1, result = 0;

	if (letter == letter_list)
		return send_listing(socket, queue);
	strv_split(&ids, text, '\n');
	if (ids.n == 0)
		result = err_set(&err, ERR_INVALID, "the request has no queue id");
	for (size_t i = 0; result == 0 && i < ids.n; i++)
		if (!queue_id_is_valid(ids.items[i]))
			result = err_set(&err, ERR_INVALID, "invalid queue id");
	if (result < 0)
		;
	else if (letter == letter_read && ids.n == 1)
		result = postfix_queue_read(queue,
			&(const struct queue_item){.queue = hold, .id = ids.items[0]}, false, &file,
			&err);
	else if (letter == letters[QUEUE_RELEASE])
		result = postfix_queue_change(queue, QUEUE_RELEASE, &ids, &done, &err);
	else if (letter == letters[QUEUE_REMOVE_HELD])
		result = postfix_queue_change(queue, QUEUE_REMOVE_HELD, &ids, &done, &err);
	else
		result = err_set(&err, ERR_INVALID, "unknown request");
	changed = strv_join(&done, "\n");
	result = send_packet(socket, (char)err.code, result < 0 ? err.text : changed, file);
	if (file >= 0)
		close(file);
	return result;
}

/* Serves requests until the other process ends, and passes signals on to it. Returns its exit
 * status. */
static int serve_requests(
	int socket, const struct postfix_queue *queue, pid_t unprivileged, int signals)
{
	struct pollfd sources[] = {
		{.fd = socket, .events = POLLIN}, {.fd = signals, .events = POLLIN}};
	char text[PACKET_MAX], letter;
	int status;

	for (;;) {
		struct signalfd_siginfo signal;

		if (poll(sources, ARRAY_SIZE(sources), -1) < 0)
			continue;
		/* postern-held.service has no right to signal a process of another user. That
		 * process notices that this one has ended. */
		if (sources[1].revents && read(signals, &signal, sizeof(signal)) > 0 &&
			kill(unprivileged, SIGTERM) < 0)
			return EX_OK;
		if (sources[0].revents && (receive_packet(socket, &letter, text, NULL) <= 0 ||
						  handle_request(socket, queue, letter, text) < 0))
			break;
	}
	close(socket);
	while (waitpid(unprivileged, &status, 0) < 0 && errno == EINTR) {
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Becomes this user for good, saved ids included. */
static int drop_rights(uid_t uid, gid_t gid, struct err *err)
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
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	pid = fork();
	if (pid < 0)
		return err_set(err, ERR_TEMPORARY, "%s", strerror(errno));
	if (pid == 0) {
		close(sockets[0]);
		*helper_r = sockets[1];
		return drop_rights(info.st_uid, info.st_gid, err);
	}
	close(sockets[1]);
	signals = signalfd(-1, &ends, SFD_CLOEXEC);
	daemon_ready(); /* systemd accepts it only from the process that it has started. */
	status = serve_requests(sockets[0], queue, pid, signals);
	close(signals);
	postfix_queue_free(TAKE_PTR(queue));
	_exit(status);
}

bool queue_helper_has_ended(int helper)
{
	struct pollfd other = {.fd = helper};

	return poll(&other, 1, 0) == 1 && (other.revents & (POLLERR | POLLHUP)) != 0;
}

static int receive_reply(int helper, char text_r[static PACKET_MAX], int *file_r, struct err *err)
{
	char code;

	if (receive_packet(helper, &code, text_r, file_r) <= 0)
		return err_set(err, ERR_TEMPORARY, "the process with root's rights has ended");
	if (code != ERR_NONE)
		return err_set(err, (enum err_code)code, "%s", text_r);
	return 0;
}

static int exchange(int helper, char letter, const char *ids, char text_r[static PACKET_MAX],
	int *file_r, struct err *err)
{
	if (send_packet(helper, letter, ids, -1) < 0)
		return err_set(err, ERR_TEMPORARY, "the process with root's rights has ended");
	return receive_reply(helper, text_r, file_r, err);
}

/* Sends a request whose reply has a descriptor. */
static int request_file(int helper, char letter, const char *ids, int *file_r, struct err *err)
{
	_cleanup_free_ char *text = mem_alloc(1, PACKET_MAX);
	int file;

	if (exchange(helper, letter, ids, text, &file, err) < 0)
		return -1;
	if (file < 0)
		return err_set(err, ERR_TEMPORARY, "no descriptor is free");
	*file_r = file;
	return 0;
}

int queue_helper_list_start(int helper, int *lines_r, struct err *err)
{
	return request_file(helper, letter_list, "", lines_r, err);
}

int queue_helper_list_end(int helper, struct err *err)
{
	_cleanup_free_ char *text = mem_alloc(1, PACKET_MAX);

	return receive_reply(helper, text, NULL, err);
}

int queue_helper_read(int helper, const char *id, int *file_r, struct err *err)
{
	return request_file(helper, letter_read, id, file_r, err);
}

int queue_helper_change(int helper, enum queue_change change, const struct strv *ids,
	struct strv *done_r, struct err *err)
{
	_cleanup_free_ char *text = mem_alloc(1, PACKET_MAX), *joined = strv_join(ids, "\n");

	if (exchange(helper, letters[change], joined, text, NULL, err) < 0)
		return -1;
	if (*text)
		strv_split(done_r, text, '\n');
	return 0;
}
