/*
 * change: one write that a request makes, other than sending, on behalf of its key or user.
 *
 * The committer runs it in a transaction that first checks the caller again: the head was admitted
 * before the body arrived, and a key, session or role that was revoked since makes no write.
 */
#ifndef POSTERN_HTTPD_ADMISSION_CHANGE_H
#define POSTERN_HTTPD_ADMISSION_CHANGE_H

#include "core/db/committer.h"
#include "httpd/admission/request.h"
#include "httpd/worker/task_queue.h"

/* Embed it as the first member of what the write needs. The committer owns it until the write is
 * durable or has failed; then it comes back on the worker's thread. The request waits meanwhile. */
struct change {
	struct task task; /* from the committer to the worker */
	struct commit_job job;
	struct db_actor actor; /* the actor in the audit log */
	struct request *request;
	int64_t now_us;
	int (*run)(struct db *db, void *arg, struct err *err);
	void (*done)(struct change *change); /* takes ownership */
	int result; /* the result of run once it is durable; or -1 and err */
	bool begun; /* run returned STORE_MORE: it may finish, even if the key is revoked */
	struct err err;
	/* For change_failed(): the reason why run was not called. run may set
	 * it too, to say why it changes nothing; it then returns -1 without
	 * err. */
	struct problem refused;
};

/* Calls run on the committer's thread, with the change as its arg, then done on
 * the worker's. While run returns STORE_MORE (store_audit.h) it is called
 * again, each time in a transaction of its own, so that others can write in
 * between. */
void change_submit(struct request *request, struct change *change,
	int (*run)(struct db *db, void *arg, struct err *err), void (*done)(struct change *change));

/* Sets the problem of a change that was refused, or that failed, which is
 * logged as the event. Returns -1. */
int change_failed(const struct change *change, const char *event, struct problem *problem);

#endif
