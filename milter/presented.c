/*
 * presented: a table of ids, searched from its beginning: few emails are presented again at once.
 *
 * Threads: any; the mutex guards the table.
 */
#include "milter/presented.h"

#include <pthread.h>
#include <string.h>

#include "core/base/id.h"
#include "core/base/mem.h"
#include "core/base/str.h"

/* All zeros: free. */
struct item {
	char email_id[ID_SIZE];
	int64_t since_us;
};

struct presented {
	pthread_mutex_t mutex;
	struct item items[PRESENTED_MAX];
};

struct presented *presented_new(void)
{
	struct presented *presented = mem_new(struct presented);

	pthread_mutex_init(&presented->mutex, NULL);
	return presented;
}

void presented_free(struct presented *presented)
{
	if (presented == NULL)
		return;
	pthread_mutex_destroy(&presented->mutex);
	free(presented);
}

bool presented_again(struct presented *presented, const char *email_id, int64_t now_us)
{
	struct item *oldest = presented->items, *found = NULL;
	bool waits;

	pthread_mutex_lock(&presented->mutex);
	for (size_t i = 0; i < PRESENTED_MAX; i++) {
		struct item *item = &presented->items[i];

		if (now_us - item->since_us >= PRESENTED_FORGET_S * 1000000LL)
			*item = (struct item){0};
		if (item->since_us < oldest->since_us)
			oldest = item;
		if (str_eq(item->email_id, email_id))
			found = item;
	}
	waits = found == NULL || now_us - found->since_us < PRESENTED_WAIT_S * 1000000LL;
	if (found == NULL) {
		memcpy(oldest->email_id, email_id, ID_SIZE);
		oldest->since_us = now_us;
	}
	pthread_mutex_unlock(&presented->mutex);
	return waits;
}
