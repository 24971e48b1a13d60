/*
 * prober: tries by itself whether emails go out.
 *
 * Threads: the worker's. What blocks is done in the pool (look_run), the ticket
 * is added by the committer; both come back as tasks. The report has a mutex.
 */
#include "httpd/send/prober.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/mem.h"
#include "core/base/str.h"
#include "core/conf/conf.h"
#include "core/db/committer.h"
#include "core/policy/ticket.h"
#include "core/postfix/milter_greet.h"
#include "core/postfix/postconf.h"
#include "core/postfix/postfix_run.h"
#include "core/store/store_probe.h"
#include "httpd/inject/inject.h"
#include "httpd/worker/task_queue.h"
#include "httpd/worker/work_pool.h"
#include "httpd/worker/worker.h"

enum {
	GREET_MS = 10 * 1000,
	IDLE_LOOK_US = 1000 * 1000,
	/* Of what is put off, pickup(8) tries the maildrop once a minute. */
	PUT_OFF_US = 90 * 1000 * 1000,
	STAMP_SIZE = 320,
};

/*
 * The report.
 */

struct probe_report {
	struct log *log;
	pthread_mutex_t mutex; /* of the outcome */
	struct probe_outcome outcome;
	_Atomic int64_t recorded_us; /* monotonic */
};

/* For people, in words that hold for each cause of the finding. */
static const struct {
	bool good;
	const char *words;
	const char *effect;
	const char *hint;
} findings[PROBE_FINDINGS] = {
	[PROBE_NONE] = {.good = true, .words = "emails were not tried yet"},
	[PROBE_PASSED] = {.good = true, .words = "emails go out"},
	[PROBE_STORE] = {false, "the store cannot be written", "emails are answered with 503",
		"make room on its disk, or mend the rights of its files"},
	[PROBE_POSTFIX] = {false, "Postfix is not running", "emails wait, or are answered with 503",
		"start Postfix"},
	[PROBE_MILTER] = {false, "postern-milter does not answer",
		"all mail waits, or is put off by Postfix", "start postern-milter, or restart it"},
	[PROBE_REFUSED] = {false, "Postfix takes no email", "emails are answered with an error",
		"run postfix-conf/check"},
	[PROBE_UNANSWERED] = {false, "Postfix does not answer in time",
		"emails are answered late, or with 503",
		"run postfix-conf/check, and look into Postfix's log"},
	[PROBE_UNASKED] = {false, "Postfix does not ask postern-milter",
		"emails wait in Postfix, unrecorded; mail of other programs may pass unchecked",
		"run postfix-conf/check, which names the cause; then postfix reload, and postern "
		"held release --waiting"},
	[PROBE_PUT_OFF] = {false, "another milter puts all mail off", "emails wait in Postfix",
		"see Postfix's log for milter-reject, and mend the milter that it names"},
	[PROBE_UNCHECKED] = {false, "some mail is not checked by the rules",
		"emails of clients go out; mail of other programs passes unchecked and unrecorded",
		"run postfix-conf/enable, then postfix reload"},
};

struct probe_report *probe_report_new(struct log *log)
{
	struct probe_report *report = mem_new(struct probe_report);

	report->log = log;
	pthread_mutex_init(&report->mutex, NULL);
	return report;
}

void probe_report_free(struct probe_report *report)
{
	if (report == NULL)
		return;
	pthread_mutex_destroy(&report->mutex);
	free(report);
}

void probe_report_get(struct probe_report *report, struct probe_outcome *outcome_r)
{
	pthread_mutex_lock(&report->mutex);
	*outcome_r = report->outcome;
	pthread_mutex_unlock(&report->mutex);
}

bool probe_is_good(enum probe_finding finding)
{
	return findings[finding].good;
}

const char *probe_finding_words(enum probe_finding finding)
{
	return findings[finding].words;
}

const char *probe_finding_hint(enum probe_finding finding)
{
	return findings[finding].hint;
}

void probe_report_set(
	struct probe_report *report, enum probe_finding finding, const char *cause, int64_t now_us)
{
	struct probe_outcome *outcome = &report->outcome;
	enum probe_finding before;

