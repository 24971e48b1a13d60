/*
 * prober: tries by itself whether emails go out.
 *
 * Now and then (submission.probe_interval) a message goes into Postfix by the
 * way that emails go, to a ticket of no email (store_probe). The milter notes
 * that it was asked, and nobody gets the message. So a fault that stops emails,
 * or takes the rules out of force, is known before a client meets it. A probe
 * is sent at once when Postfix was started, main.cf or master.cf were changed,
 * or the milter's socket was made anew.
 *
 *   look (pool)      does Postfix run, does the milter answer? what does
 * main.cf say? Where that says enough nothing is submitted, so that nothing
 * waits in the maildrop add (committer)  the ticket submit           the
 * message watch            until the milter was asked, or the time is up
 *
 * One probe is under way at a time. A message that Postfix took without asking
 * the milter stays in its queue until it expires, which only root could change:
 * then probes become rarer, up to PROBER_SLOWEST times. Of some that it refuses
 * Postfix tells its postmaster (notify_classes): up to PROBER_SLOWER times.
 */
#ifndef POSTERN_HTTPD_SEND_PROBER_H
#define POSTERN_HTTPD_SEND_PROBER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"

struct log;
struct worker;

enum {
	/* How long a probe may take: two thirds of the interval, at least. */
	PROBER_PATIENCE_MS = 5 * 1000,
	/* So many intervals at most are between two probes. */
	PROBER_SLOWEST = 20,
	PROBER_SLOWER = 4,
};

enum probe_finding {
	PROBE_NONE,       /* there was no probe yet */
	PROBE_PASSED,     /* emails go out, and the rules are in force */
	PROBE_STORE,      /* the store cannot be written */
	PROBE_POSTFIX,    /* Postfix is not running */
	PROBE_MILTER,     /* the milter does not answer */
	PROBE_REFUSED,    /* Postfix, or another milter, takes no email */
	PROBE_UNANSWERED, /* Postfix does not answer in time */
	PROBE_UNASKED,    /* Postfix took it, and did not ask the milter */
	PROBE_PUT_OFF,    /* another milter, behind ours, puts mail off */
	PROBE_UNCHECKED,  /* emails go out, but mail of others is not checked */
	PROBE_FINDINGS
};

struct probe_outcome {
	enum probe_finding finding;
	int64_t since_us;         /* since when it is so */
	int64_t at_us;            /* of the last probe that found it */
	char cause[ERR_TEXT_MAX]; /* in words; "" while nothing is wrong */
};

/* The outcome of the last probe, for all threads. */
struct probe_report;

struct probe_report *probe_report_new(struct log *log);
void probe_report_free(struct probe_report *report);
void probe_report_get(struct probe_report *report, struct probe_outcome *outcome_r);
/* Whether there is nothing wrong, as far as is known. */
bool probe_is_good(enum probe_finding finding);
/* The same as the cause, without names of this host; for anybody. */
const char *probe_finding_words(enum probe_finding finding);
/* What an admin does about it; NULL for nothing. */
const char *probe_finding_hint(enum probe_finding finding);

/* A new outcome; what has changed is logged, once. */
void probe_report_set(
	struct probe_report *report, enum probe_finding finding, const char *cause, int64_t now_us);

/* The milter has recorded an email: so it is asked. Cheap; from any thread. */
void probe_report_recorded(struct probe_report *report);

/* Of one worker, by whose injector it submits; on its thread. */
struct prober *prober_new(struct worker *worker);
/* It is idle. NULL is fine. */
void prober_free(struct prober *prober);

/* To be called often: begins what is due, and looks at what is under way. */
void prober_look(struct prober *prober);
/* Nothing is under way, nor will be begun once the worker drains. NULL is. */
bool prober_is_idle(const struct prober *prober);

#endif
