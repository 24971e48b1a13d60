/*
 * send_rig: a worker without a server, for tests of the pipeline: a real store, the
 * outbox on the loop of the worker, a fake injector that plays Postfix and the milter.
 */
#ifndef POSTERN_TESTS_SEND_RIG_H
#define POSTERN_TESTS_SEND_RIG_H

#include "httpd/worker/worker.h"
#include "httpd/admission/request.h"
#include "httpd/outbox/outbox.h"
#include "httpd/send/send.h"
#include "httpd/send/send_request.h"
#include "tests/unit/fake_inject.h"
#include "tests/unit/fake_master.h"

enum { SEND_RIG_EMAILS = 50, SEND_RIG_MEMORY = 64 * 1024 * 1024 };

/* The company of the request's key has the domains example.com, second.example
 * and, not active, asleep.example; another company has other.example. */
struct send_rig {
	char *folder;
	char *path;
	struct db *db; /* the committer's, the milter's and the test's */
	struct worker_shared shared;
	struct budget budget;
	atomic_bool takes_hyphen;
	struct worker worker;
	struct fake_inject *inject;
	struct fake_master *postfix; /* is alive */
	struct request request;
	/* Of the last outcome: */
	int done; /* how often it was told */
	size_t n, sent;
	size_t composed; /* by this request */
	char ids[SEND_RIG_EMAILS][ID_SIZE];
	struct problem problems[SEND_RIG_EMAILS]; /* or the request's, in each */
};

/* For cmocka: the state is a struct send_rig. */
int send_rig_setup(void **state);
int send_rig_teardown(void **state);

/* For send_request(): keeps the outcome and ends the loop. */
void send_rig_on_done(struct request *request, const struct send_outcome *outcome);

/* Begins to send. */
void send_rig_begin(struct send_rig *rig, const struct send_spec *spec);
/* How many emails are in the outbox. */
int64_t send_rig_waiting(struct send_rig *rig);

/* Waits for the one outcome since done was 0. */
void send_rig_wait(struct send_rig *rig);

/* Sends and waits for the outcome. */
void send_rig_send(struct send_rig *rig, const struct send_spec *spec);

/* An email with text and html, from the address to two; the second hidden. */
void send_rig_email(const char *from, const char *to, struct draft *draft_r);

/* The state of the email at the index of the last outcome; -1 when its row is
 * not there. */
int send_rig_state(struct send_rig *rig, size_t index);

#endif
