/*
 * running: the requests with an Idempotency-Key that are under way, of all
 * workers.
 *
 * A request is in here before it asks the store whether its key was used, and
 * until it is answered: two that race cannot both find it unused.
 */
#ifndef POSTERN_HTTPD_RUNNING_H
#define POSTERN_HTTPD_RUNNING_H

#include <sys/queue.h>

#include "core/store/store_idempotency.h"

struct running;

/* Owned by the request, untouched while it is in. */
struct running_entry {
	struct idempotency_key key;
	uint8_t payload[SECRET_HASH_LEN];
	LIST_ENTRY(running_entry) link; /* ours */
};

enum running_result {
	RUNNING_ENTERED,
	RUNNING_SAME,  /* one with the key and the payload is under way */
	RUNNING_OTHER, /* one with the key and another payload is */
};

struct running *running_new(void);
/* Nothing is in it any more. */
void running_free(struct running *running);

/* Any thread. What was entered must leave. */
enum running_result running_enter(
	struct running *running, struct running_entry *entry);
void running_leave(struct running *running, struct running_entry *entry);

#endif
