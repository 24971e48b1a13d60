/*
 * worker: one thread that serves connections.
 *
 * Made and freed on the main thread, used on its own; in between other threads
 * reach it through its inbox only. Draining ends the loop when the last
 * connection and the last request are gone, or when the time is up.
 */
#include "httpd/worker.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/conf/conf.h"
#include "core/db/db.h"
#include "httpd/http/conn.h"
#include "httpd/http/http_head.h"
#include "httpd/inbox.h"
#include "httpd/inject/inject.h"
#include "httpd/send/key_use.h"
#include "httpd/send/record_watch.h"
#include "httpd/http/request.h"

/* How often deadlines are looked at. */
enum { JANITOR_MS = 100 };

/* So many connections more than its share a worker takes. */
enum { AHEAD_MAX = 4 };

/* Above the janitor's deadlines: for clients that do not read their answer. */
enum { EVHTTP_TIMEOUT_S = 120 };

/* No body is ever longer, whatever the settings say. */
enum { BODY_MAX = INT_MAX };

/* Between two lines about clients that cannot be accepted. */
enum { ACCEPT_LOG_US = 10 * 1000000 };

/* While draining: how long clients already in the kernel's queue have. */
enum { DRAIN_ACCEPT_MS = 50 };

/* After the drain timeout: how long the last answers have to get out. */
enum { LAST_WORDS_MS = 500 };

struct drain_letter {
	struct letter letter;
	struct worker *worker;
};

struct reload_letter {
	struct letter letter;
	struct worker *worker;
	struct conf *fresh;
	int64_t postfix_limit;
};

struct worker_private {
	pthread_t thread;
	bool running;
	struct evhttp_bound_socket *socket; /* NULL once it accepts no more */
	bool accepting;
	bool took_one;           /* in this round of the loop */
	struct event *round;     /* ends it */
	int64_t accept_error_us; /* monotonic, when one was last logged */
	struct event *janitor;
	int64_t drain_began_us;
	bool cut_short;
	struct drain_letter drain;
};

int64_t worker_message_limit(const struct worker *worker)
{
	int64_t limit = worker->conf->http.max_message_bytes;

	if (worker->postfix_limit > 0 && worker->postfix_limit < limit)
		return worker->postfix_limit;
	return limit;
}

/* Whether this worker has more connections than its share. The one that has
 * fewest never does, so somebody always accepts. */
static bool is_ahead(const struct worker *worker)
{
	const struct worker_shared *shared = worker->shared;

	return conn_table_count(worker->conns) >
	       *shared->connections / shared->workers + AHEAD_MAX;
}

void worker_accept_if(struct worker *worker)
{
	struct worker_private *own = worker->own;
	struct evconnlistener *listener;
	bool accept = !own->took_one && !is_ahead(worker) &&
		      conn_table_count(worker->conns) <
			      (size_t)worker->conf->http.max_connections;

	if (own->socket == NULL || accept == own->accepting)
		return;
	listener = evhttp_bound_socket_get_listener(own->socket);
	if (accept)
		evconnlistener_enable(listener);
	else
		evconnlistener_disable(listener);
	own->accepting = accept;
}

static void on_round_end(evutil_socket_t fd, short what, void *arg)
{
	struct worker *worker = arg;

	(void)fd;
	(void)what;
	worker->own->took_one = false;
	worker_accept_if(worker);
}

void worker_took_one(struct worker *worker)
{
	worker->own->took_one = true;
	worker_accept_if(worker);
	event_active(worker->own->round, EV_TIMEOUT, 0);
}

/* The worker of this thread: the argument of a listener's callback is
 * evhttp's. */
static _Thread_local struct worker *of_thread;

