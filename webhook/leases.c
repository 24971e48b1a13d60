/*
 * leases: rows of webhook_lease, taken and given back. One is taken from another host only when
 * that host's postern-webhook is lost.
 */
#include "webhook/leases.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/store/host/store_host.h"
#include "core/store/webhook/store_webhook_event.h"

struct leases {
	struct db *db;
	struct host_pulse pulse;
	struct host_watch watch;
};

struct leases *leases_new(struct db *db)
{
	struct leases *leases = mem_new(struct leases);

	leases->db = db;
	return leases;
}

void leases_free(struct leases *leases)
{
	if (leases == NULL)
		return;
	host_watch_clear(&leases->watch);
	free(leases);
}

int leases_beat(struct leases *leases, const char *problem, struct err *err)
{
	int64_t before_us = leases->pulse.next_us;
	struct host_list list;

	if (host_pulse(leases->db, &leases->pulse, "webhook", problem, err) < 0)
		return -1;
	if (leases->pulse.next_us == before_us)
		return 0;
	if (store_host_list(leases->db, &list, err) < 0)
		return -1;
	host_watch_look(&leases->watch, "webhook", &list);
	store_host_list_free(&list);
	return store_webhook_lease_end(leases->db, err) < 0 ? -1 : 0;
}

/* Leases the webhook. Returns 1, 0 if another host has it, -1 on error. */
static int claim_webhook(struct leases *leases, const char *webhook_id, struct err *err)
{
	_cleanup_free_ char *holder = NULL;
	int64_t beat = 0;
	int found = store_webhook_lease_get(leases->db, webhook_id, &holder, err);

	if (found < 0)
		return -1;
	if (found > 0 && str_eq(holder, db_host(leases->db)))
		return 1;
	if (found > 0 && !host_watch_is_lost(&leases->watch, holder, &beat))
		return 0;
	return store_webhook_lease_take(leases->db, webhook_id, holder, beat, err);
}

int leases_claim(struct leases *leases, struct webhook_list *list, struct err *err)
{
	int claimed = 0;
	size_t n = 0;

	if (*db_host(leases->db) == '\0')
		return 0;
	for (size_t i = 0; i < list->n && claimed >= 0; i++) {
		struct webhook webhook = list->items[i];

		/* Before the first heartbeat nothing is known of the others. */
		claimed = leases->pulse.beats ? claim_webhook(leases, webhook.id, err) : 0;
		if (claimed > 0) {
			list->items[i] = list->items[n];
			list->items[n++] = webhook;
		}
	}
	if (claimed < 0)
		return -1;
	for (size_t i = n; i < list->n; i++)
		store_webhook_clear(&list->items[i]);
	list->n = n;
	return 0;
}
