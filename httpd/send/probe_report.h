/*
 * probe_report: the rules by which probes are judged, and the outcome of the
 * last one.
 *
 * The rules (what a probe found, what that means, when the next one is due) are
 * pure functions. The log, /readyz, the overview and the metrics all use the
 * one outcome.
 */
#ifndef POSTERN_HTTPD_SEND_PROBE_REPORT_H
#define POSTERN_HTTPD_SEND_PROBE_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/metrics/metrics.h"
#include "core/store/host/store_host.h"

struct log;

enum probe_finding {
	PROBE_NONE,       /* no probe yet, or no result yet */
	PROBE_PASSED,     /* emails go out, and the rules are in force */
	PROBE_STORE,      /* the store cannot be read or written */
	PROBE_POSTFIX,    /* Postfix is not running */
	PROBE_MILTER,     /* the milter does not answer */
	PROBE_BYPASSED,   /* the same, and mail passes unchecked meanwhile */
	PROBE_REFUSED,    /* Postfix or another milter refuses emails */
	PROBE_PUT_OFF,    /* another milter or a rule defers or holds emails */
	PROBE_UNANSWERED, /* Postfix does not answer in time */
	PROBE_UNASKED,    /* Postfix accepted it without asking the milter */
	PROBE_CHANGED,    /* the milter got it with a changed Message-ID or From */
	PROBE_STUCK,      /* the queue manager does not pick it up */
	PROBE_UNCHECKED,  /* emails go out, but mail of others is not checked */
	PROBE_UNGUARDED,  /* all is well, but mail would pass unchecked without the milter */
	PROBE_CLOCK,      /* the clock was put back */
	PROBE_FINDINGS
};

/* The facts about a probe, and about what it passes through. */
struct probe_facts {
	/* From the check before it. */
	bool postfix_over;  /* Postfix does not run */
	bool milter_silent; /* the milter does not answer, and not for want of rights or file
			     * descriptors here */
	bool store_failed;
	bool blamed; /* main.cf lacks the milter, and the last probe was PROBE_UNASKED, or a
		      * message would leave this host */

	/* About the message. */
	enum { PROBE_UNSENT, PROBE_SENT, PROBE_TAKEN, PROBE_NOT_TAKEN } message;
	bool overdue;        /* the deadline has passed */
	bool seen;           /* the milter was asked about it, */
	bool others_seen;    /* or about a later email */
	bool changed;        /* the message reached the milter with another Message-ID or From */
	const char *refusal; /* what the log says about what stopped it; NULL or "": nothing did */

	/* About the log: its report is needed, and has come. */
	bool wait_for_log;
	bool taken;
	bool stuck;

	/* About Postfix's settings and the clock. */
	bool unchecked;
	bool unguarded;
	bool clock_behind;
};

/* The finding; PROBE_NONE while the facts do not suffice. */
enum probe_finding probe_judge(const struct probe_facts *facts);

/* How long to wait for the milter, and for the log. */
int64_t probe_patience_us(int64_t interval_us);

/* The time from the start of a probe to the start of the next one. in_row is
 * how many in a row had the same finding. A message that Postfix accepted
 * without asking the milter stays until it expires, which only root could
 * change, and Postfix reports some that it refuses to its postmaster
 * (notify_classes). So such probes become rarer, but not by much, because a
 * repair should be noticed soon. */
int64_t probe_pause_us(int64_t interval_us, enum probe_finding finding, unsigned in_row);

/* What the log says about a message that the milter accepted. */
struct probe_log {
	bool alive; /* postern-events runs */
	int64_t read_to_end_us;
	int64_t seen_us;   /* the milter saw it */
	int64_t logged_us; /* 0 if the log does not mention it, */
	int64_t taken_us;  /* or the queue manager did not pick it up, */
	int64_t others_us; /* or any message */
};
enum probe_log_finding {
	PROBE_LOG_WAIT, /* its report may still come */
	PROBE_LOG_TAKEN,
	PROBE_LOG_STUCK, /* the queue manager does not pick up messages */
	PROBE_LOG_MUTE,  /* the log says nothing */
};
enum probe_log_finding probe_log_judge(const struct probe_log *log, int64_t patience_us);

