/*
 * request: one HTTP request while it is handled.
 *
 * Owned by the worker from conn_on_request() until its one reply, which frees
 * it. A handler may return before it replies; the client may be gone by then.
 */
#ifndef POSTERN_HTTPD_ADMISSION_REQUEST_H
#define POSTERN_HTTPD_ADMISSION_REQUEST_H

#include "core/base/cidr.h"
#include "core/base/id.h"
#include "core/db/committer.h"
#include "httpd/admission/admission.h"
#include "httpd/http/problem.h"
#include "httpd/worker/task_queue.h"

struct conf;
struct db;
struct evbuffer;
struct evhttp_request;
struct pooled_reply;
struct worker;

enum { REQUEST_CLIENT_SIZE = CIDR_TEXT_SIZE }; /* of an address */

struct request {
	struct worker *worker;
	struct evhttp_request *evreq;
	/* The client's address, of a trusted proxy the one that it names; "":
	 * not known. */
	char client[REQUEST_CLIENT_SIZE];
	struct db *db;               /* to be read from: the worker's, or the pool's */
	struct pooled_reply *pooled; /* while it is handled in the pool */
	struct conf *conf;           /* of one that was there with settings: a copy; else NULL */
	char id[ID_SIZE];            /* in the answer and in every log line about it */
	struct admission admission;
	int64_t began_us;       /* monotonic */
	char email_id[ID_SIZE]; /* of the one that it sent, for the log; or "" */
	char *answer_id;        /* of the form dialect: the id that the client chose */
};

/* What stands behind the ? of the target, without it; owned by the request. */
const char *request_query(const struct request *request);

/* The value of a header field; NULL when there is none. */
const char *request_header(const struct request *request, const char *name);

/* The problem of what failed within the request, which is logged as the event.
 * -1. */
int request_failed(const struct request *request, const char *event, const struct err *err,
	struct problem *problem);

/* The whole body, in one piece; owned by the request. */
const char *request_body(struct request *request, size_t *len_r);

/* Hands the body over to the caller, who frees it; takes no time however long
 * it is. The request has none any more. */
struct evbuffer *request_take_body(struct request *request);

/* For the reply only. */
void request_free(struct request *request);

/* One write that a request makes, other than sending, in the name of its key or
 * user, if that may still make it: what was revoked since the request began
 * makes none. Embed it first in what the write needs. It goes to the committer
 * and comes back on the worker's thread when it is durable, or has failed;
 * until then it belongs to the committer, and the request waits. */
struct change {
	struct task task; /* from the committer to the worker */
	struct commit_job job;
	struct db_actor actor; /* of whom the audit log tells */
	struct request *request;
	int64_t now_us;
	int (*run)(struct db *db, void *arg, struct err *err);
	void (*done)(struct change *change); /* owns it from then on */
	int result;                          /* what run gave once it is durable, or -1 and err */
	bool begun; /* run gave STORE_MORE: what it began may be finished */
	struct err err;
	/* For change_failed(): why run was not called; or by run, which then
	 * gives -1 without err, why it changes nothing. */
	struct problem refused;
};

/* Has run called on the committer's thread, with the change as its arg, then
 * done on the worker's. While run gives STORE_MORE (store_audit.h) it is called
 * again, each time in a transaction of its own, so that others write in
 * between. */
void change_submit(struct request *request, struct change *change,
	int (*run)(struct db *db, void *arg, struct err *err), void (*done)(struct change *change));

/* The problem of a change that has failed, which is logged as the event, or was
 * refused. -1. */
int change_failed(const struct change *change, const char *event, struct problem *problem);

#endif
