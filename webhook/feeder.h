/*
 * feeder: gives each endpoint the events that it has asked for, in the order of their numbers.
 */
#ifndef POSTERN_WEBHOOK_FEEDER_H
#define POSTERN_WEBHOOK_FEEDER_H

#include "core/db/db.h"

/* The next events: how many of them there were, 0 none, -1. What it adds and the cursor are
 * committed together. *added_r: how many deliveries it has added. */
int feeder_round(struct db *db, int64_t now_us, int64_t *added_r, struct err *err);

#endif
