/*
 * leases: which webhooks this host sends to, where several share the database.
 *
 * A webhook with due events is leased by the first postern-webhook that finds it, for as long as it
 * has any. So the bounds and pauses of an endpoint are those of one process. When that process is
 * lost (store_host.h), others take its leases. It may find that out in the middle of an attempt, so
 * an event may be sent twice then, with the same id.
 *
 * Where only one host uses the database, all of this does nothing.
 *
 * Threads: the one that runs the event loop.
 */
#ifndef POSTERN_WEBHOOK_LEASES_H
#define POSTERN_WEBHOOK_LEASES_H

#include "core/db/db.h"
#include "core/store/webhook/store_webhook.h"

struct leases;

struct leases *leases_new(struct db *db);
void leases_free(struct leases *leases);

/* Call it often: writes a heartbeat, with what is wrong in words or "", looks at those of others,
 * and ends leases of webhooks that have nothing due. Returns 0 or -1. */
int leases_beat(struct leases *leases, const char *problem, struct err *err);

/* Leases what is in the list and free, and removes what others have from the list. Returns 0 or
 * -1. */
int leases_claim(struct leases *leases, struct webhook_list *list, struct err *err);

#endif
