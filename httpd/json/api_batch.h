/*
 * api_batch: the route /emails/batch of the JSON dialect.
 */
#ifndef POSTERN_HTTPD_JSON_API_BATCH_H
#define POSTERN_HTTPD_JSON_API_BATCH_H

#include <jansson.h>
#include <stdint.h>

#include "httpd/http/problem.h"
#include "httpd/send/outgoing.h"
#include "httpd/send/send.h"

struct request;

/* POST /emails/batch: {"data":[{"id"}...]} of those that are sent, in their
 * order, and "errors":[{"index","message"}...] of the others, if any. */
void api_batch_send(struct request *request);

/*
 * batch_json: batches of emails in the JSON dialect, in and out.
 */

enum { BATCH_MAX = 100 }; /* emails */

/* Both have n elements. An email that cannot be read has a problem, and is not
 * to be looked at. Starts zeroed but for the first member. */
struct batch {
	bool permissive; /* each problem is told beside the index of its email;
			  * else its fields are named as `[3].to` */
	struct outgoing *emails;
	struct problem *problems;
	size_t n;
};

/* Reads the body of POST /emails/batch. 0, or -1 with a problem of the whole. */
int batch_json_parse(const char *body, size_t len, int64_t max_recipients,
	struct batch *batch_r, struct problem *problem);
void batch_json_clear(struct batch *batch);
#define _cleanup_batch_ __attribute__((cleanup(batch_json_clear)))

/* Copies the problem of the email at the index, for an answer about the whole
 * batch: one that does not name a field then names the email. */
void batch_json_name(
	size_t index, const struct problem *problem, struct problem *named_r);

/* What was sent, and why the others were not; a new reference. */
json_t *batch_json_render(const struct send_outcome *outcome);

#endif
