/*
 * probe_report: what probes found: what it means, for whom, and when the next
 * one is due. The rules are pure functions; the outcome of the last probe is
 * in one place, from which the log, /readyz, the overview and the metrics
 * follow.
 */
#ifndef POSTERN_HTTPD_SEND_PROBE_REPORT_H
#define POSTERN_HTTPD_SEND_PROBE_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/metrics/metrics.h"

struct log;

enum probe_finding {
	PROBE_NONE,       /* there was no probe yet; or it is not known yet */
	PROBE_PASSED,     /* emails go out, and the rules are in force */
	PROBE_STORE,      /* the store cannot be read or written */
	PROBE_POSTFIX,    /* Postfix is not running */
	PROBE_MILTER,     /* the milter does not answer */
	PROBE_BYPASSED,   /* likewise, and mail is not put off meanwhile */
	PROBE_REFUSED,    /* Postfix, or another milter, takes no email */
	PROBE_PUT_OFF,    /* another milter, or a rule, puts them off or holds them */
	PROBE_UNANSWERED, /* Postfix does not answer in time */
	PROBE_UNASKED,    /* Postfix took it, and did not ask the milter */
	PROBE_CHANGED,    /* the milter got it with another Message-ID or From */
	PROBE_STUCK,      /* the queue manager does not take it */
	PROBE_UNCHECKED,  /* emails go out, but mail of others is not checked */
	PROBE_UNGUARDED,  /* all is well until the milter is away */
	PROBE_CLOCK,      /* the clock was put back */
	PROBE_FINDINGS
};

/* What is known of a probe, and of what it goes through. */
struct probe_facts {
	/* Of the look before it. */
	bool postfix_over;  /* Postfix does not run */
	bool milter_silent; /* the milter does not answer, and not for want of rights */
	bool store_failed;
	bool blamed; /* the last one was unasked, and main.cf says why */

	/* Of the message. */
	enum { PROBE_UNSENT, PROBE_SENT, PROBE_TAKEN, PROBE_NOT_TAKEN } message;
	bool overdue;        /* the time for an answer is up */
	bool seen;           /* the milter was asked about it, */
	bool others_seen;    /* or about an email that went after it */
	bool changed;        /* it got another Message-ID or From */
	const char *refusal; /* how it was stopped, in the log's words; NULL, "" */

	/* Of the log: what it tells is waited for, and was told. */
	bool wait_for_log;
	bool taken;
	bool stuck;

	/* Of Postfix's settings and the clock. */
	bool unchecked;
	bool unguarded;
	bool clock_behind;
};

/* What that means; PROBE_NONE while more is to come. */
enum probe_finding probe_judge(const struct probe_facts *facts);

/* How long one waits for the milter, and for the log. */
int64_t probe_patience_us(int64_t interval_us);

/* How long after the begin of a probe the next one begins. in_row: how many
 * in a row found the same. A message that Postfix took without asking the
 * milter stays until it expires, which only root could change, and of some that
 * it refuses Postfix tells its postmaster (notify_classes): so these become
 * rarer, but not by much, since what was mended is to be noticed. */
int64_t probe_pause_us(int64_t interval_us, enum probe_finding finding, unsigned in_row);

/* What the log has told of a message that the milter let through. */
struct probe_log {
	bool alive; /* postern-events runs */
	int64_t read_to_end_us;
	int64_t seen_us;   /* the milter saw it */
	int64_t logged_us; /* 0: the log has not told of it; */
	int64_t taken_us;  /* nor that the queue manager took it, */
	int64_t others_us; /* or took any message */
};
enum probe_log_finding {
	PROBE_LOG_WAIT, /* it may still come */
	PROBE_LOG_TAKEN,
	PROBE_LOG_STUCK, /* the queue manager does not work */
	PROBE_LOG_MUTE,  /* the log tells nothing */
};
enum probe_log_finding probe_log_judge(const struct probe_log *log, int64_t patience_us);

