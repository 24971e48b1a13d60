/*
 * worker: what a worker has, as all that runs on its thread sees it.
 */
#include "httpd/worker/worker.h"

#include <stddef.h>

#include "core/base/log.h"
#include "core/conf/conf.h"

int64_t worker_message_limit(const struct worker *worker)
{
	int64_t limit = worker->conf->http.max_message_bytes;

	if (worker->postfix_limit > 0 && worker->postfix_limit < limit)
		return worker->postfix_limit;
	return limit;
}

enum { LOOK_US = 1000000 };

void database_watch_begin(
	struct database_watch *watch, const char *path, struct log *log)
{
	*watch = (struct database_watch){.path = path, .log = log};
	db_file_same(path, &watch->file, NULL);
}

void database_watch_look(struct database_watch *watch, int64_t now_us)
{
	struct err err = ERR_INIT;
	bool gone;

	if (now_us < watch->next_us)
		return;
	watch->next_us = now_us + LOOK_US;
	gone = db_file_same(watch->path, &watch->file, &err) != 0;
	if (gone && !watch->gone)
		log_error(watch->log, "database_gone", "error", err.text);
	if (!gone && watch->gone)
		log_info(watch->log, "database_back", "file", watch->path);
	watch->gone = gone;
}
