/*
 * postern-auth: tells Postfix if the password of an SMTP login is an API key that may send, and
 * which key it is.
 *
 * smtpd(8) asks over a Unix-domain socket in Dovecot's authentication protocol (dialog). One
 * thread answers all: a look-up takes microseconds, and an smtpd waits for one answer at a
 * time. The store is only read. What the key may send as is decided by postern-milter at the
 * end of each message.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sysexits.h>
#include <unistd.h>

#include "auth/dialog.h"
#include "auth/guesses.h"
#include "core/base/clock.h"
#include "core/base/daemon.h"
#include "core/base/log.h"
#include "core/base/secret.h"
#include "core/base/socket.h"
#include "core/base/str.h"
#include "core/base/version.h"
#include "core/conf/conf.h"
#include "core/db/db.h"
#include "core/db/migrate.h"
#include "core/postfix/postconf.h"
#include "core/store/company/store_key.h"

enum {
	ROUND_MS = 1000,
	/* For the database. All logins wait for one look-up, and smtpd gives up after 10 s. */
	WAIT_MS = 2000,
	EVENTS_AT_ONCE = 64,
	READ_SIZE = 16 * 1024,
	OUT_MAX = 64 * 1024, /* unsent replies, beyond which a peer that does not read is
			      * dropped */
};

static const struct daemon_about about = {
	.program = "postern-auth",
	.purpose = "Tells the local Postfix which SMTP logins have an API key.",
	.default_path = CONF_DEFAULT_PATH,
};

/* A connection of an smtpd process. */
struct peer {
	int fd;
	bool waits; /* waits for EPOLLOUT */
	struct dialog *dialog;
	struct buf out;
	struct peer *prev, *next;
};

struct daemon {
	const char *conf_path;
	struct conf *conf;
	struct log *log;
	struct db *db; /* NULL if it could not be opened */
	struct db_identity identity;
	struct guesses *guesses;
	struct socket *socket;
	int listen_fd, poll_fd, signal_fd;
	struct peer *peers;
	unsigned connections; /* since start */
	bool failing;         /* the store fails, and that was logged */
};

static enum auth_answer refuse_login(struct daemon *daemon, const char *client, const char *reason)
{
	switch (guesses_add(daemon->guesses, client, clock_monotonic_us())) {
	case GUESS_LOGGED:
		log_warn(daemon->log, "login_refused", "client", client, "reason", reason);
		break;
	case GUESS_LAST:
		log_warn(daemon->log, "login_refused", "client", client, "reason", reason, "more",
			"not logged for a minute");
		break;
	case GUESS_LIMITED:
		log_warn(daemon->log, "logins_limited", "client", client, "failed",
			LOG_INT(GUESSES_MAX));
		break;
	case GUESS_SILENT:
		break;
	}
	return AUTH_FAIL;
}

/* Logs how many lines the limit of the log has left out. */
static void log_left_out(struct daemon *daemon, int64_t now_us)
{
	int left_out = guesses_left_out(daemon->guesses, now_us);

	if (left_out > 0)
		log_warn(daemon->log, "lines_left_out", "lines", LOG_INT(left_out), "reason",
			"too many logins were refused");
}

static enum auth_answer check_login(
	void *arg, const struct auth_attempt *attempt, char key_id[static ID_SIZE])
{
	struct daemon *daemon = arg;
	uint8_t hash[SECRET_HASH_LEN];
	struct err err = ERR_INIT;
	struct key key;
	bool may_send;
	int found;

	if (guesses_limited(daemon->guesses, attempt->client, clock_monotonic_us()))
		return AUTH_TEMP;
	if (!secret_is_token(attempt->password, attempt->len))
		return refuse_login(daemon, attempt->client, "no such key");
	secret_hash(attempt->password, attempt->len, hash);
	found = db_same(conf_store(daemon->conf), &daemon->identity, &err);
	if (found == 0)
		found = store_key_find(daemon->db, hash, &key, &err);
	if (found < 0 && !daemon->failing)
		log_error(daemon->log, "store_failed", "error", err.text);
	if (found >= 0 && daemon->failing)
		log_info(daemon->log, "store_works_again");
	daemon->failing = found < 0;
	if (found < 0)
		return AUTH_TEMP;
	if (found == 0)
		return refuse_login(daemon, attempt->client, "no such key");
	memcpy(key_id, key.id, ID_SIZE);
	may_send = key.scopes & KEY_SENDING;
	store_key_clear(&key);
	if (!may_send)
		return refuse_login(daemon, attempt->client, "the key may not send");
	log_debug(daemon->log, "login", "key", key_id, "client", attempt->client);
	return AUTH_OK;
}

