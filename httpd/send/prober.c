/*
 * prober: tests by itself whether emails go out.
 *
 * Threads: the worker's. What blocks runs in the pool (look_run), short reads
 * where store_read.h has them run, and the committer adds the ticket; all come
 * back as tasks.
 */
#include "httpd/send/prober.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/committer.h"
#include "core/db/db_pool.h"
#include "core/db/migrate.h"
#include "core/metrics/metrics.h"
#include "core/policy/ticket.h"
#include "core/postfix/milter_greet.h"
#include "core/postfix/postfix_run.h"
#include "core/postfix/postfix_setup.h"
#include "core/store/email/store_email.h"
#include "core/store/outbox/store_probe.h"
#include "httpd/inject/inject.h"
#include "httpd/outbox/outbox.h"
#include "httpd/send/probe_report.h"
#include "httpd/worker/store_read.h"
#include "httpd/worker/task_queue.h"
#include "httpd/worker/work_pool.h"
#include "httpd/worker/worker.h"

enum {
	GREET_MS = 10 * 1000,
	LOOK_US = 1000 * 1000,
	READER_GRACE_US = 5000 * 1000,
	STAMP_SIZE = 320,
};
/* A clock that is corrected may move by some seconds. */
#define CLOCK_BEHIND_US (120 * SECOND_US)

enum step { IDLE, LOOKING, ADDING, SUBMITTING, WATCHING };

/* What the pool finds out. It belongs to the pool from submit to done. */
struct look {
	struct work work; /* first */
	struct prober *prober;
	char *socket; /* socket of the milter */
	char *config; /* configuration folder of Postfix; NULL: main.cf is not read */
	char *internal_hosts;
	enum submission_method method;
	int milter; /* 0, or an errno */
	bool known; /* setup was read; false if Postfix could not be asked */
	struct postfix_setup setup;
	struct email_waiting waiting; /* zeroed if it could not be read */
	int store_result;             /* result of reading the time of the newest row: */
	int64_t newest_us;
	struct err store_err;
};

/* What the store says about the last probe, and the oldest one that the log has not confirmed. It
 * belongs to the thread that reads until its done runs. */
struct reading {
	struct store_read read; /* first */
	struct prober *prober;
	bool under_way;
	void (*done)(struct prober *prober);
	struct postfix_notes notes; /* zeroed if there are none */
	bool has_last, has_oldest;
	struct probe last, oldest;
};

struct prober {
	struct worker *worker;
	enum step step;
	int64_t next_us;     /* no probe before; all times here are monotonic */
	int64_t looked_us;   /* the last check while idle */
	int64_t began_us;    /* the probe that is under way, or the last one */
	int64_t deadline_us; /* until when the result of the probe is waited for */
	int64_t unasked_us;  /* the last probe about which the milter was not asked */
	char stamp[STAMP_SIZE];
	int64_t reloaded_us; /* as in struct postfix_notes */

	/* What the last probes found. */
	enum probe_finding found;
	unsigned in_row;
	bool told; /* the result of this probe was reported */

	/* What main.cf says. */
	bool stale; /* main.cf must be read again */
	bool learnt;
	struct postfix_setup setup;

	/* What the log says, and its reader (postern-events). */
	struct metrics_events reader;
	bool reader_lives;
	int64_t reader_looked_us;
	int64_t reader_well_us;
	int64_t mute_us; /* since when the log says nothing; 0 if it does */
	bool by_log;     /* only the log has shown the fault */
	bool stuck;
	char unconfirmed[SECRET_TICKET_SIZE]; /* ticket of the oldest probe that the log has not
						 confirmed, or "" */

	struct look look;
	struct reading reading;
	struct commit_job job;
	struct task added;
	bool through;                 /* as in struct probe */
	struct probe_secrets secrets; /* belongs to the committer until it is added */
	int add_result;
	struct err add_err;

	/* The current probe, or the last one. */
	struct probe_facts facts;
	char last[SECRET_TICKET_SIZE]; /* its ticket; "" if no message was sent */
	char *refusal;
	char *cause;
	int64_t changed;   /* enum probe_change */
	int64_t behind_us; /* how far the clock is behind */
	char *recipient;
	struct buf message;
	struct submission submission;
};

