/*
 * change: one write that a request makes, other than sending.
 *
 * Embed it first in what the write needs. It goes to the committer and comes
 * back on the worker's thread when it is durable, or has failed; until then it
 * belongs to the committer, and the request waits.
 */
#ifndef POSTERN_HTTPD_CHANGE_H
#define POSTERN_HTTPD_CHANGE_H

#include "core/db/committer.h"
#include "httpd/base/inbox.h"
#include "httpd/http/problem.h"

struct request;

struct change {
	struct letter letter; /* first: from the committer to the worker */
	struct commit_job job;
	struct request *request;
	void (*done)(struct change *change); /* owns it from then on */
	int result; /* what run gave once it is durable, or -1 and err */
	struct err err;
};

/* Has run called on the committer's thread, with the change as its arg, then
 * done on the worker's. */
void change_submit(struct request *request, struct change *change,
	int (*run)(struct db *db, void *arg, struct err *err),
	void (*done)(struct change *change));

/* The problem of a change that has failed, which is logged as the event. -1. */
int change_failed(const struct change *change, const char *event,
	struct problem *problem);

#endif