	pthread_mutex_lock(&report->mutex);
	before = outcome->finding;
	if (finding != before)
		outcome->since_us = now_us;
	outcome->finding = finding;
	outcome->at_us = now_us;
	snprintf(outcome->cause, sizeof(outcome->cause), "%s", cause);
	pthread_mutex_unlock(&report->mutex);
	if (finding == before)
		return;
	if (!findings[finding].good)
		log_error(report->log, "probe_failed", "cause", cause, "effect",
			findings[finding].effect, "hint", findings[finding].hint);
	else if (!findings[before].good)
		log_info(report->log, "probe_passed", "over", findings[before].words);
}

void probe_report_recorded(struct probe_report *report)
{
	if (report)
		atomic_store_explicit(
			&report->recorded_us, clock_monotonic_us(), memory_order_relaxed);
}

/*
 * The prober.
 */

enum step { IDLE, LOOKING, ADDING, SUBMITTING, WATCHING };

/* What the pool finds out; its thread's from submit to done. */
struct look {
	struct work work; /* first */
	struct prober *prober;
	char *socket; /* of the milter */
	char *config; /* of Postfix; NULL: main.cf is not to be read */
	int milter;   /* 0, or an errno */
	bool known;   /* what follows, unless Postfix could not be asked */
	char *folder; /* of main.cf */
	char *host;
	char *queue;
	bool changes;    /* a rule of main.cf may add a recipient, or hold mail */
	char *unchecked; /* the list without the milter; NULL: none */
};

struct sent {
	char ticket[SECRET_TICKET_SIZE]; /* "": none was sent */
	int64_t seen_us;                 /* 0: the milter was not asked yet */
};

struct prober {
	struct worker *worker;
	enum step step;
	int64_t next_us;     /* monotonic, as all here: no probe before */
	int64_t looked_us;   /* while idle */
	int64_t began_us;    /* the probe that is under way, or the last one */
	int64_t deadline_us; /* of that one */
	bool told;           /* its outcome */
	char stamp[STAMP_SIZE];
	unsigned unasked; /* probes in a row of which the milter was not asked; */
	unsigned refused; /* which were refused */

	/* What main.cf says. */
	bool stale; /* it is to be read again */
	bool learnt;
	char *folder;
	char *host;
	bool changes;
	char *unchecked;

	struct look look;
	struct commit_job job;
	struct task added;
	bool through;                    /* as in struct probe */
	char ticket[SECRET_TICKET_SIZE]; /* the committer's until it is added */
	int add_result;
	struct err add_err;
	struct sent last, before; /* the last message, and the one before */
	char *recipient;
	struct buf message;
	struct submission submission;
};

static struct probe_report *report_of(const struct prober *prober)
{
	return prober->worker->shared->probe;
}

