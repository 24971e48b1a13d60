/*
 * worker_thread: a worker and its thread, from start to drain.
 *
 * Owns all parts of struct worker that are not shared. It is made and freed on
 * the main thread, and used on its own; in between other threads reach it
 * through its task queue only. Draining ends the loop after the last connection
 * and request, or when the drain timeout is over.
 */
#include "httpd/worker_thread.h"

#include <event2/event.h>
#include <event2/http.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/thread.h"
#include "core/conf/conf.h"
#include "core/db/db.h"
#include "httpd/admin/admin.h"
#include "httpd/admission/counts.h"
#include "httpd/admission/key_use.h"
#include "httpd/http/http1.h"
#include "httpd/inject/inject.h"
#include "httpd/send/prober.h"
#include "httpd/outbox/outbox.h"
#include "httpd/transport/conn.h"
#include "httpd/transport/listener.h"
#include "httpd/worker/store_read.h"
#include "httpd/worker/task_queue.h"
#include "httpd/worker/worker.h"

/* How often deadlines are checked. */
enum { JANITOR_MS = 100 };
static const struct timeval janitor_every = {.tv_usec = JANITOR_MS * 1000};

/* Longer than any timeout that can be set: the janitor enforces those, and
 * answers where evhttp would just close. */
enum { EVHTTP_TIMEOUT_S = 2 * 60 * 60 };

/* The maximum size of a body, whatever the settings say. */
enum { BODY_MAX = INT_MAX };

/* While draining, clients already in the kernel's backlog are accepted for this
 * long. */
enum { DRAIN_ACCEPT_MS = 50 };

/* After the drain timeout, the last answers have this long to be written. */
enum { LAST_ANSWERS_MS = 500 };

struct worker_thread {
	struct worker worker;
	pthread_t id;
	bool running;
	struct event *janitor;
	struct task drain;
	int64_t drain_since_us; /* monotonic */
};

/* The drain timeout is over: everything under way ends now, each request with
 * an answer. The committer's jobs still come back, which takes little time. */
static void cut_short(struct worker *worker)
{
	log_warn(worker->log, "drain_timeout", "connections",
		LOG_INT((int64_t)listener_connections(worker->listener)), "requests",
		LOG_INT((int64_t)worker->requests));
	worker->cut_short = true;
	inject_stop(worker->inject);
	if (worker->shared->outbox)
		outbox_cut_short(worker->shared->outbox);
}

static bool is_idle(const struct worker *worker)
{
	return prober_is_idle(worker->prober) &&
	       (worker->reads == NULL || store_reads_is_idle(worker->reads));
}

static void drain_further(struct worker_thread *thread)
{
	struct worker *worker = &thread->worker;
	int64_t ms = (clock_monotonic_us() - thread->drain_since_us) / 1000;

	if (ms >= DRAIN_ACCEPT_MS)
		listener_stop(worker->listener);
	if (listener_is_stopped(worker->listener) && listener_connections(worker->listener) == 0 &&
		worker->requests == 0) {
		if (is_idle(worker))
			event_base_loopbreak(worker->base);
		else
			inject_stop(worker->inject);
	}
	if (ms < worker->conf->http.drain_timeout_ms)
		return;
	if (!worker->cut_short)
		cut_short(worker);
	if (worker->requests == 0 && is_idle(worker) &&
		ms >= worker->conf->http.drain_timeout_ms + LAST_ANSWERS_MS)
		event_base_loopbreak(worker->base);
}

/* Not EV_PERSIST, as in outbox.c. */
static void on_worker_janitor(evutil_socket_t fd, short what, void *arg)
{
	struct worker_thread *thread = arg;

	(void)fd;
	(void)what;
	conn_table_expire(thread->worker.conns);
	database_watch_look(&thread->worker.database_watch, clock_monotonic_us());
	listener_check(thread->worker.listener);
	if (thread->worker.reads)
		store_reads_look(thread->worker.reads, clock_monotonic_us());
	if (thread->worker.live)
		live_look(&thread->worker, clock_monotonic_us());
	if (thread->worker.prober)
		prober_look(thread->worker.prober);
	if (thread->worker.draining)
		drain_further(thread);
	event_add(thread->janitor, &janitor_every);
}

