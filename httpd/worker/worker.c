/*
 * worker: the look that each worker takes at the file of its database.
 */
#include "httpd/worker/worker.h"

#include "core/base/log.h"

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