/* The probe is told of; it may still be under way. */
static void tell(struct prober *prober, enum probe_finding finding, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void tell(struct prober *prober, enum probe_finding finding, const char *format, ...)
{
	char cause[ERR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(cause, sizeof(cause), format, args);
	va_end(args);
	prober->told = true;
	probe_report_set(
		report_of(prober), finding, cause, clock_now_us(prober->worker->shared->clock));
}

static void add_time(struct buf *stamp, const char *folder, const char *name)
{
	_cleanup_free_ char *path = mem_printf("%s/%s", folder, name);
	struct stat status;

	if (stat(path, &status) == 0)
		buf_printf(stamp, "%lld.%09ld ", (long long)status.st_ctim.tv_sec,
			status.st_ctim.tv_nsec);
}

/* Which run of Postfix it is, with which settings, and which socket of the
 * milter: whether that has changed. */
static bool has_changed(struct prober *prober)
{
	const struct worker *worker = prober->worker;
	_cleanup_buf_ struct buf stamp = BUF_INIT;
	char run[POSTFIX_RUN_SIZE];
	struct stat status;
	bool changed;

	postfix_run_name(worker->shared->run, run);
	buf_printf(&stamp, "%s ", run);
	if (stat(worker->conf->milter.socket, &status) == 0)
		buf_printf(&stamp, "%llu %lld.%09ld ", (unsigned long long)status.st_ino,
			(long long)status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
	if (prober->folder) {
		add_time(&stamp, prober->folder, "main.cf");
		add_time(&stamp, prober->folder, "master.cf");
	}
	changed = strncmp(prober->stamp, buf_str(&stamp), STAMP_SIZE - 1) != 0;
	snprintf(prober->stamp, sizeof(prober->stamp), "%s", buf_str(&stamp));
	return changed;
}

/* The end of a probe, of which was told. */
static void rest(struct prober *prober)
{
	int64_t interval_us = prober->worker->conf->submission.probe_ms * 1000;
	unsigned most = prober->unasked ? PROBER_SLOWEST : PROBER_SLOWER;
	int64_t slower = 1;

	for (unsigned i = 1; i < prober->unasked + prober->refused; i++)
		slower = slower * 2 < most ? slower * 2 : most;
	prober->step = IDLE;
	prober->next_us = prober->began_us + interval_us * slower;
	buf_free(&prober->message);
	free(TAKE_PTR(prober->recipient));
}

static void pass(struct prober *prober)
{
	prober->unasked = prober->refused = 0;
	if (prober->unchecked)
		tell(prober, PROBE_UNCHECKED, "%s in main.cf lacks postern-milter",
			prober->unchecked);
	else
		tell(prober, PROBE_PASSED, "%s", "");
}

/* Whether the milter was asked about the message, or was asked again: 1, 0, or
 * -1 when that cannot be read. */
static int is_seen(struct prober *prober, struct sent *sent)
{
	struct probe probe;
	bool seen;
	int found = 0;

	if (sent->ticket[0])
		found = store_probe_get(prober->worker->db, sent->ticket, &probe, NULL);
	if (found <= 0)
		return found;
	seen = probe.seen_us > sent->seen_us;
	sent->seen_us = probe.seen_us;
	store_probe_clear(&probe);
	return seen;
}

/* An email that went after the probe was recorded: the milter is asked, and the
 * probe waits behind others. */
static bool others_were_recorded(const struct prober *prober)
{
	return atomic_load_explicit(&report_of(prober)->recorded_us, memory_order_relaxed) >
	       prober->began_us;
}

static void tell_unasked(struct prober *prober)
{
	const struct conf *conf = prober->worker->conf;

	prober->unasked++;
	prober->refused = 0;
	if (postfix_run_is_over(prober->worker->shared->run))
		tell(prober, PROBE_POSTFIX, "Postfix is not running");
	else if (conf->submission.method == SUBMISSION_SMTP)
		tell(prober, PROBE_UNASKED,
			"the smtpd at %s takes mail without asking postern-milter (smtpd_milters)",
			conf->submission.smtp_server);
	else
		tell(prober, PROBE_UNASKED,
			"Postfix took a message, and did not ask postern-milter about it: "
			"non_smtpd_milters lacks it, or Postfix was not reloaded since; or it "
			"cannot reach the socket, another milter in front puts mail off, or pickup "
			"does not run");
}

static void watch(struct prober *prober)
{
	int seen = is_seen(prober, &prober->last);

	if (seen <= 0 && !others_were_recorded(prober) &&
		clock_monotonic_us() < prober->deadline_us)
		return;
	if (seen > 0 || others_were_recorded(prober))
		pass(prober);
	else if (seen < 0)
		tell(prober, PROBE_STORE, "nothing can be read");
	else
		tell_unasked(prober);
	rest(prober);
}

static void on_probe_injected(struct submission *submission, const struct inject_answer *answer)
{
	struct prober *prober = CONTAINER_OF(submission, struct prober, submission);
	bool seen;

	if (prober->worker->draining) {
		rest(prober);
		return;
	}
	if (answer->result == INJECT_QUEUED) {
		prober->step = WATCHING;
		/* By SMTP the milter has spoken by now. */
		if (answer->verdict_first)
			prober->deadline_us = 0;
		watch(prober);
		return;
	}
	seen = answer->verdict_first && is_seen(prober, &prober->last) > 0;
	prober->unasked = 0;
	prober->refused++;
	tell(prober, PROBE_REFUSED, "%s%s%s",
		seen ? "what postern-milter lets pass is refused behind it: " : "",
		answer->result == INJECT_UNKNOWN && !seen ? "a submission was ended: " : "",
		answer->err->text);
	rest(prober);
}

static void write_message(struct prober *prober)
{
	buf_printf(&prober->message,
		"From: postern-probe@%s\n"
		"To: %s\n"
		"Subject: Postern tries whether emails go out\n"
		"Auto-Submitted: auto-generated\n"
		"\n"
		"Nobody should get this message: see submission.probe_interval "
		"in postern.conf(5).\n",
		prober->host ? prober->host : "localhost", prober->recipient);
}

static void on_probe_added(struct task *task)
{
	struct prober *prober = CONTAINER_OF(task, struct prober, added);
	struct worker *worker = prober->worker;

	if (worker->draining) {
		rest(prober);
		return;
	}
	if (prober->add_result < 0) {
		tell(prober, PROBE_STORE, "nothing can be written: %s", prober->add_err.text);
		rest(prober);
		return;
	}
	prober->before = prober->last;
	prober->last.seen_us = 0;
	memcpy(prober->last.ticket, prober->ticket, SECRET_TICKET_SIZE);
	prober->recipient = ticket_address(prober->ticket);
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
	inject_submit(worker->inject, &prober->submission);
}

static int add_run(struct db *db, void *arg, struct err *err)
{
	struct prober *prober = arg;

	return store_probe_add(db, clock_now_us(prober->worker->shared->clock), prober->through,
		prober->ticket, err);
}

static void add_done(void *arg, int result, const struct err *err)
{
	struct prober *prober = arg;

	prober->add_result = result;
	if (result < 0)
		err_copy(&prober->add_err, err);
	task_queue_post(prober->worker->tasks, &prober->added);
}

static void look_clear(struct look *look)
{
	free(look->socket);
	free(look->config);
	free(look->folder);
	free(look->host);
	free(look->queue);
	free(look->unchecked);
}

/* Whether a list of milters has ours. Postfix names the socket by its whole
 * path or from the queue folder on: the last two names are in both. */
static bool lists_milter(const char *list, const char *socket)
{
	const char *tail = strrchr(socket, '/');

	while (tail && tail > socket && tail[-1] != '/')
		tail--;
	return strstr(list, tail ? tail : socket) != NULL;
}

static void read_main_cf(struct look *look)
{
	enum { FOLDER, HOST, QUEUE, SMTPD, LOCAL, BCC, SENDER_BCC, RCPT_BCC, HEADER, BODY, N };
	static const char *const names[N] = {
		[FOLDER] = "config_directory",
		[HOST] = "myhostname",
		[QUEUE] = "queue_directory",
		[SMTPD] = "smtpd_milters",
		[LOCAL] = "non_smtpd_milters",
		[BCC] = "always_bcc",
		[SENDER_BCC] = "sender_bcc_maps",
		[RCPT_BCC] = "recipient_bcc_maps",
		[HEADER] = "header_checks",
		[BODY] = "body_checks",
	};
	char *values[N];

	if (postconf_read(look->config, names, N, values, NULL) < 0)
		return;
	look->known = true;
	look->folder = TAKE_PTR(values[FOLDER]);
	look->host = TAKE_PTR(values[HOST]);
	look->queue = TAKE_PTR(values[QUEUE]);
	for (size_t i = BCC; i <= BODY; i++)
		look->changes |= *values[i] != '\0';
	for (size_t i = SMTPD; i <= LOCAL && look->unchecked == NULL; i++)
		if (!lists_milter(values[i], look->socket))
			look->unchecked = mem_strdup(names[i]);
	for (size_t i = 0; i < N; i++)
		free(values[i]);
}

static bool look_run(struct work *work)
{
	struct look *look = CONTAINER_OF(work, struct look, work);

	look->milter = milter_greet(look->socket, GREET_MS);
	if (look->config)
		read_main_cf(look);
	return true;
}

static void learn(struct prober *prober, struct look *look)
{
	if (!look->known)
		return;
	free(prober->folder);
	free(prober->host);
	free(prober->unchecked);
	prober->folder = TAKE_PTR(look->folder);
	prober->host = TAKE_PTR(look->host);
	prober->unchecked = TAKE_PTR(look->unchecked);
	prober->changes = look->changes;
	postfix_run_watch(prober->worker->shared->run, look->queue);
	if (!prober->learnt) /* which files it is about is known now */
		has_changed(prober);
	prober->learnt = true;
	prober->stale = false;
}

/* A socket that this user may not open may be open to Postfix. */
static void on_looked(struct task *task)
{
	struct look *look = CONTAINER_OF(task, struct look, work.done);
	struct prober *prober = look->prober;
	const struct worker *worker = prober->worker;
	int milter = look->milter;

	learn(prober, look);
	look_clear(look);
	if (worker->draining) {
		rest(prober);
	} else if (postfix_run_is_over(worker->shared->run)) {
		tell(prober, PROBE_POSTFIX, "Postfix is not running");
		rest(prober);
	} else if (milter && milter != EACCES) {
		tell(prober, PROBE_MILTER, "postern-milter does not answer at %s: %s",
			worker->conf->milter.socket,
			milter == ETIMEDOUT ? "it accepts connections, and says nothing"
					    : strerror(milter));
		rest(prober);
	} else {
		/* What a rule adds a recipient to, or holds, would stay. */
		prober->through = prober->learnt && !prober->changes;
		prober->step = ADDING;
		prober->job = (struct commit_job){
			.run = add_run,
			.done = add_done,
			.arg = prober,
			.lazy = true,
		};
		committer_submit(worker->shared->committer, &prober->job);
	}
}

static void begin(struct prober *prober, int64_t now_us)
{
	const struct worker *worker = prober->worker;
	int64_t patience_ms = worker->conf->submission.probe_ms * 2 / 3;

	if (patience_ms < PROBER_PATIENCE_MS)
		patience_ms = PROBER_PATIENCE_MS;
	prober->began_us = now_us;
	prober->deadline_us = now_us + patience_ms * 1000;
	prober->told = false;
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
	};
	work_pool_submit(worker->shared->pool, &prober->look.work);
}

/* What became of the last probe since: the milter may be asked about it late,
 * or again, when another one has put it off. */
static void look_back(struct prober *prober, int64_t now_us)
{
	bool late = prober->last.seen_us == 0;
	bool again = prober->before.seen_us != 0;

	again = is_seen(prober, &prober->before) > 0 && again;
	if (is_seen(prober, &prober->last) > 0) {
		if (late)
			pass(prober);
		else
			again = true;
	}
	if (!again)
		return;
	tell(prober, PROBE_PUT_OFF,
		"what postern-milter lets pass is put off by another milter behind it");
	prober->next_us = now_us + PUT_OFF_US;
}

static void look_while_idle(struct prober *prober, int64_t now_us)
{
	const struct worker *worker = prober->worker;

	if (worker->draining || worker->database_watch.gone ||
		now_us - prober->looked_us < IDLE_LOOK_US)
		return;
	prober->looked_us = now_us;
	if (worker->conf->submission.probe_ms == 0)
		return;
	look_back(prober, now_us);
	if (has_changed(prober)) {
		prober->stale = true;
		prober->unasked = prober->refused = 0;
		prober->next_us = now_us;
	}
	if (prober->unasked + prober->refused && others_were_recorded(prober))
		prober->next_us = now_us;
	if (now_us >= prober->next_us)
		begin(prober, now_us);
}

void prober_look(struct prober *prober)
{
	int64_t now_us = clock_monotonic_us();

	if (prober->step == IDLE)
		look_while_idle(prober, now_us);
	else if (prober->step == WATCHING && prober->worker->draining)
		rest(prober);
	else if (prober->step == WATCHING)
		watch(prober);
	else if (!prober->told && now_us >= prober->deadline_us)
		tell(prober, PROBE_UNANSWERED, "no answer to a submission in %d s",
			(int)((now_us - prober->began_us) / SECOND_US));
}

bool prober_is_idle(const struct prober *prober)
{
	return prober == NULL || prober->step == IDLE;
}

struct prober *prober_new(struct worker *worker)
{
	struct prober *prober = mem_new(struct prober);

	prober->worker = worker;
	prober->stale = true;
	prober->added.run = on_probe_added;
	return prober;
}

void prober_free(struct prober *prober)
{
	if (prober == NULL)
		return;
	assert(prober->step == IDLE);
	free(prober->folder);
	free(prober->host);
	free(prober->unchecked);
	free(prober);
}