/* True if nothing is known to be wrong. */
bool probe_is_good(enum probe_finding finding);
/* True if emails of clients go out in spite of the finding. */
bool probe_serves(enum probe_finding finding);
/* The finding as text without names of this host, for anybody. */
const char *probe_finding_words(enum probe_finding finding);
/* Its effect on mail, and what an admin should do; NULL if there is none. */
const char *probe_finding_effect(enum probe_finding finding);
const char *probe_finding_hint(enum probe_finding finding);

/* Why events are not read from Postfix's log. Emails go out in spite of it. */
enum reader_fault {
	READER_WELL,
	READER_AWAY,    /* postern-events does not run */
	READER_UNSEEN,  /* its metrics file cannot be opened: it may run */
	READER_FOREIGN, /* its metrics file is of another version, or damaged */
	READER_FAILING, /* the reader cannot read the log, or cannot store events */
	READER_BEHIND,  /* the reader has not reached the end of the log for READER_BEHIND_US */
	READER_MUTE,    /* the log does not mention probes */
	READER_FAULTS
};
#define READER_BEHIND_US INT64_C(45000000)
/* mute: the log did not mention the last probes. */
enum reader_fault reader_judge(
	enum metrics_found found, const struct metrics_events *values, bool mute, int64_t now_us);
/* The fault as text, and what an admin should do; NULL for READER_WELL. */
const char *reader_fault_words(enum reader_fault fault);
const char *reader_fault_hint(enum reader_fault fault);

/* Other faults. Each is set and cleared independently. */
enum service_fault {
	FAULT_DISK,     /* the disk of the store is nearly full */
	FAULT_INODES,   /* the disk of the store has no inodes for the files of large messages */
	FAULT_FULL,     /* the outbox is nearly full */
	FAULT_CROWDED,  /* a company has used up its part of the outbox */
	FAULT_LATE,     /* emails wait for the milter, and are neither paused nor scheduled */
	FAULT_SIZE,     /* Postfix accepts smaller messages than clients are told */
	FAULT_SETTINGS, /* postern.conf could not be reloaded */
	SERVICE_FAULTS
};
/* True if emails are accepted in spite of the fault; its text for anybody; its
 * effect and hint, as for a finding. */
bool service_fault_serves(enum service_fault fault);
const char *service_fault_words(enum service_fault fault);
const char *service_fault_effect(enum service_fault fault);
const char *service_fault_hint(enum service_fault fault);

struct probe_outcome {
	enum probe_finding finding;
	int64_t since_us;         /* when this finding began */
	int64_t at_us;            /* the last probe with it */
	char cause[ERR_TEXT_MAX]; /* text; "" if nothing is wrong */
	enum reader_fault reader;
	char order[64]; /* the list in which another milter comes first, or "" */
	char faults[SERVICE_FAULTS][ERR_TEXT_MAX]; /* the cause of each, or "" */
};

/* The outcome of the last probe, for all threads. */
struct probe_report;

struct probe_report *probe_report_new(struct log *log);
void probe_report_free(struct probe_report *report);
void probe_report_get(struct probe_report *report, struct probe_outcome *outcome_r);

/* Sets a new finding. A change is logged once. */
void probe_report_set(
	struct probe_report *report, enum probe_finding finding, const char *cause, int64_t now_us);
/* The time up to which Postfix's log was read, so the store knows the delivery
 * statuses as of then; 0 if unknown. */
void probe_report_set_read(struct probe_report *report, int64_t as_of_us);
int64_t probe_report_read(const struct probe_report *report);
/* Sets the hosts that share the database, of which this one has the name own. */
void probe_report_set_hosts(
	struct probe_report *report, const char *own, const struct host_list *hosts);
/* Returns `status_as_of`, a new reference: of the host that has an email ("": this one), which is
 * not known if it was removed; or, for the emails of all hosts (NULL), of the host that is furthest
 * behind. */
json_t *probe_report_as_of(struct probe_report *report, const char *host);

/* Sets how the log is read. A change is logged once. */
void probe_report_set_reader(struct probe_report *report, enum reader_fault fault);
/* Sets the list in which another milter comes first; NULL if there is none. */
void probe_report_set_order(struct probe_report *report, const char *order);
/* Sets a fault with its cause, or clears it with "". A change is logged once. */
void probe_report_set_fault(
	struct probe_report *report, enum service_fault fault, const char *cause);

/* Notes that the milter has recorded an email, which shows that it is asked.
 * Cheap; any thread. */
void probe_report_recorded(struct probe_report *report);
/* The last time of that, monotonic; 0 for never. */
int64_t probe_report_recorded_us(struct probe_report *report);

#endif
