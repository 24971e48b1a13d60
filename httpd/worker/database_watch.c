/*
 * database_watch: compares the identity of the file, once a second. A server has a thread of its
 * own that asks it (core/db/db_watch.h).
 */
#include "httpd/worker/database_watch.h"

#include "core/base/log.h"
#include "core/db/db_watch.h"

/* How often the database file is checked. */
enum { LOOK_US = 1000000 };

void database_watch_begin(
	struct database_watch *watch, const char *path, struct db_watch *server, struct log *log)
{
	*watch = (struct database_watch){.path = path, .server = server, .log = log};
	if (server == NULL)
		db_same(path, &watch->identity, NULL);
}

void database_watch_look(struct database_watch *watch, int64_t now_us)
{
	struct err err = ERR_INIT;
	bool gone;

	if (watch->server) {
		gone = db_watch_look(watch->server, &err) != 0;
	} else {
		if (now_us < watch->next_us)
			return;
		watch->next_us = now_us + LOOK_US;
		gone = db_same(watch->path, &watch->identity, &err) != 0;
	}
	if (gone && !watch->gone && watch->server)
		log_error(watch->log, "database_away", "error", err.text, "effect",
			"requests are answered with 503, and mail of registered domains is put off",
			"hint",
			"see if the database server runs and can be reached; the daemons then go on "
			"by themselves");
	else if (gone && !watch->gone)
		log_error(watch->log, "database_gone", "error", err.text, "effect",
			"emails are answered with 503, and all mail is put off", "hint",
			"put the file back, or a backup by postern db restore, and restart the "
			"daemons");
	if (!gone && watch->gone)
		log_info(watch->log, "database_back", "file", watch->server ? NULL : watch->path);
	watch->gone = gone;
}