static int64_t wall_us(const struct prober *prober)
{
	return clock_now_us(prober->worker->shared->clock);
}

static int64_t interval_us(const struct prober *prober)
{
	return prober->worker->conf->submission.probe_ms * 1000;
}

/* True if the milter has recorded an email since, which shows that it is asked. */
static bool others_since(const struct prober *prober, int64_t since_us)
{
	return probe_report_recorded_us(prober->worker->shared->probe) > since_us;
}

/* The list of milters that emails pass, and not that of other mail. */
static bool lacks_list(enum submission_method method, const struct postfix_setup *setup)
{
	return method == SUBMISSION_SMTP ? setup->lacks_smtpd : setup->lacks_local;
}

static bool lacks_own_list(const struct prober *prober)
{
	return lacks_list(prober->worker->conf->submission.method, &prober->setup);
}

/* Withholds emails while Postfix would send them to another host without asking the milter. */
static void withhold_emails(const struct prober *prober)
{
	outbox_withhold(prober->worker->shared->outbox,
		prober->setup.tickets_leave &&
			(lacks_own_list(prober) || prober->found == PROBE_UNASKED));
}

/*
 * Reporting.
 */

static char *cause_unasked(const struct prober *prober)
{
	const struct conf *conf = prober->worker->conf;

	if (prober->facts.message == PROBE_UNSENT && prober->setup.tickets_leave)
		return mem_printf(
			"main.cf does not name postern-milter in %s, and mail to postern.invalid "
			"would leave this host, so emails wait in the outbox, and no test message "
			"was sent: run postern setup",
			conf->submission.method == SUBMISSION_SMTP ? "smtpd_milters"
								   : "non_smtpd_milters");
	if (conf->submission.method == SUBMISSION_SMTP)
		return mem_printf(
			"the smtpd at %s takes mail without asking postern-milter "
			"(smtpd_milters)",
			conf->submission.smtp_server);
	return mem_printf("Postfix took a message, and did not ask postern-milter about it: %s",
		lacks_own_list(prober)
			? "non_smtpd_milters does not name its socket"
			: "non_smtpd_milters lacked it, and Postfix was not reloaded since; or "
			  "it cannot reach the socket, another milter in front puts mail off, or "
			  "pickup does not run");
}

/* The cause of a finding, for people; a new string. */
static char *cause_of(const struct prober *prober, enum probe_finding finding)
{
	switch (finding) {
	case PROBE_POSTFIX:
		return mem_strdup("Postfix is not running");
	case PROBE_MILTER:
	case PROBE_STORE:
		return mem_strdup(prober->cause);
	case PROBE_BYPASSED:
		return mem_printf("%s; and %s", prober->cause, prober->setup.unguarded);
	case PROBE_REFUSED:
	case PROBE_PUT_OFF:
		return mem_printf("%s%s",
			prober->facts.seen ? "what postern-milter lets pass is stopped behind it: "
					   : "",
			str_empty(prober->refusal) ? prober->cause : prober->refusal);
	case PROBE_UNANSWERED:
		return mem_printf("no answer to a submission in %d s",
			(int)((clock_monotonic_us() - prober->began_us) / SECOND_US));
	case PROBE_UNASKED:
		return cause_unasked(prober);
	case PROBE_CHANGED:
		return mem_printf(
			"a message came to postern-milter with another %s than it had: "
			"another milter in front, or header_checks, changes it",
			prober->changed == PROBE_OTHER_FROM ? "From" : "Message-ID");
	case PROBE_STUCK:
		return mem_strdup(
			"Postfix took a message, and its queue manager (qmgr) does not begin with "
			"it");
	case PROBE_UNCHECKED:
		return mem_strdup(prober->setup.unchecked);
	case PROBE_UNGUARDED:
		return mem_strdup(prober->setup.unguarded);
	case PROBE_CLOCK:
		return mem_printf(
			"the clock is %lld minutes behind the newest email or probe on record: "
			"it was put back, or was ahead then",
			(long long)(prober->behind_us / (60 * SECOND_US)));
	default:
		return mem_strdup("");
	}
}

