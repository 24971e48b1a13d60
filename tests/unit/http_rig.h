/*
 * http_rig: a worker's HTTP side on a real socket, and clients of it, all on
 * the test's own event base.
 *
 * Served without a key: GET and HEAD /here, POST /echo (any JSON). GET /large
 * has an answer that no socket takes at once.
 */
#ifndef POSTERN_TESTS_HTTP_RIG_H
#define POSTERN_TESTS_HTTP_RIG_H

#include "core/base/buf.h"
#include "httpd/worker/worker.h"
#include "httpd/admission/budget.h"
#include "httpd/transport/listener.h"

struct request;

enum { HTTP_RIG_LARGE = 64 * 1024 * 1024 };

struct http_rig {
	struct worker_shared shared;
	struct worker worker;
	struct budget budget;
	atomic_size_t connections;
	char address[LISTENER_NAME_SIZE]; /* where it listens */
	bool hold;                        /* requests are not answered, but kept here */
	struct request *held;
	struct event *guard; /* ends a test that hangs */
};

/* For cmocka: the state is a struct http_rig. */
int http_rig_setup(void **state);
int http_rig_teardown(void **state);

/* Answers the request that is held. */
void http_rig_release(struct http_rig *rig);

/* All that can happen now has happened; and waits for anything to happen. */
void http_rig_settle(struct http_rig *rig);
void http_rig_wait(struct http_rig *rig);

/* Deadlines, after time has passed since the last event. */
void http_rig_expire(struct http_rig *rig);

struct http_client {
	struct http_rig *rig;
	int fd;
	struct event *readable; /* NULL while it does not read */
	struct buf got;
	bool closed; /* by the server */
};

/* Connects; the server has not accepted yet. */
struct http_client *http_client_new(struct http_rig *rig);
void http_client_free(struct http_client *client);

void http_client_say(struct http_client *client, const char *text, size_t len);

/* Waits until the client has got so many bytes with this text in them at least
 * n times, or the connection has ended; and until that. */
void http_client_hear(struct http_client *client, const char *text, int n);
void http_client_hear_end(struct http_client *client);

/* The client says no more, but listens. */
void http_client_end_saying(struct http_client *client);

/* The client does not read any more. */
void http_client_stop_reading(struct http_client *client);

#endif
