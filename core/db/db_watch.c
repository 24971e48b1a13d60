/*
 * db_watch: one handle, and a statement that costs the server next to nothing.
 *
 * Threads: the mutex guards why; the handle belongs to the ticker.
 */
#include "core/db/db_watch.h"

#include <pthread.h>

#include "core/base/thread.h"

enum {
	INTERVAL_US = 250000,
	WAIT_MS = 500,
};

struct db_watch {
	char *url;
	struct ticker *ticker;
	struct db *db; /* the thread's; NULL: none is open */
	pthread_mutex_t mutex;
	struct err why; /* ERR_NONE: the server has answered */
};

static int ask(const char *url, struct db **db, struct err *err)
{
	int64_t version;

	if (*db == NULL) {
		if (db_open(url, DB_READ, db, err) != 0)
			return -1;
		db_set_wait(*db, WAIT_MS);
	}
	return db_version(*db, &version, err);
}

static int64_t ask_again(void *arg)
{
	struct db_watch *watch = arg;
	struct err why = ERR_INIT;

	ask(watch->url, &watch->db, &why);
	pthread_mutex_lock(&watch->mutex);
	watch->why = why;
	pthread_mutex_unlock(&watch->mutex);
	return INTERVAL_US;
}

int db_watch_new(const char *url, struct db_watch **watch_r, struct err *err)
{
	struct db_watch *watch = mem_new(struct db_watch);

	watch->url = mem_strdup(url);
	watch->why = ERR_INIT;
	pthread_mutex_init(&watch->mutex, NULL);
	if (ticker_start(ask_again, watch, 0, &watch->ticker, err) < 0) {
		db_watch_free(watch);
		return -1;
	}
	*watch_r = watch;
	return 0;
}

void db_watch_free(struct db_watch *watch)
{
	if (watch == NULL)
		return;
	ticker_stop(watch->ticker);
	db_close(watch->db);
	pthread_mutex_destroy(&watch->mutex);
	free(watch->url);
	free(watch);
}

int db_watch_look(struct db_watch *watch, struct err *err)
{
	int result = 0;

	pthread_mutex_lock(&watch->mutex);
	if (watch->why.code != ERR_NONE)
		result = err_copy(err, &watch->why);
	pthread_mutex_unlock(&watch->mutex);
	return result;
}