/* Sets the cause of findings that only their step knows. Takes ownership of it. */
static void set_cause(struct prober *prober, char *cause)
{
	free(prober->cause);
	prober->cause = cause;
}

/* Reports the finding, if the facts suffice for one. Returns true if they do. */
static bool conclude_probe(struct prober *prober)
{
	struct probe_facts *facts = &prober->facts;
	enum probe_finding finding;
	_cleanup_free_ char *cause = NULL;

	facts->refusal = prober->refusal;
	facts->others_seen = others_since(prober, prober->began_us);
	facts->unchecked = prober->setup.unchecked != NULL;
	facts->unguarded = prober->setup.unguarded != NULL;
	facts->wait_for_log = prober->by_log && prober->through && prober->reader_lives;
	facts->stuck = prober->stuck;
	finding = probe_judge(facts);
	if (finding == PROBE_NONE)
		return false;
	if (prober->told && finding == prober->found)
		return true;
	prober->in_row = finding == prober->found && !facts->blamed ? prober->in_row + 1 : 1;
	prober->told = true;
	prober->found = finding;
	withhold_emails(prober);
	if (finding == PROBE_UNASKED)
		prober->unasked_us = clock_monotonic_us();
	cause = cause_of(prober, finding);
	probe_report_set(prober->worker->shared->probe, finding, cause, wall_us(prober));
	return true;
}

/* Ends a probe. The log may still say more about it. */
static void end_probe(struct prober *prober)
{
	prober->step = IDLE;
	prober->next_us = prober->began_us +
			  probe_pause_us(interval_us(prober), prober->found, prober->in_row);
	buf_free(&prober->message);
	free(TAKE_PTR(prober->recipient));
}

/*
 * Reading.
 */

