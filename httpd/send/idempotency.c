/*
 * idempotency: keys of requests that are under way are in a hash table, those of earlier requests
 * in the store.
 *
 * There are never more locks than requests under way, so the table does not grow.
 *
 * Threads: any. All threads share struct running, whose mutex is held while one list is searched.
 */
#include "httpd/send/idempotency.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "httpd/admission/admission.h"
#include "httpd/worker/worker.h"

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

static struct running_entry *find_running(
	const struct running_list *list, const struct idempotency_key *key)
{
	struct running_entry *entry;

	LIST_FOREACH(entry, list, link)
		if (memcmp(entry->key.hash, key->hash, sizeof(key->hash)) == 0 &&
			strcmp(entry->key.company_id, key->company_id) == 0)
			return entry;
	return NULL;
}

enum running_result running_enter(struct running *running, struct running_entry *entry)
{
	const uint8_t *hash = entry->key.hash;
	struct running_list *list = &running->lists[(hash[0] << 8 | hash[1]) % LISTS];
	enum running_result result = RUNNING_ENTERED;
	const struct running_entry *other;

	pthread_mutex_lock(&running->mutex);
	other = find_running(list, &entry->key);
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

void idempotency_hash(
	const char *action, const char *body, size_t len, uint8_t hash[static SECRET_HASH_LEN])
{
	uint8_t parts[2][SECRET_HASH_LEN];

	secret_hash(action, strlen(action), parts[0]);
	secret_hash(body, len, parts[1]);
	secret_hash((const char *)parts, sizeof(parts), hash);
}

int idempotency_lock(const struct worker *worker, struct db *db, const struct admission *admission,
	const uint8_t payload[static SECRET_HASH_LEN], struct idempotency_lock **lock_r,
	struct problem *problem, struct err *err)
{
	struct idempotency_lock *lock = mem_new(struct idempotency_lock);
	enum running_result entered;
	int found;

	lock->running = worker->shared->running;
	memcpy(lock->entry.key.company_id, admission->key.company_id, ID_SIZE);
	memcpy(lock->entry.key.hash, admission->idempotency_key, SECRET_HASH_LEN);
	memcpy(lock->entry.payload, payload, SECRET_HASH_LEN);
	entered = running_enter(lock->running, &lock->entry);
	if (entered != RUNNING_ENTERED) {
		free(lock);
		problem_fixed(problem,
			entered == RUNNING_SAME ? PROBLEM_CONCURRENT : PROBLEM_OTHER_PAYLOAD);
		return 0;
	}
	found = store_idempotency_find(
		db, &lock->entry.key, clock_now_us(worker->shared->clock), &lock->earlier, err);
	lock->found = found > 0;
	if (lock->found && memcmp(lock->earlier.payload, lock->entry.payload, SECRET_HASH_LEN) != 0)
		problem_fixed(problem, PROBLEM_OTHER_PAYLOAD);
	if (found < 0 || problem->kind != PROBLEM_NONE)
		idempotency_unlock(lock);
	else
		*lock_r = lock;
	return found < 0 ? -1 : 0;
}

void idempotency_unlock(struct idempotency_lock *lock)
{
	if (lock == NULL)
		return;
	running_leave(lock->running, &lock->entry);
	store_idempotency_clear(&lock->earlier);
	free(lock);
}