static void on_worker_drain(struct task *task)
{
	struct worker_thread *thread = CONTAINER_OF(task, struct worker_thread, drain);

	thread->worker.draining = true;
	thread->drain_since_us = clock_monotonic_us();
}

void worker_thread_drain(struct worker_thread *thread)
{
	task_queue_post(thread->worker.tasks, &thread->drain);
}

/* The setting was checked when it was loaded. */
static void read_proxies(struct worker *worker)
{
	cidr_list_clear(&worker->proxies);
	cidr_list_parse_peers(worker->conf->http.trusted_proxies, &worker->proxies, NULL);
}

struct reload {
	struct task task;
	struct worker *worker;
	struct conf *fresh;
	int64_t postfix_limit;
};

static void on_worker_reload(struct task *task)
{
	struct reload *reload = CONTAINER_OF(task, struct reload, task);
	struct worker *worker = reload->worker;
	struct buf restart = BUF_INIT;

	conf_reload(worker->conf, reload->fresh, &restart);
	read_proxies(worker);
	worker->postfix_limit = reload->postfix_limit;
	listener_check(worker->listener);
	buf_free(&restart);
	conf_free(reload->fresh);
	free(reload);
}

void worker_thread_reload(struct worker_thread *thread, struct conf *fresh, int64_t postfix_limit)
{
	struct reload *reload = mem_new(struct reload);

	reload->task.run = on_worker_reload;
	reload->worker = &thread->worker;
	reload->fresh = fresh;
	reload->postfix_limit = postfix_limit;
	task_queue_post(thread->worker.tasks, &reload->task);
}

struct move {
	struct task task;
	struct worker *worker;
	int fd;
};

static void on_worker_move(struct task *task)
{
	struct move *move = CONTAINER_OF(task, struct move, task);
	struct worker *worker = move->worker;
	struct err err = ERR_INIT;

	if (listener_move(worker->listener, move->fd, &err) < 0)
		log_error(worker->log, "listen_failed", "error", err.text);
	free(move);
}

void worker_thread_listen(struct worker_thread *thread, int listen_fd)
{
	struct move *move = mem_new(struct move);

	move->task.run = on_worker_move;
	move->worker = &thread->worker;
	move->fd = fcntl(listen_fd, F_DUPFD_CLOEXEC, 0);
	task_queue_post(thread->worker.tasks, &move->task);
}

static struct evhttp *new_evhttp(struct worker *worker)
{
	const enum evhttp_cmd_type all = EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD |
					 EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS |
					 EVHTTP_REQ_TRACE | EVHTTP_REQ_CONNECT | EVHTTP_REQ_PATCH;
	struct evhttp *evhttp = evhttp_new(worker->base);

	evhttp_set_allowed_methods(evhttp, all);
	evhttp_set_default_content_type(evhttp, NULL);
	evhttp_set_timeout(evhttp, EVHTTP_TIMEOUT_S);
	/* A second line of defence: conn refuses before these limits are
	 * reached. evhttp counts the trailer with the head. */
	evhttp_set_max_headers_size(evhttp, HTTP_HEAD_MAX + HTTP_TRAILER_MAX);
	evhttp_set_max_body_size(evhttp, BODY_MAX);
	evhttp_set_bevcb(evhttp, conn_on_accept, worker);
	evhttp_set_gencb(evhttp, conn_on_request, worker);
	return evhttp;
}

static struct event_base *new_base(void)
{
	struct event_config *config = event_config_new();
	struct event_base *base;

	/* evhttp deletes and adds events for each request. With the changelist
	 * only the net change reaches the kernel, when the loop waits. */
	event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
	base = event_base_new_with_config(config);
	event_config_free(config);
	/* store_read comes after all else that can be done now. */
	if (base)
		event_base_priority_init(base, STORE_READ_PRIORITY + 1);
	return base;
}