/* No descriptor is left, most likely: pause until the janitor's next round, and
 * say so now and then. */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	struct worker_private *own = of_thread->own;
	int64_t now_us = clock_monotonic_us();
	int error = errno;

	(void)arg;
	evconnlistener_disable(listener);
	own->accepting = false;
	if (now_us - own->accept_error_us < ACCEPT_LOG_US)
		return;
	own->accept_error_us = now_us;
	log_error(of_thread->log, "accept_failed", "error", strerror(error));
}

static void stop_accepting(struct worker *worker)
{
	if (worker->own->socket == NULL)
		return;
	evhttp_del_accept_socket(worker->http, worker->own->socket);
	worker->own->socket = NULL;
}

/* The time is up: what has begun ends now, each request with an answer. Jobs of
 * the committer still come back, so that the end is never far. */
static void cut_short(struct worker *worker)
{
	log_warn(worker->log, "drain_timeout", "connections",
		LOG_INT((int64_t)conn_table_count(worker->conns)), "requests",
		LOG_INT((int64_t)worker->requests));
	worker->own->cut_short = true;
	inject_stop(worker->inject);
	record_watch_stop(worker->watch);
}

static void drain_further(struct worker *worker)
{
	int64_t ms = (clock_monotonic_us() - worker->own->drain_began_us) / 1000;

	if (ms >= DRAIN_ACCEPT_MS)
		stop_accepting(worker);
	if (worker->own->socket == NULL &&
		conn_table_count(worker->conns) == 0 && worker->requests == 0)
		event_base_loopbreak(worker->base);
	if (ms < worker->conf->http.drain_timeout_ms)
		return;
	if (!worker->own->cut_short)
		cut_short(worker);
	if (worker->requests == 0 &&
		ms >= worker->conf->http.drain_timeout_ms + LAST_WORDS_MS)
		event_base_loopbreak(worker->base);
}

static void on_worker_janitor(evutil_socket_t fd, short what, void *arg)
{
	struct worker *worker = arg;

	(void)fd;
	(void)what;
	conn_table_expire(worker->conns);
	worker_accept_if(worker);
	if (worker->draining)
		drain_further(worker);
}

static void on_worker_drain(struct letter *letter)
{
	struct worker *worker = ((struct drain_letter *)letter)->worker;

	worker->draining = true;
	worker->own->drain_began_us = clock_monotonic_us();
}

static void on_worker_reload(struct letter *letter)
{
	struct reload_letter *reload = (struct reload_letter *)letter;
	struct worker *worker = reload->worker;
	struct buf restart = BUF_INIT;

	conf_reload(worker->conf, reload->fresh, &restart);
	worker->postfix_limit = reload->postfix_limit;
	worker_accept_if(worker);
	buf_free(&restart);
	conf_free(reload->fresh);
	free(reload);
}

static void set_up_http(struct worker *worker)
{
	const enum evhttp_cmd_type all = EVHTTP_REQ_GET | EVHTTP_REQ_POST |
					 EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT |
					 EVHTTP_REQ_DELETE |
					 EVHTTP_REQ_OPTIONS | EVHTTP_REQ_TRACE |
					 EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH;

	worker->http = evhttp_new(worker->base);
	evhttp_set_allowed_methods(worker->http, all);
	evhttp_set_default_content_type(worker->http, NULL);
	evhttp_set_timeout(worker->http, EVHTTP_TIMEOUT_S);
	/* A second wall behind conn, which refuses before these are reached. */
	evhttp_set_max_headers_size(worker->http, HTTP_HEAD_MAX);
	evhttp_set_max_body_size(worker->http, BODY_MAX);
	evhttp_set_bevcb(worker->http, conn_on_accept, worker);
	evhttp_set_gencb(worker->http, request_on_arrival, worker);
}

