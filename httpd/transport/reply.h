/*
 * reply: the answer to a request. Each request gets one, which ends it.
 */
#ifndef POSTERN_HTTPD_TRANSPORT_REPLY_H
#define POSTERN_HTTPD_TRANSPORT_REPLY_H

#include <jansson.h>
#include <sys/types.h>

#include "core/base/span.h"
#include "httpd/http/problem.h"

struct request;

/* Runs handle on a thread of the pool, for what may take long to read or print.
 * It reads from request->db and replies; it must not change anything else. The
 * worker sends the reply. When request->conf is set, handle may read it. */
void reply_from_pool(struct request *request, void (*handle)(struct request *request));

/* Sends the object. Takes ownership of it. */
void reply_json(struct request *request, int status, json_t *object);
/* Sends JSON text. Takes ownership of it. NULL means that it could not be
 * printed, and is answered with 500. */
void reply_printed(struct request *request, int status, char *text);

/* Adds a header field to the answer. On the admin listener it replaces the
 * default field of that name. */
void reply_field(struct request *request, const char *name, const char *value);
/* Adds Set-Cookie for the session's cookie. "" and 0 delete the cookie. */
void reply_cookie(struct request *request, const char *token, int64_t max_age_s);
/* Sends bytes that must outlive the answer. A NULL type sends neither
 * Content-Type nor Content-Length. */
void reply_bytes(struct request *request, int status, const char *type, struct span bytes);
/* Sends plain text. Takes ownership of it. */
void reply_text(struct request *request, int status, char *text);

/* The type and header fields of an answer that is not JSON; static. */
struct reply_kind {
	const char *type;
	/* Header fields that are added to, or replace, the default ones of all
	 * answers. An entry without a name ends them. */
	struct {
		const char *name;
		const char *value;
	} fields[6];
};
/* Sends text of a kind, with status 200, as the answer to a GET. Takes
 * ownership of it. */
void reply_document(struct request *request, const struct reply_kind *kind, char *text);
/* Replies with bytes, and with the field Content-Disposition unless that is NULL. The bytes end
 * with a NUL that is not sent. Takes ownership of both. */
void reply_file(struct request *request, const struct reply_kind *kind, char *disposition,
	char *data, size_t len);

/* A streamed answer of any length. reply_stream_end() ends it, and with it the
 * request. What is unsent is not charged to the memory quota. So the caller
 * bounds the number of streams, and sends no more while reply_stream_unsent()
 * is large. That is in bytes, or -1 when the client is gone. */
void reply_stream(struct request *request, const char *type);
ssize_t reply_stream_unsent(const struct request *request);
void reply_stream_send(struct request *request, const char *text);
void reply_stream_end(struct request *request);

/* Sends the problem, in the words of the route's dialect. */
void reply_problem(struct request *request, const struct problem *problem);

/* Sends the problem, unless its kind is PROBLEM_NONE; else the object. Takes
 * ownership of the object in both cases; it may be NULL when there is a
 * problem. */
void reply_either(
	struct request *request, const struct problem *problem, int status, json_t *object);

/* Replies to a change, with the status of its route (200 if it has none). */
void reply_changed(struct request *request, const struct problem *problem, json_t *object);

#endif