static void forget_peer(struct daemon *daemon, struct peer *peer)
{
	if (peer->prev)
		peer->prev->next = peer->next;
	else
		daemon->peers = peer->next;
	if (peer->next)
		peer->next->prev = peer->prev;
	close(peer->fd);
	dialog_free(peer->dialog);
	buf_free(&peer->out);
	free(peer);
}

/* Sends what it can. Returns 0, or -1 if the peer is gone or does not read. */
static int write_out(struct daemon *daemon, struct peer *peer)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
	ssize_t n;

	while (peer->out.len > 0) {
		n = send(peer->fd, peer->out.data, peer->out.len, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return -1;
		if (n < 0)
			break;
		memmove(peer->out.data, peer->out.data + n, peer->out.len - (size_t)n);
		peer->out.len -= (size_t)n;
	}
	if (peer->out.len > OUT_MAX)
		return -1;
	if (peer->waits == (peer->out.len > 0))
		return 0;
	peer->waits = peer->out.len > 0;
	event.events |= peer->waits ? EPOLLOUT : 0;
	return epoll_ctl(daemon->poll_fd, EPOLL_CTL_MOD, peer->fd, &event);
}

static void on_peer(struct daemon *daemon, struct peer *peer)
{
	char data[READ_SIZE];
	ssize_t n = recv(peer->fd, data, sizeof(data), 0);
	bool open = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
	int closes;

	if (n > 0) {
		closes = dialog_input(peer->dialog, data, (size_t)n, &peer->out);
		if (closes < 0 && guesses_may_log(daemon->guesses, clock_monotonic_us()))
			log_warn(daemon->log, "protocol_error");
		open = closes == 0;
		secret_wipe(data, (size_t)n);
	}
	if (write_out(daemon, peer) < 0 || !open)
		forget_peer(daemon, peer);
}

