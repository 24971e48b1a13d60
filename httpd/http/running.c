/*
 * running: the requests with an Idempotency-Key that are under way.
 *
 * There are never more entries than requests, so the table need not grow.
 *
 * Threads: any; a mutex is held while one list is looked through.
 */
#include "httpd/http/running.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

enum { LISTS = 1024 };

LIST_HEAD(running_list, running_entry);

struct running {
	pthread_mutex_t mutex;
	struct running_list lists[LISTS];
};

struct running *running_new(void)
{
	struct running *running = mem_new(struct running);

	pthread_mutex_init(&running->mutex, NULL);
	return running;
}

void running_free(struct running *running)
{
	if (running == NULL)
		return;
	for (size_t i = 0; i < LISTS; i++)
		assert(LIST_EMPTY(&running->lists[i]));
	pthread_mutex_destroy(&running->mutex);
	free(running);
}

static struct running_list *list_of(
	struct running *running, const struct idempotency_key *key)
{
	return &running->lists[(key->hash[0] << 8 | key->hash[1]) % LISTS];
}

static bool same_key(
	const struct idempotency_key *a, const struct idempotency_key *b)
{
	return memcmp(a->hash, b->hash, sizeof(a->hash)) == 0 &&
	       strcmp(a->company_id, b->company_id) == 0;
}

static struct running_entry *find(
	const struct running_list *list, const struct idempotency_key *key)
{
	struct running_entry *entry;

	LIST_FOREACH(entry, list, link)
	if (same_key(&entry->key, key))
		return entry;
	return NULL;
}

enum running_result running_enter(
	struct running *running, struct running_entry *entry)
{
	struct running_list *list = list_of(running, &entry->key);
	enum running_result result = RUNNING_ENTERED;
	const struct running_entry *other;

	pthread_mutex_lock(&running->mutex);
	other = find(list, &entry->key);
	if (other == NULL)
		LIST_INSERT_HEAD(list, entry, link);
	else if (memcmp(other->payload, entry->payload, SECRET_HASH_LEN) == 0)
		result = RUNNING_SAME;
	else
		result = RUNNING_OTHER;
	pthread_mutex_unlock(&running->mutex);
	return result;
}

void running_leave(struct running *running, struct running_entry *entry)
{
	pthread_mutex_lock(&running->mutex);
	LIST_REMOVE(entry, link);
	pthread_mutex_unlock(&running->mutex);
}
