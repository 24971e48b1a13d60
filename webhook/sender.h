/*
 * sender: sends the webhook events that are due, and records the outcome of each attempt.
 *
 * An event stays due in the store until its outcome is written. After a crash the attempts that
 * were under way are made again, with the same id and body.
 *
 * Threads: the one that runs the event loop.
 */
#ifndef POSTERN_WEBHOOK_SENDER_H
#define POSTERN_WEBHOOK_SENDER_H

#include <event2/event.h>
#include <stdbool.h>

#include "core/base/log.h"
#include "core/conf/conf.h"
#include "core/db/db.h"

struct leases;
struct sender;

struct sender_counts {
	int64_t succeeded; /* attempts */
	int64_t failed;
	int64_t disabled; /* endpoints */
};

/* The caller frees it; base, db, leases, log and conf must outlive it. Returns 0 or -1. */
int sender_new(struct event_base *base, struct db *db, struct leases *leases, struct log *log,
	const struct conf *conf, struct sender **sender_r, struct err *err);
void sender_free(struct sender *sender);
/* Applies new settings. Returns 0, or -1 with everything unchanged. */
int sender_reload(struct sender *sender, const struct conf *next, struct err *err);

/* Writes outcomes and starts attempts. With look it also asks the store which endpoints have events
 * due, because something may have changed there. Returns 0, or -1 if the store cannot be used now.
 */
int sender_round(struct sender *sender, bool look, struct err *err);
/* How many attempts are under way. */
size_t sender_under_way(const struct sender *sender);
/* True if attempts are under way, or outcomes wait to be written. */
bool sender_is_busy(const struct sender *sender);
const struct sender_counts *sender_counts(const struct sender *sender);

#endif
