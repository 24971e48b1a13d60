/*
 * running: the requests with an Idempotency-Key that are under way.
 *
 * There are never more entries than requests, so the table need not grow.
 *
 * Threads: any; a mutex is held while one list is looked through.
 */
#include "httpd/gate/idempotency.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "httpd/gate/request.h"
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

/*
 * idempotency: a request with an Idempotency-Key is done once.
 *
 * Threads: the worker's, but for idempotency_hash(); `running` is shared by all.
 */

void idempotency_hash(const char *action, const char *body, size_t len,
	uint8_t hash[static SECRET_HASH_LEN])
{
	uint8_t parts[2][SECRET_HASH_LEN];

	secret_hash(action, strlen(action), parts[0]);
	secret_hash(body, len, parts[1]);
	secret_hash((const char *)parts, sizeof(parts), hash);
}

static int other_payload(struct problem *problem)
{
	return problem_fixed(problem, PROBLEM_OTHER_PAYLOAD);
}

static int enter(struct idempotency_claim *claim, struct problem *problem)
{
	switch (running_enter(claim->running, &claim->entry)) {
	case RUNNING_ENTERED:
		claim->entered = true;
		return 0;
	case RUNNING_OTHER:
		return other_payload(problem);
	case RUNNING_SAME:
		break;
	}
	return problem_fixed(problem, PROBLEM_CONCURRENT);
}

static int recall(struct request *request, struct idempotency_claim *claim,
	struct problem *problem)
{
	struct err err = ERR_INIT;
	int found = store_idempotency_find(request->worker->db,
		&claim->entry.key, clock_now_us(request->worker->shared->clock),
		&claim->record, &err);

	if (found < 0) {
		log_error(request->worker->log, "idempotency_lookup_failed",
			"request", request->id, "error", err.text);
		return problem_from_err(problem, &err);
	}
	claim->found = found > 0;
	if (claim->found && memcmp(claim->record.payload, claim->entry.payload,
				    SECRET_HASH_LEN) != 0)
		return other_payload(problem);
	if (claim->found)
		postfix_run_name(request->worker->shared->run, claim->run);
	return 0;
}

int idempotency_claim(struct request *request, struct problem *problem)
{
	struct idempotency_claim *claim = request->claim;

	if (claim == NULL)
		return 0;
	if (enter(claim, problem) < 0)
		return -1;
	return recall(request, claim, problem);
}

void idempotency_begin(
	struct request *request, const uint8_t payload[static SECRET_HASH_LEN])
{
	const struct admission *admission = &request->admission;
	struct idempotency_claim *claim = mem_new(struct idempotency_claim);

	claim->running = request->worker->shared->running;
	memcpy(claim->entry.key.company_id, admission->key.company_id, ID_SIZE);
	memcpy(claim->entry.key.hash, admission->idempotency_key,
		SECRET_HASH_LEN);
	memcpy(claim->entry.payload, payload, SECRET_HASH_LEN);
	request->claim = claim;
}

void idempotency_end(struct idempotency_claim *claim)
{
	if (claim == NULL)
		return;
	if (claim->entered)
		running_leave(claim->running, &claim->entry);
	store_idempotency_clear(&claim->record);
	free(claim);
}