static void add_time(struct buf *stamp, const char *path)
{
	struct stat status;

	if (path && stat(path, &status) == 0)
		buf_printf(stamp, "%llu %lld.%09ld ", (unsigned long long)status.st_ino,
			(long long)status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

/* True if Postfix was restarted or reloaded, its settings changed, or the
 * milter's socket was made anew. */
static bool has_changed(struct prober *prober)
{
	const struct worker *worker = prober->worker;
	_cleanup_buf_ struct buf stamp = BUF_INIT;
	const char *socket = worker->conf->milter.socket, *slash = strrchr(socket, '/');
	_cleanup_free_ char *folder = slash ? mem_dup(socket, (size_t)(slash - socket)) : NULL;
	char run[POSTFIX_RUN_SIZE];
	bool changed;

	postfix_run_name(worker->shared->run, run);
	buf_printf(&stamp, "%s ", run);
	add_time(&stamp, socket);
	add_time(&stamp, folder);
	if (prober->setup.folder) {
		_cleanup_free_ char *main_cf = mem_printf("%s/main.cf", prober->setup.folder);
		_cleanup_free_ char *master_cf = mem_printf("%s/master.cf", prober->setup.folder);

		add_time(&stamp, main_cf);
		add_time(&stamp, master_cf);
	}
	buf_printf(&stamp, "%lld", (long long)prober->reloaded_us);
	changed = strncmp(prober->stamp, buf_str(&stamp), STAMP_SIZE - 1) != 0;
	snprintf(prober->stamp, sizeof(prober->stamp), "%s", buf_str(&stamp));
	return changed;
}

/* Checks postern-events. A restart makes it unavailable for a moment, which is
 * no fault. */
static void look_at_reader(struct prober *prober, int64_t now_us)
{
	const struct worker_shared *shared = prober->worker->shared;
	_cleanup_free_ char *path = metrics_path(shared->database_path, METRICS_EVENTS);
	enum metrics_found found = metrics_read(path, METRICS_EVENTS, &prober->reader);
	enum reader_fault fault;

	if (prober->worker->conf->submission.probe_ms == 0)
		prober->mute_us = 0;
	fault = reader_judge(found, &prober->reader, prober->mute_us > 0, wall_us(prober));
	prober->reader_lives = found == METRICS_LIVE;
	/* A reader that has just started has not reached the end of the log. */
	if (prober->mute_us || prober->reader.read_to_end_us)
		probe_report_set_read(shared->probe,
			prober->mute_us ? prober->mute_us : prober->reader.read_to_end_us);
	if (fault == READER_WELL)
		prober->reader_well_us = now_us;
	if (fault == READER_WELL || now_us - prober->reader_well_us >= READER_GRACE_US)
		probe_report_set_reader(shared->probe, fault);
}

static void look_at_outbox(const struct prober *prober)
{
	const struct worker_shared *shared = prober->worker->shared;
	struct outbox_state outbox;
	char cause[ERR_TEXT_MAX];

	outbox_state_get(shared->outbox, &outbox);
	probe_report_set_fault(shared->probe, FAULT_DISK,
		outbox.disk_full ? "the disk of the store has less left than outbox.min_free" : "");
	probe_report_set_fault(shared->probe, FAULT_INODES,
		outbox.no_inodes ? "the disk of the store has no inodes left" : "");
	snprintf(cause, sizeof(cause), "the outbox is full: %s emails of %s MiB wait",
		STR_COUNT(outbox.emails, 0), STR_COUNT(outbox.bytes / (1024 * 1024), 0));
	probe_report_set_fault(shared->probe, FAULT_FULL, outbox.full ? cause : "");
	probe_report_set_fault(shared->probe, FAULT_CROWDED,
		outbox.crowded && !outbox.full
			? "an email was refused, since its company has as much in the outbox as "
			  "others leave it"
			: "");
}

/* What the log says about the probe. */
static enum probe_log_finding ask_log(const struct prober *prober, const struct probe *probe)
{
	return probe_log_judge(
		&(struct probe_log){prober->reader_lives, prober->reader.read_to_end_us,
			probe->seen_us, probe->logged_us,
			probe->through ? probe->taken_us : probe->logged_us,
			prober->reading.notes.taken_us},
		probe_patience_us(interval_us(prober)));
}

/* Checks the log for the last probe, and for the oldest one that the log has
 * not confirmed. */
static void look_at_log(struct prober *prober, const struct probe *last)
{
	enum probe_log_finding finding = ask_log(prober, last);
	const struct probe *oldest = prober->reading.has_oldest ? &prober->reading.oldest : NULL;

	prober->facts.taken = finding == PROBE_LOG_TAKEN;
	if (last->logged_us)
		prober->mute_us = 0;
	if (finding == PROBE_LOG_TAKEN || *last->refusal) {
		prober->by_log = last->through && *last->refusal;
		prober->stuck = false;
		prober->unconfirmed[0] = '\0';
		return;
	}
	if (prober->unconfirmed[0] == '\0' && last->seen_us) {
		memcpy(prober->unconfirmed, last->ticket, sizeof(prober->unconfirmed));
		oldest = last;
	}
	if (oldest == NULL)
		return;
	finding = ask_log(prober, oldest);
	if (finding == PROBE_LOG_MUTE) {
		prober->mute_us = oldest->seen_us;
		if (prober->stuck)
			prober->by_log = prober->stuck = false;
	}
	if (finding == PROBE_LOG_TAKEN) {
		prober->unconfirmed[0] = '\0';
	} else if (finding == PROBE_LOG_STUCK) {
		prober->by_log = prober->stuck = true;
		/* Or the log ended between two lines about the oldest, as on a full disk: then it
		 * does not mention the last one either. */
		if (last->seen_us && last->logged_us == 0)
			memcpy(prober->unconfirmed, last->ticket, sizeof(prober->unconfirmed));
	}
}

static int read_notes(struct store_read *read, struct db *db, struct err *err)
{
	struct reading *reading = (struct reading *)read;
	const struct prober *prober = reading->prober;
	struct probe *last = &reading->last, *oldest = &reading->oldest;
	int found = store_postfix_notes_get(db, &reading->notes, err);

	if (found == 0)
		reading->notes = (struct postfix_notes){0};
	if (found >= 0 && prober->last[0]) {
		found = store_probe_get(db, prober->last, last, err);
		reading->has_last = found > 0;
	}
	if (reading->has_last && prober->unconfirmed[0]) {
		found = store_probe_get(db, prober->unconfirmed, oldest, err);
		reading->has_oldest = found > 0;
	}
	return found < 0 ? -1 : 0;
}

/* Takes over what the milter and the log say about the last probe. */
static void on_notes_read(struct store_read *read)
{
	struct reading *reading = (struct reading *)read;
	struct prober *prober = reading->prober;
	const struct probe *last = &reading->last;

	reading->under_way = false;
	if (read->result < 0 && prober->last[0]) {
		prober->facts.store_failed = true;
		set_cause(prober, mem_strdup("nothing can be read"));
	}
	if (read->result >= 0 && reading->notes.reloaded_us)
		prober->reloaded_us = reading->notes.reloaded_us;
	if (read->result >= 0 && reading->has_last) {
		prober->facts.store_failed = false;
		prober->facts.seen = last->seen_us != 0;
		prober->changed = last->changed;
		prober->facts.changed = prober->facts.seen &&
					(last->changed == PROBE_OTHER_ID ||
						(last->changed == PROBE_OTHER_FROM &&
							!prober->setup.rewrites));
		free(prober->refusal);
		prober->refusal = mem_strdup(last->refusal);
		look_at_log(prober, last);
	}
	if (reading->has_last)
		store_probe_clear(&reading->last);
	if (reading->has_oldest)
		store_probe_clear(&reading->oldest);
	reading->has_last = reading->has_oldest = false;
	reading->done(prober);
}

/* Reads what the store says by now, and goes on with done. */
static void look_into_store(struct prober *prober, void (*done)(struct prober *prober))
{
	struct reading *reading = &prober->reading;

	reading->prober = prober;
	reading->under_way = true;
	reading->done = done;
	reading->read.read = read_notes;
	reading->read.done = on_notes_read;
	store_read_start(prober->worker, &reading->read, "");
}

/*
 * The steps.
 */

static void watch_further(struct prober *prober)
{
	prober->facts.overdue |= clock_monotonic_us() >= prober->deadline_us;
	if (prober->worker->draining || conclude_probe(prober) || prober->facts.seen)
		end_probe(prober);
}

static void watch_probe(struct prober *prober)
{
	look_into_store(prober, watch_further);
}

static void on_probe_injected(struct submission *submission, const struct inject_answer *answer)
{
	struct prober *prober = CONTAINER_OF(submission, struct prober, submission);

	if (prober->worker->draining) {
		end_probe(prober);
		return;
	}
	/* With SMTP the milter has decided by now, but the log may say more. */
	prober->facts.overdue |= answer->verdict_first && !prober->by_log;
	prober->facts.message = answer->result == INJECT_QUEUED ? PROBE_TAKEN : PROBE_NOT_TAKEN;
	if (answer->result != INJECT_QUEUED)
		set_cause(prober,
			mem_printf("%s%s",
				answer->result == INJECT_UNKNOWN ? "a submission was ended: " : "",
				answer->err->text));
	prober->step = WATCHING;
	watch_probe(prober);
}

static void write_message(struct prober *prober)
{
	_cleanup_free_ char *message_id = ticket_message_id(prober->last);

	buf_printf(&prober->message,
		TICKET_NONCE_FIELD
		": %s\n"
		"From: " TICKET_PROBE_FROM
		"@%s\n"
		"To: %s\n"
		"Subject: Postern tries whether emails go out\n"
		"Message-ID: %s\n"
		"Auto-Submitted: auto-generated\n"
		"\n"
		"Nobody should get this message: see submission.probe_interval "
		"in postern.conf(5).\n",
		prober->secrets.nonce, prober->setup.host ? prober->setup.host : "localhost",
		prober->recipient, message_id);
}

static void on_probe_added(struct task *task)
{
	struct prober *prober = CONTAINER_OF(task, struct prober, added);
	struct worker *worker = prober->worker;

	if (worker->draining) {
		end_probe(prober);
		return;
	}
	prober->facts.store_failed = prober->add_result < 0;
	if (prober->add_result < 0) {
		set_cause(prober, mem_printf("nothing can be written: %s", prober->add_err.text));
		conclude_probe(prober);
		end_probe(prober);
		return;
	}
	memcpy(prober->last, prober->secrets.ticket, SECRET_TICKET_SIZE);
	prober->recipient = ticket_address(prober->last);
	write_message(prober);
	prober->submission = (struct submission){
		.sender = "",
		.recipient = prober->recipient,
		.message = &prober->message,
		.company_id = "",
		.fresh = true,
		.done = on_probe_injected,
	};
	prober->step = SUBMITTING;
	prober->facts.message = PROBE_SENT;
	prober->deadline_us = clock_monotonic_us() + probe_patience_us(interval_us(prober));
	inject_submit(worker->inject, &prober->submission);
}

static int add_run(struct db *db, void *arg, struct err *err)
{
	struct prober *prober = arg;

	const struct worker *worker = prober->worker;

	return store_probe_add(db, clock_now_us(worker->shared->clock),
		worker->inject->ops->verdict_first ? EMAIL_WAY_SMTP : EMAIL_WAY_SENDMAIL,
		prober->through, &prober->secrets, err);
}

static void add_done(void *arg, int result, const struct err *err)
{
	struct prober *prober = arg;

	prober->add_result = result;
	if (result < 0)
		err_copy(&prober->add_err, err);
	task_queue_post(prober->worker->tasks, &prober->added);
}

/* Reads when the newest email or probe was written. */
static int read_newest(struct db *db, int64_t *newest_us_r, struct err *err)
{
	int64_t email_us = 0, probe_us = 0;

	if (migrate_check(db, err) < 0 || store_email_newest(db, &email_us, err) < 0 ||
		store_probe_newest(db, &probe_us, err) < 0)
		return -1;
	*newest_us_r = email_us > probe_us ? email_us : probe_us;
	return 0;
}

/* Reads the newest emails, and counts those that should have gone out by now. */
static void look_at_emails(struct look *look)
{
	const struct worker_shared *shared = look->prober->worker->shared;
	int64_t now_us = clock_now_us(shared->clock);
	struct err *err = &look->store_err;
	struct db *db;
	int result;

	look->waiting = (struct email_waiting){0};
	look->store_result = db_pool_take(shared->readers, &db, err);
	if (look->store_result < 0)
		return;
	look->store_result = read_newest(db, &look->newest_us, err);
	result = store_email_waiting(
		db, NULL, now_us - EMAIL_LATE_S * SECOND_US, now_us, &look->waiting, NULL);
	db_pool_give(shared->readers, db, look->store_result == 0 && result == 0);
}

static int read_setup(const char *config, const char *socket, const char *internal_hosts,
	struct postfix_setup *setup_r)
{
	_cleanup_free_ char *ticket = ticket_address("0123456789abcdef0123456789abcdef");
	const struct postfix_setup_ours ours = {config, socket, internal_hosts, ticket};

	return postfix_setup_read(&ours, setup_r, NULL);
}

bool prober_tickets_leave(const struct conf *conf)
{
	struct postfix_setup setup;
	bool leave;

	if (read_setup(conf->submission.postfix_config, conf->milter.socket,
		    conf->milter.internal_hosts, &setup) < 0)
		return false;
	leave = setup.tickets_leave && lacks_list(conf->submission.method, &setup);
	postfix_setup_clear(&setup);
	return leave;
}

/* Emails are withheld before the milter is greeted, which may take GREET_MS. */
static bool look_run(struct work *work)
{
	struct look *look = CONTAINER_OF(work, struct look, work);

	look->known = look->config && read_setup(look->config, look->socket, look->internal_hosts,
					      &look->setup) == 0;
	if (look->known && look->setup.tickets_leave && lacks_list(look->method, &look->setup))
		outbox_withhold(look->prober->worker->shared->outbox, true);
	look->milter = milter_greet(look->socket, GREET_MS);
	look_at_emails(look);
	return true;
}

/* Checks what no message shows: the clock, the order of milters, whether
 * Postfix accepts messages as large as clients are told, and whether the newest
 * emails can be read. */
static void look_around(struct prober *prober)
{
	const struct worker *worker = prober->worker;
	int64_t most = worker->conf->http.max_message_bytes;
	int64_t limit = prober->setup.message_bytes;
	const struct look *look = &prober->look;
	char cause[ERR_TEXT_MAX] = "";

	if (worker->postfix_limit > 0 && worker->postfix_limit < most)
		most = worker->postfix_limit;
	probe_report_set_order(worker->shared->probe, prober->setup.order);
	if (limit > 0 && limit < most)
		snprintf(cause, sizeof(cause),
			"Postfix takes messages of %lld bytes at most by now "
			"(message_size_limit), and postern-httpd larger ones",
			(long long)limit);
	probe_report_set_fault(worker->shared->probe, FAULT_SIZE, cause);
	prober->facts.store_failed = look->store_result < 0;
	if (look->store_result < 0)
		set_cause(prober, mem_printf("emails cannot be read: %s", look->store_err.text));
	else
		prober->behind_us = look->newest_us - wall_us(prober);
	prober->facts.clock_behind = look->store_result == 0 && prober->behind_us > CLOCK_BEHIND_US;
}

/* Why the milter does not answer; a new string. The daemons run as one user,
 * who must own the folder of the socket. */
static char *cause_silent(const char *socket, int milter)
{
	const char *slash = strrchr(socket, '/');
	_cleanup_free_ char *folder = mem_dup(socket, slash ? (size_t)(slash - socket) : 0);
	struct stat status;

	if (milter == ENOENT && *folder && stat(folder, &status) == 0 && status.st_uid != geteuid())
		return mem_printf(
			"postern-milter does not answer at %s: there is no socket, and its folder "
			"is not that of the user of the daemons, so it cannot make one "
			"(postern doctor --fix mends that)",
			socket);
	return mem_printf("postern-milter does not answer at %s: %s", socket,
		milter == ETIMEDOUT ? "it accepts connections, and says nothing"
				    : strerror(milter));
}

/* EACCES is no fault: Postfix may be allowed to open a socket that this user
 * may not. */
static void on_looked(struct task *task)
{
	struct look *look = CONTAINER_OF(task, struct look, work.done);
	struct prober *prober = look->prober;
	const struct worker *worker = prober->worker;
	struct probe_facts *facts = &prober->facts;
	int64_t waiting = look->waiting.staged;
	char cause[ERR_TEXT_MAX] = "";

	if (look->known) {
		postfix_setup_clear(&prober->setup);
		prober->setup = look->setup;
		postfix_run_watch(worker->shared->run, prober->setup.queue);
		if (!prober->learnt) /* now it is known which files to watch */
			has_changed(prober);
		prober->learnt = true;
		prober->stale = false;
		withhold_emails(prober);
	}
	free(look->socket);
	free(look->config);
	free(look->internal_hosts);
	if (worker->draining) {
		end_probe(prober);
		return;
	}
	facts->postfix_over = postfix_run_is_over(worker->shared->run);
	facts->milter_silent = look->milter && look->milter != EACCES && look->milter != EMFILE &&
			       look->milter != ENFILE;
	facts->blamed = lacks_own_list(prober) &&
			(prober->setup.tickets_leave ||
				(prober->found == PROBE_UNASKED &&
					!others_since(prober, prober->unasked_us)));
	if (waiting > 0)
		snprintf(cause, sizeof(cause), "%s email%s wait%s for postern-milter",
			STR_COUNT(waiting, EMAIL_WAITING_MAX), waiting == 1 ? "" : "s",
			waiting == 1 ? "s" : "");
	probe_report_set_fault(worker->shared->probe, FAULT_LATE, cause);
	if (facts->milter_silent)
		set_cause(prober, cause_silent(worker->conf->milter.socket, look->milter));
	else
		look_around(prober);
	if (conclude_probe(prober)) {
		end_probe(prober);
		return;
	}
	/* With a rule that adds recipients or holds messages, a probe that
	 * passes would stay in the queue. */
	prober->through = prober->learnt && !prober->setup.changes;
	prober->step = ADDING;
	prober->deadline_us = clock_monotonic_us() + probe_patience_us(interval_us(prober));
	prober->job = (struct commit_job){
		.run = add_run,
		.done = add_done,
		.arg = prober,
		.lazy = true,
	};
	committer_submit(worker->shared->committer, &prober->job);
}

static void begin_probe(struct prober *prober, int64_t now_us)
{
	const struct worker *worker = prober->worker;

	prober->began_us = now_us;
	prober->told = false;
	prober->facts = (struct probe_facts){0};
	prober->last[0] = '\0';
	free(TAKE_PTR(prober->refusal));
	prober->step = LOOKING;
	prober->look = (struct look){
		.work.done.run = on_looked,
		.work.tasks = worker->tasks,
		.work.company_id = "",
		.work.run = look_run,
		.prober = prober,
		.socket = mem_strdup(worker->conf->milter.socket),
		.config = prober->stale ? mem_strdup(worker->conf->submission.postfix_config)
					: NULL,
		.internal_hosts = mem_strdup(worker->conf->milter.internal_hosts),
		.method = worker->conf->submission.method,
	};
	work_pool_submit(worker->shared->pool, &prober->look.work);
}

/* The milter may be asked late, and the log is behind. */
static void look_further(struct prober *prober)
{
	int64_t now_us = clock_monotonic_us();
	bool changed;

	if (prober->worker->draining)
		return;
	if (prober->last[0])
		conclude_probe(prober);
	changed = has_changed(prober);
	prober->stale |= changed;
	if (changed)
		prober->in_row = 0;
	if (changed || now_us >= prober->next_us ||
		(prober->found == PROBE_UNASKED && others_since(prober, prober->unasked_us)))
		begin_probe(prober, now_us);
}

static void look_while_idle(struct prober *prober, int64_t now_us)
{
	const struct worker *worker = prober->worker;

	if (worker->draining || worker->database_watch.gone || now_us - prober->looked_us < LOOK_US)
		return;
	prober->looked_us = now_us;
	if (worker->conf->submission.probe_ms == 0) {
		outbox_withhold(worker->shared->outbox, false);
		return;
	}
	look_into_store(prober, look_further);
}

void prober_look(struct prober *prober)
{
	int64_t now_us = clock_monotonic_us();
	bool late = now_us >= prober->deadline_us;

	if (now_us - prober->reader_looked_us >= LOOK_US) {
		prober->reader_looked_us = now_us;
		look_at_reader(prober, now_us);
		look_at_outbox(prober);
	}
	if (prober->reading.under_way)
		return;
	switch (prober->step) {
	case IDLE:
		look_while_idle(prober, now_us);
		break;
	case LOOKING: /* has its own timeouts */
		break;
	case ADDING:
		prober->facts.store_failed = late;
		if (late && !prober->told) {
			set_cause(prober, mem_strdup("nothing was written in time"));
			conclude_probe(prober);
		}
		break;
	case SUBMITTING:
		prober->facts.overdue |= late;
		if (late && !prober->told)
			conclude_probe(prober);
		break;
	case WATCHING:
		if (prober->worker->draining)
			end_probe(prober);
		else
			watch_probe(prober);
		break;
	}
}

bool prober_is_idle(const struct prober *prober)
{
	return prober == NULL || (prober->step == IDLE && !prober->reading.under_way);
}

struct prober *prober_new(struct worker *worker)
{
	struct prober *prober = mem_new(struct prober);

	prober->worker = worker;
	prober->stale = true;
	prober->reader_well_us = clock_monotonic_us();
	prober->added.run = on_probe_added;
	return prober;
}

void prober_free(struct prober *prober)
{
	if (prober == NULL)
		return;
	assert(prober_is_idle(prober));
	postfix_setup_clear(&prober->setup);
	free(prober->refusal);
	free(prober->cause);
	free(prober);
}
