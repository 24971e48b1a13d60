/*
 * held_target: messages in Postfix's queue that the verbs of `postern held` act on.
 *
 * Postfix shows a message to milters only when it arrives. So a recheck does not requeue a held
 * message: it asks postern-milter as Postfix would, with the envelope and header of the queue file.
 * If the rules now accept it, it is released, which is one rename; otherwise nothing changes. So a
 * message never exists twice, whenever this process is killed. A waiting message must be submitted
 * again, see held_waiting.
 */
#ifndef POSTERN_CLI_HELD_TARGET_H
#define POSTERN_CLI_HELD_TARGET_H

#include "cli/cmd.h"
#include "cli/held_waiting.h"
#include "core/postfix/postfix_queue.h"
#include "core/store/host/store_held.h"

/* The kind of a message in the queue. */
enum held_kind {
	KIND_OTHER,      /* not ours */
	KIND_OTHER_HELD, /* not ours, in the hold queue */
	KIND_HELD,       /* held by the rules */
	KIND_WAITING,    /* waits for the milter */
	KIND_PROBE, /* a probe of postern-httpd that Postfix accepted without asking the milter */
};

/* A message that the command acts on. */
struct held_target {
	struct queue_item item; /* only the id until it is found */
	enum held_kind kind;
	struct waiting waiting; /* for KIND_WAITING, during the submission */
	const struct held *row; /* for serve: the row with the decision; else NULL */
	const char *outcome;    /* for the report; NULL: none yet */
	struct err why;
};

struct held_targets {
	const struct call *call;
	struct held_target *items;
	size_t n;
	bool all_waiting; /* instead of named messages */
	bool served;      /* the dashboard made the decision, and wrote the audit entry */
};

void held_targets_clear(struct held_targets *targets);
#define _cleanup_held_targets_ __attribute__((cleanup(held_targets_clear)))

/* Finds the kind of a message. With KIND_HELD, *held_r is its row in the store; held_r may be NULL.
 * Returns -1 on error. */
int held_kind_of(const struct call *call, const struct queue_item *item, struct held *held_r,
	struct err *err);
/* Returns true and the ticket, if the message has one as a recipient. */
bool held_find_ticket(const struct queue_item *item, char ticket_r[static SECRET_TICKET_SIZE]);

/* Returns the message with this queue id; NULL if there is none. */
struct held_target *held_targets_find(struct held_targets *targets, const char *id);
/* Adds a message that is not found yet. */
struct held_target *held_targets_add(struct held_targets *targets, const char *id);
/* Finds the added messages in Postfix's queue, or all that wait. Returns 0 or -1. */
int held_targets_search(
	const struct postfix_queue *queue, struct held_targets *targets, struct err *err);

/* True if the message has neither an outcome nor an error yet. */
bool held_target_is_open(const struct held_target *target);
bool held_target_is_on_hold(const struct held_target *target);

/* Reads the header of a message, as text. Returns 0 or -1. */
int held_read_header(const struct postfix_queue *queue, const struct queue_item *item,
	struct buf *header, struct err *err);
/* Asks postern-milter for the present verdict. A message that the rules accept stays open;
 * otherwise the target has an outcome or an error. */
void held_target_recheck(
	const struct call *call, const struct postfix_queue *queue, struct held_target *target);
/* Changes, in one call, the open targets for which want is true in Postfix's queue, sets their
 * outcome, and removes the rows of messages that are gone. Returns 0 or -1. */
int held_targets_change(const struct postfix_queue *queue, enum queue_change change,
	struct held_targets *targets, bool (*want)(const struct held_target *target),
	const char *outcome, struct err *err);

/* The columns of a report of outcomes. */
enum { HELD_DONE_ID, HELD_DONE_OUTCOME, HELD_DONE_DETAIL };
extern const struct column held_done_columns[];
/* Adds a row with the outcome. */
void held_target_report(const struct held_target *target, struct report *report);

#endif
