/*
 * api_batch: the route /emails/batch of the JSON dialect.
 */
#ifndef POSTERN_HTTPD_API_BATCH_H
#define POSTERN_HTTPD_API_BATCH_H

struct request;

/* POST /emails/batch: {"data":[{"id"}...]} of those that are sent, in their
 * order, and "errors":[{"index","message"}...] of the others, if any. */
void api_batch_send(struct request *request);

#endif
