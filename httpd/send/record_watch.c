/*
 * record_watch: a timer that looks at the store while an email waits for its
 * record, and the gate of all workers.
 *
 * Threads: the worker's; the gate's functions are for any. Its mutex is held
 * for the few instructions of one look, and not taken while no email is late.
 */
#include "httpd/send/record_watch.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "core/base/clock.h"
#include "core/base/id.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/socket.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/postfix/postfix_run.h"

/* How often to look. A commit is found half of this late on average. */
enum { LOOK_US = 2000 };

struct record_watch {
	struct db *db;
	struct log *log;
	struct event *timer;
	struct watched *pending;
	int64_t version;  /* of the store, when last looked at */
	bool look_anyway; /* something was added since then, or not read */
	bool failing;     /* the store could not be read at the last look */
	bool stopped;
};

static void set_timer(struct record_watch *watch)
{
	const struct timeval soon = {.tv_usec = LOOK_US};

	if (watch->pending && !event_pending(watch->timer, EV_TIMEOUT, NULL))
		event_add(watch->timer, &soon);
}

/* Whether the rows are worth a look. */
static bool has_changed(struct record_watch *watch, struct err *err)
{
	int64_t version;
	bool changed;

	if (db_version(watch->db, &version, err) < 0)
		return false;
	changed = version != watch->version || watch->look_anyway;
	watch->version = version;
	watch->look_anyway = false;
	return changed;
}

static void finish(struct watched *watched, enum email_state state, const char *refusal)
{
	watched->next = NULL;
	watched->done(watched, state, refusal);
}

/* What is known of the email; EMAIL_STAGED also when it cannot be read. */
static enum email_state look(struct record_watch *watch, const struct watched *watched,
	char **refusal_r, struct err *err)
{
	enum email_state state = EMAIL_STAGED;

	if (store_email_outcome(watch->db, watched->email_id, &state, refusal_r, err) < 0)
		watch->look_anyway = true;
	return state;
}

/* Once, however many looks fail: they come every few milliseconds. */
static void report(struct record_watch *watch, const struct err *err)
{
	bool failing = err->code != ERR_NONE;

	if (failing && !watch->failing)
		log_error(watch->log, "store_failed", "error", err->text);
	else if (!failing && watch->failing)
		log_info(watch->log, "store_back");
	watch->failing = failing;
}

static void on_watch_timer(evutil_socket_t fd, short what, void *arg)
{
	struct record_watch *watch = arg;
	struct err err = ERR_INIT;
	bool changed = has_changed(watch, &err);
	int64_t now_us = clock_monotonic_us();
	struct watched **at = &watch->pending;

	(void)fd;
	(void)what;
	while (*at != NULL) {
		struct watched *watched = *at;
		_cleanup_free_ char *refusal = NULL;
		enum email_state state = EMAIL_STAGED;

		if (changed)
			state = look(watch, watched, &refusal, &err);
		if (state == EMAIL_STAGED && now_us < watched->deadline_us) {
			at = &watched->next;
			continue;
		}
		*at = watched->next;
		finish(watched, state, refusal);
	}
	report(watch, &err);
	set_timer(watch);
}

struct record_watch *record_watch_new(struct event_base *base, struct db *db, struct log *log)
{
	struct record_watch *watch = mem_new(struct record_watch);

	watch->db = db;
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

enum { TRY_US = RECORD_GATE_TRY_MS * 1000, LISTS = 256 };

/* A company with late emails, until the next that is recorded. */
struct late_company {
	char id[ID_SIZE];
	unsigned late;
	uint64_t decided; /* the gate's, at the first of them */
	int64_t try_us;   /* when one may pass again */
	LIST_ENTRY(late_company) link;
};

LIST_HEAD(late_list, late_company);

struct record_gate {
	atomic_bool blamed;
	_Atomic uint64_t decided; /* emails */
	atomic_uint companies_n;  /* in the lists, which have the mutex */
	pthread_mutex_t mutex;
	struct late_list lists[LISTS];
};

struct record_gate *record_gate_new(void)
{
	struct record_gate *gate = mem_new(struct record_gate);

