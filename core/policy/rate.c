/*
 * rate: a token bucket, and a table with the buckets of all companies.
 *
 * The table is set-associative: a company's id selects a set of a few entries, and its bucket
 * can be in any of them.
 *
 * Threads: a bucket is for one thread at a time. The table is thread-safe; its mutex is held
 * while one set is searched.
 */
#include "core/policy/rate.h"

#include <pthread.h>
#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"

enum { NS_PER_US = 1000 };

static const int64_t ns_per_s = 1000000000;

static int64_t seconds_up(int64_t ns)
{
	return (ns + ns_per_s - 1) / ns_per_s;
}

bool rate_take(struct rate_bucket *bucket, const struct rate_limit *limit, int64_t now_us,
	struct rate_state *state_r)
{
	int64_t now = now_us * NS_PER_US;
	int64_t token = ns_per_s / limit->per_s; /* time for one token */
	int64_t room = token * limit->burst;
	int64_t debt = bucket->full_ns > now ? bucket->full_ns - now : 0;
	bool taken;

	if (debt > room) /* the limit was larger before */
		debt = room;
	taken = debt + token <= room;
	if (taken)
		debt += token;
	bucket->full_ns = now + debt;
	*state_r = (struct rate_state){
		.limit = limit->burst,
		.remaining = (room - debt) / token,
		.reset_s = seconds_up(debt),
		.retry_s = taken ? 0 : seconds_up(debt + token - room),
	};
	return taken;
}

enum { SETS = 1024, ENTRIES = 8 };

struct entry {
	char company_id[ID_SIZE];
	struct rate_bucket bucket;
};

struct rate_table {
	pthread_mutex_t mutex;
	struct entry sets[SETS][ENTRIES];
};

struct rate_table *rate_table_new(void)
{
	struct rate_table *table = mem_new(struct rate_table);

	pthread_mutex_init(&table->mutex, NULL);
	return table;
}

void rate_table_free(struct rate_table *table)
{
	if (table)
		pthread_mutex_destroy(&table->mutex);
	free(table);
}

bool rate_table_take(struct rate_table *table, const char *company_id,
	const struct rate_limit *limit, int64_t now_us, struct rate_state *state_r)
{
	struct entry *set = table->sets[id_hash(company_id) % SETS];
	struct entry *entry = set, *next_full = set;
	bool taken;

	pthread_mutex_lock(&table->mutex);
	for (; entry < set + ENTRIES && strcmp(entry->company_id, company_id) != 0; entry++)
		if (entry->bucket.full_ns < next_full->bucket.full_ns)
			next_full = entry;
	if (entry == set + ENTRIES) {
		/* Replaces the bucket that will be full first. */
		entry = next_full;
		*entry = (struct entry){0};
		strncpy(entry->company_id, company_id, ID_SIZE - 1);
	}
	taken = rate_take(&entry->bucket, limit, now_us, state_r);
	pthread_mutex_unlock(&table->mutex);
	return taken;
}