/* Each worker listens on a descriptor of its own for the same socket. */
static int set_up_listener(struct worker *worker, struct err *err)
{
	int fd = fcntl(worker->shared->listen_fd, F_DUPFD_CLOEXEC, 0);

	if (fd >= 0)
		worker->own->socket = evhttp_accept_socket_with_handle(
			worker->http, fd);
	if (worker->own->socket == NULL) {
		err_set(err, ERR_TEMPORARY, "cannot accept: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	worker->own->accepting = true;
	worker->own->round = event_new(worker->base, -1, 0, on_round_end, worker);
	evconnlistener_set_error_cb(
		evhttp_bound_socket_get_listener(worker->own->socket),
		on_accept_error);
	return 0;
}

static void set_up_janitor(struct worker *worker)
{
	const struct timeval every = {.tv_usec = JANITOR_MS * 1000};

	worker->own->janitor = event_new(
		worker->base, -1, EV_PERSIST, on_worker_janitor, worker);
	event_add(worker->own->janitor, &every);
}

/* The parts that need the event base. */
static int set_up_parts(struct worker *worker, struct err *err)
{
	worker->inbox = inbox_new(worker->base);
	if (worker->inbox == NULL)
		return err_set(err, ERR_TEMPORARY, "no descriptors left");
	worker->inject = inject_new(worker->base, worker->conf);
	worker->watch = record_watch_new(worker->base, worker->db, worker->log);
	worker->keys = key_use_new(worker->shared->committer);
	worker->conns = conn_table_new(worker);
	set_up_janitor(worker);
	set_up_http(worker);
	return set_up_listener(worker, err);
}

/* evhttp turns events off and on again for each request: with the changelist
 * the kernel hears of what is left of that when the loop waits. */
static struct event_base *new_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
	base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

int worker_new(const struct worker_shared *shared, struct conf *conf,
	int64_t postfix_limit, struct worker **worker_r, struct err *err)
{
	struct worker *worker = mem_new(struct worker);

	worker->own = mem_new(struct worker_private);
	worker->own->drain.letter.deliver = on_worker_drain;
	worker->own->drain.worker = worker;
	worker->shared = shared;
	worker->log = shared->log;
	worker->conf = conf;
	worker->postfix_limit = postfix_limit;
	worker->base = new_base();
	if (db_open(shared->database, DB_READ, &worker->db, err) < 0 ||
		set_up_parts(worker, err) < 0) {
		worker_free(worker);
		return -1;
	}
	*worker_r = worker;
	return 0;
}

void worker_free(struct worker *worker)
{
	if (worker == NULL)
		return;
	if (worker->http)
		stop_accepting(worker);
	inbox_free(worker->inbox);
	inject_free(worker->inject);
	record_watch_free(worker->watch);
	if (worker->http)
		evhttp_free(worker->http);
	conn_table_free(worker->conns);
	key_use_free(worker->keys);
	if (worker->own->janitor)
		event_free(worker->own->janitor);
	if (worker->own->round)
		event_free(worker->own->round);
	db_close(worker->db);
	event_base_free(worker->base);
	conf_free(worker->conf);
	free(worker->own);
	free(worker);
}

static void *run(void *arg)
{
	of_thread = arg;
	event_base_dispatch(of_thread->base);
	return NULL;
}

int worker_start(struct worker *worker, struct err *err)
{
	int failed = pthread_create(&worker->own->thread, NULL, run, worker);

	if (failed)
		return err_set(err, ERR_TEMPORARY, "cannot start a thread: %s",
			strerror(failed));
	worker->own->running = true;
	return 0;
}

void worker_join(struct worker *worker)
{
	if (worker->own->running)
		pthread_join(worker->own->thread, NULL);
	worker->own->running = false;
}

void worker_reload(
	struct worker *worker, struct conf *fresh, int64_t postfix_limit)
{
	struct reload_letter *reload = mem_new(struct reload_letter);

	reload->letter.deliver = on_worker_reload;
	reload->worker = worker;
	reload->fresh = fresh;
	reload->postfix_limit = postfix_limit;
	inbox_post(worker->inbox, &reload->letter);
}

void worker_drain(struct worker *worker)
{
	inbox_post(worker->inbox, &worker->own->drain.letter);
}