	pthread_mutex_init(&gate->mutex, NULL);
	return gate;
}

static void forget(struct record_gate *gate, struct late_company *company)
{
	LIST_REMOVE(company, link);
	free(company);
	atomic_fetch_sub(&gate->companies_n, 1);
}

void record_gate_free(struct record_gate *gate)
{
	if (gate == NULL)
		return;
	for (size_t i = 0; i < LISTS; i++)
		while (!LIST_EMPTY(&gate->lists[i]))
			forget(gate, LIST_FIRST(&gate->lists[i]));
	pthread_mutex_destroy(&gate->mutex);
	free(gate);
}

static struct late_list *list_of(struct record_gate *gate, const char *company_id)
{
	unsigned hash = 0;

	for (const char *p = company_id; *p; p++)
		hash = hash * 31 + (unsigned char)*p;
	return &gate->lists[hash % LISTS];
}

/* NULL when none of its emails is late. With the mutex. */
static struct late_company *find(struct record_gate *gate, const char *company_id)
{
	struct late_company *company;

	LIST_FOREACH(company, list_of(gate, company_id), link)
		if (str_eq(company->id, company_id))
			return company;
	return NULL;
}

bool record_gate_enter(struct record_gate *gate, const char *company_id, int64_t now_us)
{
	struct late_company *company;
	bool passes = true;

	if (atomic_load(&gate->companies_n) == 0)
		return true;
	pthread_mutex_lock(&gate->mutex);
	company = find(gate, company_id);
	if (company && company->late >= RECORD_GATE_LATE) {
		passes = now_us >= company->try_us;
		if (passes)
			company->try_us = now_us + TRY_US;
	}
	pthread_mutex_unlock(&gate->mutex);
	return passes;
}

enum record_gate_news record_gate_late(
	struct record_gate *gate, const char *company_id, int64_t now_us)
{
	uint64_t decided = atomic_load(&gate->decided);
	enum record_gate_news news = RECORD_GATE_NO_NEWS;
	struct late_company *company;

	pthread_mutex_lock(&gate->mutex);
	company = find(gate, company_id);
	if (company == NULL) {
		company = mem_new(struct late_company);
		*stpncpy(company->id, company_id, ID_SIZE - 1) = '\0';
		company->decided = decided;
		LIST_INSERT_HEAD(list_of(gate, company_id), company, link);
		atomic_fetch_add(&gate->companies_n, 1);
	}
	if (++company->late == RECORD_GATE_LATE) {
		company->try_us = now_us + TRY_US;
		if (company->decided != decided)
			news = RECORD_GATE_SHUT;
		else if (!atomic_exchange(&gate->blamed, true))
			news = RECORD_GATE_BLAMED;
	}
	pthread_mutex_unlock(&gate->mutex);
	return news;
}

bool record_gate_decided(struct record_gate *gate, const char *company_id)
{
	struct late_company *company;

	atomic_fetch_add(&gate->decided, 1);
	if (atomic_load(&gate->companies_n) > 0) {
		pthread_mutex_lock(&gate->mutex);
		company = find(gate, company_id);
		if (company)
			forget(gate, company);
		pthread_mutex_unlock(&gate->mutex);
	}
	return atomic_load(&gate->blamed) && atomic_exchange(&gate->blamed, false);
}

bool record_gate_is_blamed(struct record_gate *gate)
{
	return atomic_load(&gate->blamed);
}

const char *record_gate_cause(struct postfix_run *run, const struct conf *conf)
{
	int milter;

	if (conf->submission.method == SUBMISSION_SMTP)
		return "the smtpd of submission.smtp_server does not ask postern-milter "
		       "(smtpd_milters)";
	if (postfix_run_is_over(run))
		return "Postfix is not running";
	milter = socket_look(conf->milter.socket);
	if (milter != 0 && milter != EACCES) /* may listen where we may not look */
		return "postern-milter is not running";
	return "Postfix does not ask postern-milter (non_smtpd_milters, or it was not "
	       "reloaded since), or is slow";
}
