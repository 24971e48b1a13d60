/*
 * admin_live: tells the pages that something has changed, by server-sent events
 * (WHATWG HTML, 9.2).
 *
 *   live_look, from the janitor ─> start_look ─(store_read)─> look_at_store ─> on_looked
 *
 * An event names only the topic that changed; the page then reads the other
 * routes. So there is one way to data, and a broken stream loses nothing. The
 * store is checked once a second, and read only after a commit.
 *
 * A stream ends with its session, when the client is gone or does not read, when
 * the store fails, and at once when the server stops.
 *
 * Threads: the worker's, except for look_at_store(). While that runs, the streams and
 * views that it reads stay, and what it writes is not read: no stream ends.
 */
#include "httpd/admin/admin.h"

#include <string.h>
#include <sys/queue.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/user/store_session.h"
#include "core/store/store_watch.h"
#include "httpd/transport/reply.h"
#include "httpd/worker/store_read.h"
#include "httpd/worker/worker.h"

/* The maximum number of streams: of one user, of the members of one company, of
 * all members (so that operators always find a place), and in all. */
enum { STREAMS_OF_USER = 8, STREAMS_OF_COMPANY = 16, STREAMS_OF_MEMBERS = 48 };
enum { STREAMS_MAX = 64 };

enum {
	LOOK_US = 1000 * 1000,
	/* How often sessions are checked without a change in the store: they
	 * may expire. */
	SESSION_US = 10 * LOOK_US,
	/* After this long without an event a comment keeps the connection
	 * alive, for proxies. */
	COMMENT_US = 15 * LOOK_US,
	/* A client that has not read earlier events for this long is dropped. */
	UNREAD_US = 60 * LOOK_US,
	RETRY_S = 30,
};

struct stream {
	LIST_ENTRY(stream) link;
	struct request *request; /* owned by the stream */
	struct view *view;
	bool open;        /* its head was sent */
	bool over;        /* the last look: its session is */
	unsigned changed; /* topics of which the client was not told yet */
	int64_t said_us;  /* monotonic: when all was last sent */
};

/* What the members of one company, or all operators, see. One check of the store serves all their
 * streams. There is at least one stream. */
struct view {
	LIST_ENTRY(view) link;
	LIST_HEAD(, stream) streams;
	char company_id[ID_SIZE]; /* "" for operators */
	struct store_watch watch;
	unsigned changed; /* topics that have changed between the last two looks */
};

struct look {
	struct store_read read; /* first */
	struct worker *worker;
	bool under_way;
	bool checks;             /* sessions are checked without a commit, too */
	int64_t now_us, idle_us; /* as those of store_session_is_good() */
	int64_t version;         /* version of the store at the last check */
	struct view *views[STREAMS_MAX];
	struct stream *streams[STREAMS_MAX];
	size_t views_n, streams_n;
};

struct live {
	LIST_HEAD(, view) views;
	size_t n;        /* streams */
	int64_t look_us; /* monotonic: no check before */
	int64_t sessions_us;
	struct look look;
};

struct live *live_new(void)
{
	struct live *live = mem_new(struct live);

	LIST_INIT(&live->views);
	return live;
}

static void end_stream(struct live *live, struct stream *stream)
{
	struct problem unavailable = PROBLEM_INIT;

	problem_fixed(&unavailable, PROBLEM_UNAVAILABLE);
	LIST_REMOVE(stream, link);
	if (LIST_EMPTY(&stream->view->streams)) {
		LIST_REMOVE(stream->view, link);
		free(stream->view);
	}
	live->n--;
	if (stream->open)
		reply_stream_end(stream->request);
	else
		reply_problem(stream->request, &unavailable);
	free(stream);
}

static void end_all(struct live *live)
{
	while (live->n > 0)
		end_stream(live, LIST_FIRST(&LIST_FIRST(&live->views)->streams));
}

void live_free(struct live *live)
{
	if (live)
		end_all(live);
	free(live);
}

static const struct session *session_of(const struct stream *stream)
{
	return &stream->request->admission.session;
}

/* Reads what has changed for the views, and which sessions are over. */
static int look_at_store(struct store_read *read, struct db *db, struct err *err)
{
	struct look *look = (struct look *)read;
	int64_t version = look->version;
	bool committed;

	if (db_version(db, &version, err) < 0)
		return -1;
	committed = version != look->version;
	look->version = version;
	for (size_t i = 0; i < look->views_n; i++) {
		struct view *view = look->views[i];
		const char *company_id = *view->company_id ? view->company_id : NULL;

		if ((committed || !view->watch.began) &&
			store_watch_look(db, company_id, look->now_us, &view->watch, &view->changed,
				err) < 0)
			return -1;
	}
	for (size_t i = 0; (committed || look->checks) && i < look->streams_n; i++) {
		struct stream *stream = look->streams[i];
		enum user_role role;
		int good = store_session_is_good(
			db, session_of(stream)->id, look->now_us, look->idle_us, &role, err);

		if (good < 0)
			return -1;
		stream->over = good == 0;
	}
	return 0;
}