static void on_connection(struct daemon *daemon)
{
	int fd = accept4(daemon->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct epoll_event event = {.events = EPOLLIN};
	struct peer *peer;

	if (fd < 0)
		return;
	peer = mem_new(struct peer);
	peer->fd = fd;
	peer->dialog = dialog_new(check_login, daemon, ++daemon->connections, &peer->out);
	peer->next = daemon->peers;
	if (peer->next)
		peer->next->prev = peer;
	daemon->peers = peer;
	event.data.ptr = peer;
	if (epoll_ctl(daemon->poll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ||
		write_out(daemon, peer) < 0)
		forget_peer(daemon, peer);
}

static int open_socket(struct daemon *daemon, struct err *err)
{
	const struct conf *conf = daemon->conf;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t umask_before;
	int failed;

	if (socket_lock(conf->auth.socket,
		    &(struct socket_use){"auth", "auth.socket", "postfix-conf/enable makes it"},
		    &daemon->socket, err) < 0)
		return -1;
	daemon->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", conf->auth.socket);
	umask_before = umask(0177);
	failed = daemon->listen_fd < 0 ||
		 bind(daemon->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
		 listen(daemon->listen_fd, SOMAXCONN) < 0;
	umask(umask_before);
	if (failed)
		return err_set(err, ERR_CONFIG, "cannot listen on %s (auth.socket): %s",
			conf->auth.socket, strerror(errno));
	if (socket_publish(daemon->socket, conf->auth.socket_mode, "", err) == 0)
		return 0;
	socket_hide(daemon->socket);
	return -1;
}

static int watch_fd(struct daemon *daemon, int *fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = fd};

	return epoll_ctl(daemon->poll_fd, EPOLL_CTL_ADD, *fd, &event);
}

static int start_daemon(struct daemon *daemon, struct err *err)
{
	const char *store = conf_store(daemon->conf);
	sigset_t signals;

	daemon_raise_descriptor_limit();
	if (migrate_check_name(store, err) < 0 || db_open(store, DB_READ, &daemon->db, err) < 0 ||
		db_same(store, &daemon->identity, err) < 0)
		return -1;
	db_set_wait(daemon->db, WAIT_MS);
	daemon->guesses = guesses_new();
	sigemptyset(&signals);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	daemon->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	daemon->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (daemon->signal_fd < 0 || daemon->poll_fd < 0)
		return err_set(err, ERR_TEMPORARY, "cannot wait for events: %s", strerror(errno));
	if (open_socket(daemon, err) < 0)
		return -1;
	if (watch_fd(daemon, &daemon->signal_fd) == 0 && watch_fd(daemon, &daemon->listen_fd) == 0)
		return 0;
	socket_hide(daemon->socket);
	return err_set(err, ERR_TEMPORARY, "cannot wait for events: %s", strerror(errno));
}

static int find_socket(void *arg, struct conf *fresh, struct err *err)
{
	(void)arg;
	return postconf_find_auth_socket(fresh, err);
}

/* Returns the signal to stop by, or 0. */
static int on_signals(struct daemon *daemon)
{
	const struct conf_reader reader = {.complete = find_socket};
	struct signalfd_siginfo info;
	struct err err = ERR_INIT;
	int number = 0;

	while (read(daemon->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			conf_reread(daemon->conf, daemon->conf_path, daemon->log, &reader, &err);
		else
			number = (int)info.ssi_signo;
	}
	return number;
}

/* Serves until a signal or a failure, and looks every second if the database and the socket are
 * still those that this process has opened. Returns the exit status. */
static int serve(struct daemon *daemon)
{
	struct epoll_event events[EVENTS_AT_ONCE];
	int64_t looked_us = clock_monotonic_us();

	for (;;) {
		int n = epoll_wait(daemon->poll_fd, events, EVENTS_AT_ONCE, ROUND_MS);
		struct err err = ERR_INIT;

		/* Each peer has at most one event, so none is freed before its event is
		 * handled. */
		for (int i = 0; i < n; i++) {
			void *what = events[i].data.ptr;
			int number;

			if (what == &daemon->listen_fd) {
				on_connection(daemon);
			} else if (what == &daemon->signal_fd) {
				number = on_signals(daemon);
				if (number == 0)
					continue;
				log_info(daemon->log, "stopping", "signal", strsignal(number));
				return EX_OK;
			} else {
				on_peer(daemon, what);
			}
		}
		if (clock_monotonic_us() - looked_us < ROUND_MS * INT64_C(1000))
			continue;
		looked_us = clock_monotonic_us();
		log_left_out(daemon, looked_us);
		if (db_same(conf_store(daemon->conf), &daemon->identity, &err) < 0) {
			log_error(daemon->log, "database_gone", "error", err.text);
			return EX_TEMPFAIL;
		}
		if (!socket_is_named(daemon->socket)) {
			log_error(daemon->log, "socket_gone", "socket", daemon->conf->auth.socket);
			return EX_TEMPFAIL;
		}
	}
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void free_daemon(struct daemon *daemon)
{
	while (daemon->peers)
		forget_peer(daemon, daemon->peers);
	close_fd(daemon->listen_fd);
	close_fd(daemon->poll_fd);
	close_fd(daemon->signal_fd);
	socket_free(daemon->socket);
	guesses_free(daemon->guesses);
	db_close(daemon->db);
	log_free(daemon->log);
	conf_free(daemon->conf);
}

int main(int argc, char **argv)
{
	struct daemon daemon = {.listen_fd = -1, .poll_fd = -1, .signal_fd = -1};
	struct err err = ERR_INIT;
	int status = EX_OK;

	daemon.conf_path = daemon_begin(&about, argc, argv, NULL, &status);
	if (daemon.conf_path == NULL)
		return status;
	if (conf_load(daemon.conf_path, &daemon.conf, &err) < 0 ||
		postconf_find_auth_socket(daemon.conf, &err) < 0) {
		fprintf(stderr, "postern-auth: %s\n", err.text);
		conf_free(daemon.conf);
		return err_info(err.code)->exit_status;
	}
	daemon.log = log_new("postern-auth", (enum log_target)daemon.conf->log.target,
		(enum log_level)daemon.conf->log.level);
	if (start_daemon(&daemon, &err) < 0) {
		log_error(daemon.log, "start_failed", "error", err.text);
		status = err_info(err.code)->exit_status;
	} else {
		log_info(daemon.log, "started", "version", POSTERN_VERSION, "socket",
			daemon.conf->auth.socket);
		daemon_ready();
		status = serve(&daemon);
		log_left_out(&daemon, INT64_MAX);
		socket_hide(daemon.socket);
		log_info(daemon.log, "stopped");
	}
	free_daemon(&daemon);
	return status;
}
