/*
 * held_waiting: submits again what Postfix took when it did not ask
 * postern-milter: messages to TICKET@postern.invalid that wait in its queue.
 */
#ifndef POSTERN_CLI_HELD_WAITING_H
#define POSTERN_CLI_HELD_WAITING_H

#include "cli/cmd.h"
#include "core/base/secret.h"
#include "core/postfix/postfix_queue.h"

/* What became of one message. */
enum waiting_outcome {
	WAITING_FAILED,   /* it is where it was; why tells the rest */
	WAITING_SENT,     /* the milter has let its email pass */
	WAITING_REFUSED,  /* the rules stopped it, now or before */
	WAITING_UNJUDGED, /* Postfix has it anew, the milter has not seen it */
	WAITING_REMOVED,  /* its email had gone out: one message too many */
};

struct waiting {
	char *queue_id;
	char ticket[SECRET_TICKET_SIZE];
	char *sender; /* that Postfix has it from: the milter compares it */
	int64_t size;
	enum waiting_outcome outcome;
	struct err why; /* ERR_NONE: it worked */
	/* For held_waiting_submit() alone. */
	char email_id[ID_SIZE];
	char new_ticket[SECRET_TICKET_SIZE];
	int file;
	pid_t pid;
	bool done; /* the message in the queue has done its duty */
};
void waiting_clear(struct waiting *waiting);

enum {
	/* How much is submitted at once. */
	WAITING_BATCH = 16,
	WAITING_BATCH_BYTES = 64 * 1024 * 1024,
};

/* Keeps other commands from doing the same, until this process ends: 0, or -1
 * with ERR_TEMPORARY when one does. */
int held_waiting_lock(const struct call *call, struct err *err);

/* Submits up to WAITING_BATCH messages, waits a while for the milter's verdicts
 * and fills the outcomes. 0 or -1. Needs the lock. */
int held_waiting_submit(const struct call *call,
	const struct postfix_queue *queue, struct waiting *batch, size_t n,
	struct err *err);

#endif
