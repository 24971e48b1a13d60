/*
 * known_domains: two sorted lists, replaced as a whole with each refresh.
 *
 * The age of the copy counts from before its rows are read.
 *
 * Threads: any. The mutex guards the lists and their age; the store is read outside of it, by one
 * thread at a time.
 */
#include "milter/known_domains.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/thread.h"
#include "core/store/company/store_domain.h"

enum {
	REFRESH_US = 5 * 1000 * 1000,
	/* A copy that takes long to read, because there are many domains, is read less often:
	 * reading takes at most a hundredth of the time. */
	REST_FACTOR = 100,
};

struct known_domains {
	struct db_pool *pool;
	pthread_mutex_t reading; /* held during a refresh */
	struct ticker *ticker;   /* NULL: not started */

	pthread_mutex_t mutex;
	struct strv names;    /* the registered domains, sorted */
	struct strv covering; /* the domains that cover their subdomains, sorted */
	int64_t read_us;      /* monotonic; 0: never */
};

struct known_domains *known_domains_new(struct db_pool *pool)
{
	struct known_domains *known = mem_new(struct known_domains);

	known->pool = pool;
	pthread_mutex_init(&known->reading, NULL);
	pthread_mutex_init(&known->mutex, NULL);
	return known;
}

void known_domains_free(struct known_domains *known)
{
	if (known == NULL)
		return;
	known_domains_stop(known);
	strv_free(&known->names);
	strv_free(&known->covering);
	pthread_mutex_destroy(&known->mutex);
	pthread_mutex_destroy(&known->reading);
	free(known);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void sort(struct strv *list)
{
	if (list->n > 0)
		qsort(list->items, list->n, sizeof(*list->items), compare_names);
}

static bool sorted_has(const struct strv *list, const char *name)
{
	return list->n > 0 &&
	       bsearch(&name, list->items, list->n, sizeof(*list->items), compare_names) != NULL;
}

static void swap(struct strv *a, struct strv *b)
{
	struct strv old = *a;

	*a = *b;
	*b = old;
}

int known_domains_refresh(struct known_domains *known, struct err *err)
{
	_cleanup_strv_ struct strv names = STRV_INIT, covering = STRV_INIT;
	struct db *db;
	int64_t now_us;
	int result;

	pthread_mutex_lock(&known->reading);
	now_us = clock_monotonic_us();
	result = db_pool_take(known->pool, &db, err);
	if (result == 0) {
		result = store_domain_names(db, &names, &covering, err);
		db_pool_give(known->pool, db, result == 0);
	}
	if (result == 0) {
		sort(&names);
		sort(&covering);
		pthread_mutex_lock(&known->mutex);
		swap(&known->names, &names);
		swap(&known->covering, &covering);
		known->read_us = now_us;
		pthread_mutex_unlock(&known->mutex);
	}
	pthread_mutex_unlock(&known->reading);
	return result;
}

/* A store that is away is not logged here: each message that needs it says so. */
static int64_t refresh(void *arg)
{
	int64_t began_us = clock_monotonic_us(), rest_us;

	if (known_domains_refresh(arg, NULL) < 0)
		return REFRESH_US;
	rest_us = (clock_monotonic_us() - began_us) * REST_FACTOR;
	return rest_us > REFRESH_US ? rest_us : REFRESH_US;
}

int known_domains_start(struct known_domains *known, struct err *err)
{
	return ticker_start(refresh, known, REFRESH_US, &known->ticker, err);
}

void known_domains_stop(struct known_domains *known)
{
	ticker_stop(TAKE_PTR(known->ticker));
}

bool known_domains_exclude(
	struct known_domains *known, const struct strv *names, int64_t max_age_ms)
{
	bool excluded;

	pthread_mutex_lock(&known->mutex);
	excluded = known->read_us != 0 &&
		   clock_monotonic_us() - known->read_us <= max_age_ms * 1000;
	for (size_t i = 0; i < names->n && excluded; i++) {
		const char *name = names->items[i];

		excluded = !sorted_has(&known->names, name);
		while (excluded && (name = strchr(name, '.')) != NULL)
			excluded = !sorted_has(&known->covering, ++name);
	}
	pthread_mutex_unlock(&known->mutex);
	return excluded;
}