/* Sends the changed topics. False if the client is gone or does not read. */
static bool send_event(struct stream *stream, int64_t now_us)
{
	ssize_t unsent = reply_stream_unsent(stream->request);
	_cleanup_buf_ struct buf text = BUF_INIT;

	if (unsent != 0)
		return unsent > 0 && now_us - stream->said_us < UNREAD_US;
	for (size_t i = 0; i < WATCH_TOPICS; i++)
		if (stream->changed & 1U << i)
			buf_printf(&text, "event: %s\ndata: {}\n\n", store_watch_topic(i));
	if (text.len == 0 && now_us - stream->said_us >= COMMENT_US)
		buf_add_str(&text, ":\n\n");
	if (text.len == 0)
		return true;
	reply_stream_send(stream->request, buf_str(&text));
	stream->changed = 0;
	stream->said_us = now_us;
	return true;
}

static void open_stream(struct stream *stream)
{
	reply_stream(stream->request, "text/event-stream");
	/* Browsers reconnect 3 seconds after the end of a stream. */
	reply_stream_send(stream->request, "retry: 3000\n\n");
	stream->open = true;
}

static void on_looked(struct store_read *read)
{
	struct look *look = (struct look *)read;
	struct worker *worker = look->worker;
	int64_t now_us = clock_monotonic_us();
	bool failed = read->result < 0;

	look->under_way = false;
	worker->requests--;
	if (failed)
		log_error(worker->log, "live_look_failed", "error", read->err.text);
	for (size_t i = 0; i < look->streams_n; i++)
		look->streams[i]->changed |= look->streams[i]->view->changed;
	for (size_t i = 0; i < look->views_n; i++)
		look->views[i]->changed = 0;
	/* Views are freed with their last streams. */
	for (size_t i = 0; i < look->streams_n; i++) {
		struct stream *stream = look->streams[i];

		if (!failed && !stream->open)
			open_stream(stream);
		if (failed || stream->over || !send_event(stream, now_us))
			end_stream(worker->live, stream);
	}
}

static void start_look(struct worker *worker)
{
	struct live *live = worker->live;
	struct look *look = &live->look;
	int64_t now_us = clock_monotonic_us();
	struct view *view;
	struct stream *stream;

	live->look_us = now_us + LOOK_US;
	look->checks = now_us >= live->sessions_us;
	if (look->checks)
		live->sessions_us = now_us + SESSION_US;
	look->worker = worker;
	look->now_us = clock_now_us(worker->shared->clock);
	look->idle_us = look->now_us - worker->conf->admin.session_idle_ms * 1000;
	look->views_n = look->streams_n = 0;
	LIST_FOREACH(view, &live->views, link) {
		look->views[look->views_n++] = view;
		LIST_FOREACH(stream, &view->streams, link)
			look->streams[look->streams_n++] = stream;
	}
	look->under_way = true;
	worker->requests++; /* the worker waits for its end */
	look->read.read = look_at_store;
	look->read.done = on_looked;
	store_read_start(worker, &look->read, "");
}

void live_look(struct worker *worker, int64_t now_us)
{
	struct live *live = worker->live;

	if (live->look.under_way)
		return;
	if (worker->draining || worker->database_watch.gone)
		end_all(live);
	if (live->n > 0 && now_us >= live->look_us)
		start_look(worker);
}

static bool is_full(const struct live *live, const struct session *session)
{
	size_t own = 0, of_company = 0, of_members = 0;
	const struct view *view;
	const struct stream *stream;

	LIST_FOREACH(view, &live->views, link)
		LIST_FOREACH(stream, &view->streams, link) {
			own += str_eq(session_of(stream)->user_id, session->user_id);
			of_company += str_eq(view->company_id, session->company_id);
			of_members += *view->company_id != '\0';
		}
	return live->n >= STREAMS_MAX || own >= STREAMS_OF_USER ||
	       (!str_empty(session->company_id) &&
		       (of_company >= STREAMS_OF_COMPANY || of_members >= STREAMS_OF_MEMBERS));
}

static struct view *view_of(struct live *live, const char company_id[static ID_SIZE])
{
	struct view *view;

	LIST_FOREACH(view, &live->views, link)
		if (str_eq(view->company_id, company_id))
			return view;
	view = mem_new(struct view);
	LIST_INIT(&view->streams);
	memcpy(view->company_id, company_id, ID_SIZE);
	LIST_INSERT_HEAD(&live->views, view, link);
	return view;
}

void admin_live(struct request *request)
{
	struct worker *worker = request->worker;
	struct live *live = worker->live;
	struct problem problem = PROBLEM_INIT;
	struct stream *stream;

	if (worker->draining || is_full(live, &request->admission.session)) {
		problem_set(&problem, PROBLEM_UNAVAILABLE, "Too many pages are listening already.");
		problem.retry_after_s = RETRY_S;
		reply_problem(request, &problem);
		return;
	}
	stream = mem_new(struct stream);
	stream->request = request;
	stream->said_us = clock_monotonic_us();
	stream->view = view_of(live, request->admission.session.company_id);
	LIST_INSERT_HEAD(&stream->view->streams, stream, link);
	live->n++;
	/* A page reads its data once the stream is open, or again then (live.js). A look comes
	 * before that, so that no later change is missed. */
	if (live->look.under_way)
		live->look_us = 0;
	else if (stream->view->watch.began)
		open_stream(stream);
	else
		start_look(worker);
}
