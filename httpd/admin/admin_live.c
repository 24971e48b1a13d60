/*
 * admin_live: tells those who listen that something has changed, by server-sent
 * events (WHATWG HTML, 9.2).
 *
 * A stream says of which topic there is something new, and the page asks the
 * other routes: so there is one way to data, and nothing is missed for good
 * when a stream ends. The store is looked at once a second, and only when
 * somebody has committed.
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

/* How many there may be: of one user, of the members of one company, of all
 * members, so that operators always find a place, and of all. */
enum { STREAMS_OF_USER = 8, STREAMS_OF_COMPANY = 16, STREAMS_OF_MEMBERS = 48 };
enum { STREAMS_MAX = 64 };

enum {
	LOOK_US = 1000 * 1000,
	/* Without a change in the store a session may expire. */
	SESSION_US = 10 * LOOK_US,
	/* Says that the stream is there to all between server and browser. */
	COMMENT_US = 15 * LOOK_US,
	/* Who has not read what came before for so long reads no more. */
	UNREAD_US = 60 * LOOK_US,
	RETRY_S = 30,
};

struct stream {
	LIST_ENTRY(stream) link;
	struct request *request; /* the stream's until it ends */
	struct store_watch watch;
	unsigned changed; /* topics that are yet to be told */
	int64_t said_us;  /* monotonic: the last time that all was sent */
};

struct live {
	LIST_HEAD(, stream) streams;
	size_t n;
	int64_t look_us; /* monotonic: no look before */
	int64_t sessions_us;
	int64_t version; /* of the store, as of the last look */
};

struct live *live_new(void)
{
	struct live *live = mem_new(struct live);

	LIST_INIT(&live->streams);
	return live;
}

static void end(struct live *live, struct stream *stream)
{
	LIST_REMOVE(stream, link);
	live->n--;
	reply_stream_end(stream->request);
	free(stream);
}

static void end_all(struct live *live)
{
	while (!LIST_EMPTY(&live->streams))
		end(live, LIST_FIRST(&live->streams));
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
	int good = store_session_is_good(worker->db, session_of(stream)->id,
		now_us, now_us - worker->conf->admin.session_idle_ms * 1000,
		&role, &err);

	if (good < 0)
		log_error(worker->log, "session_lookup_failed", "error",
			err.text);
	return good <= 0;
}

/* 0, or -1: what has changed cannot be told. */
static int look(struct worker *worker, struct stream *stream)
{
	struct err err = ERR_INIT;
	unsigned changed;

	if (store_watch_look(worker->db,
		    admission_company(&stream->request->admission),
		    clock_now_us(worker->shared->clock), &stream->watch,
		    &changed, &err) < 0) {
		log_error(worker->log, "live_look_failed", "request",
			stream->request->id, "error", err.text);
		return -1;
	}
	stream->changed |= changed;
	return 0;
}

/* Sends what is to be told; false when nobody is there to read it. */
static bool tell(struct stream *stream, int64_t now_us)
{
	ssize_t unsent = reply_stream_unsent(stream->request);
	_cleanup_buf_ struct buf text = BUF_INIT;

	if (unsent != 0)
		return unsent > 0 && now_us - stream->said_us < UNREAD_US;
	for (size_t i = 0; i < WATCH_TOPICS; i++)
		if (stream->changed & 1U << i)
			buf_printf(&text, "event: %s\ndata: {}\n\n",
				store_watch_topic(i));
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
	struct stream *stream, *next;
	int64_t version = live->version;
	bool committed, checks;

	if (worker->draining || worker->database.gone)
		end_all(live);
	if (live->n == 0 || now_us < live->look_us)
		return;
	live->look_us = now_us + LOOK_US;
	committed = db_version(worker->db, &version, NULL) < 0 ||
		    version != live->version;
	live->version = version;
	checks = committed || now_us >= live->sessions_us;
	if (checks)
		live->sessions_us = now_us + SESSION_US;
	for (stream = LIST_FIRST(&live->streams); stream; stream = next) {
		next = LIST_NEXT(stream, link);
		if ((checks && session_is_over(worker, stream)) ||
			(committed && look(worker, stream) < 0) ||
			!tell(stream, now_us))
			end(live, stream);
	}
}

static bool is_full(const struct live *live, const struct session *session)
{
	size_t own = 0, of_company = 0, of_members = 0;
	const struct stream *stream;

	LIST_FOREACH(stream, &live->streams, link) {
		const struct session *other = session_of(stream);

		own += str_eq(other->user_id, session->user_id);
		of_company += str_eq(other->company_id, session->company_id);
		of_members += !str_empty(other->company_id);
	}
	return live->n >= STREAMS_MAX || own >= STREAMS_OF_USER ||
	       (!str_empty(session->company_id) &&
		       (of_company >= STREAMS_OF_COMPANY ||
			       of_members >= STREAMS_OF_MEMBERS));
}

void admin_live(struct request *request)
{
	struct worker *worker = request->worker;
	struct problem problem = PROBLEM_INIT;
	struct stream *stream;

	if (worker->draining ||
		is_full(worker->live, &request->admission.session)) {
		problem_set(&problem, PROBLEM_UNAVAILABLE,
			"Too many pages are listening already.");
		problem.retry_after_s = RETRY_S;
		reply_problem(request, &problem);
		return;
	}
	stream = mem_new(struct stream);
	stream->request = request;
	stream->said_us = clock_monotonic_us();
	LIST_INSERT_HEAD(&worker->live->streams, stream, link);
	worker->live->n++;
	reply_stream(request, "text/event-stream");
	/* Whoever comes again after the end of a stream does so in 3 seconds. */
	reply_stream_send(request, "retry: 3000\n\n");
	if (look(worker, stream) < 0)
		end(worker->live, stream);
}
