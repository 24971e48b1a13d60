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

/* Has handle run on a thread of the pool, for what may take long to be read or
 * printed: it reads from request->db and replies, and changes nothing else. The
 * worker sends the reply. Of an admin's request it may read request->conf. */
void reply_from_pool(struct request *request, void (*handle)(struct request *request));

/* Sends the object, which is given away. */
void reply_json(struct request *request, int status, json_t *object);
/* The same of an object as text; NULL when it could not be printed. */
void reply_printed(struct request *request, int status, char *text);

/* Adds a header field to the answer that will be sent. It replaces the field of
 * that name that all answers to admins have. */
void reply_field(struct request *request, const char *name, const char *value);
/* Has the answer set the cookie of a session; "" and 0 delete it. */
void reply_cookie(struct request *request, const char *token, int64_t max_age_s);
/* Sends the browser to another path of ours. */
void reply_redirect(struct request *request, const char *path);
/* Sends bytes that outlive the answer; a NULL type goes with none. */
void reply_bytes(struct request *request, int status, const char *type, struct span bytes);
/* Sends plain text, which is given away. */
void reply_text(struct request *request, int status, char *text);

/* What a browser is told of an answer that is no JSON; static. */
struct reply_kind {
	const char *type;
	/* Header fields besides, or in place of those that all answers have;
	 * their end has no name. */
	struct {
		const char *name;
		const char *value;
	} fields[6];
};
/* Sends text of a kind, which is given away, to a GET. */
void reply_document(struct request *request, const struct reply_kind *kind, char *text);
/* The same of bytes, which end with a NUL that is not sent. */
void reply_file(struct request *request, const struct reply_kind *kind, char *data, size_t len);

/* Begins an answer that goes on, of any length, until it is ended; that ends
 * the request. It does not count among what requests hold: who begins one
 * bounds how many there are, and sends no more while much is unsent: how many
 * bytes are, or -1 when the client is gone. */
void reply_stream(struct request *request, const char *type);
ssize_t reply_stream_unsent(const struct request *request);
void reply_stream_send(struct request *request, const char *text);
void reply_stream_end(struct request *request);

/* Sends what is wrong, as the dialect has it. */
void reply_problem(struct request *request, const struct problem *problem);

/* The problem, unless its kind is PROBLEM_NONE; else the object. That is given
 * away in any case, and may be NULL when there is a problem. */
void reply_either(
	struct request *request, const struct problem *problem, int status, json_t *object);

/* The same of a change, with the status that its route has for it. */
void reply_changed(struct request *request, const struct problem *problem, json_t *object);

#endif