/* Makes the parts of a worker. Each needs those before it; worker_thread_free()
 * goes in reverse. */
static int make_worker(struct worker_thread *thread, struct err *err)
{
	struct worker *worker = &thread->worker;
	const struct worker_shared *shared = worker->shared;

	database_watch_begin(&worker->database_watch, shared->store, shared->server, worker->log);
	worker->base = new_base();
	if (worker->base == NULL)
		return err_set(err, ERR_TEMPORARY, "cannot make an event loop");
	/* A server may be slow, or hang: there store_read reads. */
	if (shared->server == NULL && db_open(shared->store, DB_READ, &worker->db, err) < 0)
		return -1;
	if (worker->db)
		db_set_wait(worker->db, LOOP_STORE_WAIT_MS);
	thread->janitor = event_new(worker->base, -1, 0, on_worker_janitor, thread);
	event_add(thread->janitor, &janitor_every);
	worker->keys = key_use_new(shared->committer);
	worker->conns = conn_table_new(worker->base);
	worker->evhttp = new_evhttp(worker);
	worker->inject = inject_new(worker->base, worker->conf);
	if (shared->is_admin)
		worker->live = live_new();
	worker->tasks = task_queue_new(worker->base);
	if (worker->tasks == NULL)
		return err_set(err, ERR_TEMPORARY, "no descriptors left");
	if (shared->lookups)
		worker->reads = store_reads_new(worker->base);
	return listener_new(worker, &worker->listener, err);
}

int worker_thread_new(const struct worker_shared *shared, struct conf *conf, int64_t postfix_limit,
	struct worker_thread **thread_r, struct err *err)
{
	struct worker_thread *thread = mem_new(struct worker_thread);

	thread->drain.run = on_worker_drain;
	thread->worker.shared = shared;
	thread->worker.log = shared->log;
	thread->worker.conf = conf;
	thread->worker.postfix_limit = postfix_limit;
	thread->worker.counts = counts_new(shared->routes);
	read_proxies(&thread->worker);
	if (make_worker(thread, err) < 0) {
		worker_thread_free(thread);
		return -1;
	}
	*thread_r = thread;
	return 0;
}

void worker_thread_free(struct worker_thread *thread)
{
	struct worker *worker;

	if (thread == NULL)
		return;
	worker = &thread->worker;
	listener_stop(worker->listener);
	/* Runs the last tasks that the committer posted: requests may end here. */
	task_queue_free(worker->tasks);
	prober_free(worker->prober);
	inject_free(worker->inject);
	live_free(worker->live);
	if (worker->evhttp)
		evhttp_free(worker->evhttp);
	/* Closing connections above still used the listener's count. */
	listener_free(worker->listener);
	conn_table_free(worker->conns);
	key_use_free(worker->keys);
	if (thread->janitor)
		event_free(thread->janitor);
	store_reads_free(worker->reads);
	db_close(worker->db);
	if (worker->base)
		event_base_free(worker->base);
	cidr_list_clear(&worker->proxies);
	conf_free(worker->conf);
	free(worker->counts);
	free(thread);
}

static void *thread_main(void *arg)
{
	const struct worker *worker = &((struct worker_thread *)arg)->worker;

	listener_enter_thread(worker->listener);
	event_base_dispatch(worker->base);
	return NULL;
}

const struct worker_counts *worker_thread_counts(const struct worker_thread *thread)
{
	return thread->worker.counts;
}

void worker_thread_probe(struct worker_thread *thread)
{
	thread->worker.prober = prober_new(&thread->worker);
}

int worker_thread_start(struct worker_thread *thread, struct err *err)
{
	if (thread_start(&thread->id, thread_main, thread, err) < 0)
		return -1;
	thread->running = true;
	return 0;
}

void worker_thread_join(struct worker_thread *thread)
{
	if (thread->running)
		pthread_join(thread->id, NULL);
	thread->running = false;
}
