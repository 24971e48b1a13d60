/*
 * record_watch: a timer that checks the store while somebody waits for the milter's decision.
 *
 *   record_watch_add ─> on_watch_timer, every LOOK_US ─> watched->done
 *
 * Threads: the outbox's; any may call record_watch_cause().
 */
#include "httpd/outbox/record_watch.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/socket.h"
#include "core/conf/conf.h"
#include "core/db/db_watch.h"
#include "core/postfix/postfix_run.h"

/* The interval of the checks. On average a commit is noticed half of this late. */
enum { LOOK_US = 2000 };

struct record_watch {
	struct db *db;
	struct db_watch *server; /* NULL: the store is a file */
	struct log *log;
	struct event *timer;
	struct watched *pending;
	int64_t version;  /* version of the store at the last check */
	bool look_anyway; /* an email was added since, or could not be read */
	bool failing;     /* the store could not be read at the last look */
	bool stopped;
};

static void set_timer(struct record_watch *watch)
{
	const struct timeval soon = {.tv_usec = LOOK_US};

	if (watch->pending && !event_pending(watch->timer, EV_TIMEOUT, NULL))
		event_add(watch->timer, &soon);
}

/* Ends the wait for emails that are decided, or late. Reads the rows only if somebody has
 * committed since, or an email was added. */
static void on_watch_timer(evutil_socket_t fd, short what, void *arg)
{
	struct record_watch *watch = arg;
	struct watched **at = &watch->pending;
	int64_t now_us = clock_monotonic_us(), version;
	struct err err = ERR_INIT;
	bool changed = false;

	(void)fd;
	(void)what;
	if ((watch->server == NULL || db_watch_look(watch->server, &err) == 0) &&
		db_version(watch->db, &version, &err) == 0) {
		changed = version != watch->version || watch->look_anyway;
		watch->version = version;
		watch->look_anyway = false;
	}
	while (*at != NULL) {
		struct watched *watched = *at;
		_cleanup_free_ char *refusal = NULL;
		enum email_state state = EMAIL_STAGED;

		/* An email that cannot be read counts as not decided. */
		if (changed && store_email_outcome(
				       watch->db, watched->email_id, &state, &refusal, &err) < 0) {
			watch->look_anyway = true;
			changed = false; /* the next one would wait for the store as long */
		}
		if (state == EMAIL_STAGED && now_us < watched->deadline_us) {
			at = &watched->next;
			continue;
		}
		*at = watched->next;
		watched->next = NULL;
		watched->done(watched, state, refusal);
	}
	/* Logged once, since looks follow each other within milliseconds. */
	if (err.code != ERR_NONE && !watch->failing)
		log_error(watch->log, "store_failed", "error", err.text);
	else if (err.code == ERR_NONE && watch->failing)
		log_info(watch->log, "store_back");
	watch->failing = err.code != ERR_NONE;
	set_timer(watch);
}

struct record_watch *record_watch_new(
	struct event_base *base, struct db *db, struct db_watch *server, struct log *log)
{
	struct record_watch *watch = mem_new(struct record_watch);

	watch->db = db;
	watch->server = server;
	watch->log = log;
	watch->timer = event_new(base, -1, 0, on_watch_timer, watch);
	return watch;
}

void record_watch_stop(struct record_watch *watch)
{
	watch->stopped = true;
	for (struct watched *w = watch->pending; w; w = w->next)
		w->deadline_us = 0;
}

void record_watch_free(struct record_watch *watch)
{
	if (watch == NULL)
		return;
	assert(watch->pending == NULL);
	event_free(watch->timer);
	free(watch);
}

void record_watch_add(struct record_watch *watch, struct watched *watched)
{
	watched->deadline_us = watch->stopped ? 0 : clock_monotonic_us() + watched->wait_ms * 1000;
	watched->next = watch->pending;
	watch->pending = watched;
	watch->look_anyway = true;
	set_timer(watch);
}

const char *record_watch_cause(struct postfix_run *run, const struct conf *conf)
{
	int milter;

	if (conf->submission.method == SUBMISSION_SMTP)
		return "the smtpd of submission.smtp_server does not ask postern-milter "
		       "(smtpd_milters)";
	if (postfix_run_is_over(run))
		return "Postfix is not running";
	milter = socket_look(conf->milter.socket);
	if (milter != 0 && milter != EACCES) /* EACCES: it may listen where we may not look */
		return "postern-milter is not running";
	return "Postfix does not ask postern-milter (non_smtpd_milters, or it was not "
	       "reloaded since), or is slow";
}
