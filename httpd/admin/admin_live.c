/*
 * admin_live: tells the pages that something has changed, by server-sent events
 * (WHATWG HTML, 9.2).
 *
 * An event names only the topic that changed; the page then reads the other
 * routes. So there is one way to data, and a broken stream loses nothing. The
 * store is checked once a second, and read only after a commit.
 *
 * A stream ends with its session, when the client is gone or does not read, and
 * at once when the server stops.
 *
 * Threads: the worker's.
 */
#include "httpd/admin/admin.h"

#include <string.h>
#include <sys/queue.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/store/store_session.h"
#include "core/store/store_watch.h"
#include "httpd/transport/reply.h"
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
	unsigned changed; /* topics of which the client was not told yet */
	int64_t said_us;  /* monotonic: when all was last sent */
};

/* What the members of one company see, or the operators. One check serves all
 * their streams, of which there is at least one. */
struct view {
	LIST_ENTRY(view) link;
	LIST_HEAD(, stream) streams;
	char company_id[ID_SIZE]; /* "" for operators */
	struct store_watch watch;
};

struct live {
	LIST_HEAD(, view) views;
	size_t n;        /* streams */
	int64_t look_us; /* monotonic: no check before */
	int64_t sessions_us;
	int64_t version; /* of the store, at the last check */
};

struct live *live_new(void)
{
	struct live *live = mem_new(struct live);

	LIST_INIT(&live->views);
	return live;
}

static void end_stream(struct live *live, struct stream *stream)
{
	LIST_REMOVE(stream, link);
	if (LIST_EMPTY(&stream->view->streams)) {
		LIST_REMOVE(stream->view, link);
		free(stream->view);
	}
	live->n--;
	reply_stream_end(stream->request);
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

static bool session_is_over(struct worker *worker, const struct stream *stream)
{
	int64_t now_us = clock_now_us(worker->shared->clock);
	struct err err = ERR_INIT;
	enum user_role role;
	int good = store_session_is_good(worker->db, session_of(stream)->id, now_us,
		now_us - worker->conf->admin.session_idle_ms * 1000, &role, &err);

	if (good < 0)
		log_error(worker->log, "session_lookup_failed", "error", err.text);
	return good <= 0;
}

/* Reads what has changed for a view. Returns 0, or -1 on error. */
static int read_view(struct worker *worker, struct view *view)
{
	const char *company_id = *view->company_id ? view->company_id : NULL;
	struct err err = ERR_INIT;
	struct stream *stream;
	unsigned changed;

	if (store_watch_look(worker->db, company_id, clock_now_us(worker->shared->clock),
		    &view->watch, &changed, &err) < 0) {
		log_error(worker->log, "live_look_failed", "error", err.text);
		return -1;
	}
	LIST_FOREACH(stream, &view->streams, link)
		stream->changed |= changed;
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

void live_look(struct worker *worker, int64_t now_us)
{
	struct live *live = worker->live;
	struct view *view, *next_view;
	struct stream *stream, *next;
	int64_t version = live->version;
	bool committed, checks, failed;

	if (worker->draining || worker->database_watch.gone)
		end_all(live);
	if (live->n == 0 || now_us < live->look_us)
		return;
	live->look_us = now_us + LOOK_US;
	committed = db_version(worker->db, &version, NULL) < 0 || version != live->version;
	live->version = version;
	checks = committed || now_us >= live->sessions_us;
	if (checks)
		live->sessions_us = now_us + SESSION_US;
	for (view = LIST_FIRST(&live->views); view; view = next_view) {
		next_view = LIST_NEXT(view, link);
		failed = committed && read_view(worker, view) < 0;
		/* The view is freed with its last stream. */
		for (stream = LIST_FIRST(&view->streams); stream; stream = next) {
			next = LIST_NEXT(stream, link);
			if ((checks && session_is_over(worker, stream)) || failed ||
				!send_event(stream, now_us))
				end_stream(live, stream);
		}
	}
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
	struct problem problem = PROBLEM_INIT;
	struct stream *stream;
	int seen;

	if (worker->draining || is_full(worker->live, &request->admission.session)) {
		problem_set(&problem, PROBLEM_UNAVAILABLE, "Too many pages are listening already.");
		problem.retry_after_s = RETRY_S;
		reply_problem(request, &problem);
		return;
	}
	stream = mem_new(struct stream);
	stream->request = request;
	stream->said_us = clock_monotonic_us();
	stream->view = view_of(worker->live, request->admission.session.company_id);
	/* What has changed until now is for the other streams. */
	seen = read_view(worker, stream->view);
	LIST_INSERT_HEAD(&stream->view->streams, stream, link);
	worker->live->n++;
	reply_stream(request, "text/event-stream");
	/* Browsers reconnect 3 seconds after the end of a stream. */
	reply_stream_send(request, "retry: 3000\n\n");
	if (seen < 0)
		end_stream(worker->live, stream);
}