/* Whether there is nothing wrong, as far as is known. */
bool probe_is_good(enum probe_finding finding);
/* Whether emails of clients go out all the same. */
bool probe_serves(enum probe_finding finding);
/* The same as the cause, without names of this host; for anybody. */
const char *probe_finding_words(enum probe_finding finding);
/* What it means for mail, and what an admin does about it; NULL for nothing. */
const char *probe_finding_effect(enum probe_finding finding);
const char *probe_finding_hint(enum probe_finding finding);

/* Why nobody learns from Postfix's log what becomes of emails. Emails go out all the
 * same. */
enum reader_fault {
	READER_WELL,
	READER_AWAY,    /* postern-events does not run */
	READER_FOREIGN, /* what it tells of itself is of another version, or damaged */
	READER_FAILING, /* it cannot read the log, or store what that says */
	READER_BEHIND,  /* it has not come to the end of the log for READER_BEHIND_US */
	READER_MUTE,    /* the log tells nothing of probes */
	READER_FAULTS
};
#define READER_BEHIND_US INT64_C(45000000)
/* mute: the log has told nothing of the last probes. */
enum reader_fault reader_judge(
	enum metrics_found found, const struct metrics_events *values, bool mute, int64_t now_us);
/* In words, and what an admin does about it; NULL for READER_WELL. */
const char *reader_fault_words(enum reader_fault fault);
const char *reader_fault_hint(enum reader_fault fault);

/* What is wrong besides, each by itself, until it is over. */
enum service_fault {
	FAULT_DISK,     /* the disk of the store is nearly full */
	FAULT_FULL,     /* the outbox is */
	FAULT_CROWDED,  /* a company has all of the outbox that it may have */
	FAULT_LATE,     /* emails wait for the milter, and are neither paused nor scheduled */
	FAULT_SIZE,     /* Postfix takes less than clients are told */
	FAULT_SETTINGS, /* postern.conf could not be read anew */
	SERVICE_FAULTS
};
/* Whether emails are taken all the same; in words for anybody; and as of a probe. */
bool service_fault_serves(enum service_fault fault);
const char *service_fault_words(enum service_fault fault);
const char *service_fault_effect(enum service_fault fault);
const char *service_fault_hint(enum service_fault fault);

struct probe_outcome {
	enum probe_finding finding;
	int64_t since_us;         /* since when it is so */
	int64_t at_us;            /* of the last probe that found it */
	char cause[ERR_TEXT_MAX]; /* in words; "" while nothing is wrong */
	enum reader_fault reader;
	char order[64]; /* the list in which another milter comes first; "" */
	char faults[SERVICE_FAULTS][ERR_TEXT_MAX]; /* the cause of each; "" */
};

/* The outcome of the last probe, for all threads. */
struct probe_report;

struct probe_report *probe_report_new(struct log *log);
void probe_report_free(struct probe_report *report);
void probe_report_get(struct probe_report *report, struct probe_outcome *outcome_r);

/* A new outcome; what has changed is logged, once. */
void probe_report_set(
	struct probe_report *report, enum probe_finding finding, const char *cause, int64_t now_us);
/* As of when the store knows what became of emails: all that Postfix's log had told
 * by then; 0: it is not known. Answers have it as `status_as_of`; a new reference. */
void probe_report_set_read(struct probe_report *report, int64_t as_of_us);
json_t *probe_report_as_of(const struct probe_report *report);

/* How the log is read; the same. */
void probe_report_set_reader(struct probe_report *report, enum reader_fault fault);
/* The list of milters in which another one comes first; NULL. */
void probe_report_set_order(struct probe_report *report, const char *order);
/* A fault with its cause, or "" when it is over; what has changed is logged, once. */
void probe_report_set_fault(
	struct probe_report *report, enum service_fault fault, const char *cause);

/* The milter has recorded an email: so it is asked. Cheap; from any thread. */
void probe_report_recorded(struct probe_report *report);
/* When that was last, by the monotonic clock; 0: never. */
int64_t probe_report_recorded_us(struct probe_report *report);

#endif
