/*
 * request: one HTTP request while it is handled.
 *
 * The worker owns it from conn_on_request() until its one reply, which frees
 * it. A handler may return before it replies; the client may have disconnected
 * by then.
 */
#ifndef POSTERN_HTTPD_ADMISSION_REQUEST_H
#define POSTERN_HTTPD_ADMISSION_REQUEST_H

#include "core/base/cidr.h"
#include "core/base/id.h"
#include "httpd/admission/admission.h"
#include "httpd/http/problem.h"

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
	/* The client's address: behind a trusted proxy, the one that the proxy
	 * names. "" if it is not known. */
	char client[REQUEST_CLIENT_SIZE];
	struct db *db; /* for reading only, in the pool; NULL on the loop, which may not wait */
	struct pooled_reply *pooled; /* set while the pool handles it, else NULL */
	struct conf *conf; /* a copy for a handler in the pool that reads settings; else NULL */
	char id[ID_SIZE];  /* in the answer and in every log line about it */
	struct admission admission;
	int64_t began_us;       /* monotonic */
	char email_id[ID_SIZE]; /* id of the email that the request sent, for the log; or "" */
	char *answer_id;        /* form dialect: the id that the client chose, or NULL */
};

/* The query of the target, without the `?`; "" if there is none. Owned by the
 * request. */
const char *request_query(const struct request *request);

/* The path of the target; "" if there is none. Owned by the request. */
const char *request_path(const struct request *request);

/* The value of a header field, or NULL if there is none. */
const char *request_header(const struct request *request, const char *name);

/* The scheme and host by which the client reaches us, without a slash. The caller frees it. */
char *request_own_url(const struct request *request);

/* Logs err as the event and sets its problem. Returns -1. */
int request_failed(const struct request *request, const char *event, const struct err *err,
	struct problem *problem);

/* The whole body, contiguous; owned by the request. It does not end with a NUL. */
const char *request_body(struct request *request, size_t *len_r);

/* Moves the body to the caller, who frees it, in constant time. The request's
 * body is empty afterwards. */
struct evbuffer *request_take_body(struct request *request);

/* Called by reply.c only. */
void request_free(struct request *request);

#endif
