/*
 * sender: sends what is due, each endpoint from a queue of its own over connections of its own, and
 * writes down what came of it.
 *
 * A delivery is in the store until its outcome is: who is killed sends again what was under way,
 * with the same id and body.
 *
 * Threads: that of the event loop.
 */
#ifndef POSTERN_WEBHOOK_SENDER_H
#define POSTERN_WEBHOOK_SENDER_H

#include <event2/event.h>
#include <stdbool.h>

#include "core/base/log.h"
#include "core/conf/conf.h"
#include "core/db/db.h"

struct sender;

struct sender_counts {
	int64_t succeeded;
	int64_t failed;
	int64_t disabled; /* endpoints */
};

/* The caller frees it; base, db, log and conf must live as long. */
int sender_new(struct event_base *base, struct db *db, struct log *log, const struct conf *conf,
	struct sender **sender_r, struct err *err);
void sender_free(struct sender *sender);
/* After settings have changed. 0, or -1 and all is as it was. */
int sender_reload(struct sender *sender, struct err *err);

/* Writes outcomes, and begins what is due: 0, or -1 when the store cannot be used now. look: asks
 * the store what is due, which something may have changed. */
int sender_round(struct sender *sender, bool look, struct err *err);
/* How many attempts are under way. */
size_t sender_under_way(const struct sender *sender);
/* Whether attempts are under way, or have outcomes that wait to be written. */
bool sender_is_busy(const struct sender *sender);
const struct sender_counts *sender_counts(const struct sender *sender);

#endif
