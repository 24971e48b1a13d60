/*
 * feeder: queues each new event for the webhooks that asked for its type, in the order of events.
 */
#ifndef POSTERN_WEBHOOK_FEEDER_H
#define POSTERN_WEBHOOK_FEEDER_H

#include "core/db/db.h"

/* Handles the next events; rows and cursor are committed together. Returns 1, 0 if there are none,
 * -1 on error. */
int feeder_round(struct db *db, int64_t now_us, struct err *err);

#endif
