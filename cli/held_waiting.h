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
	const struct queue_item *item;
	char ticket[SECRET_TICKET_SIZE];
	enum waiting_outcome outcome;
	struct err why; /* ERR_NONE: it worked */
	/* For held_waiting_submit() alone. */
	char email_id[ID_SIZE];
	char new_ticket[SECRET_TICKET_SIZE];
	int file;
	bool done; /* the message in the queue has done its duty */
};

/* Submits the messages, some at a time, waits a while for the milter's verdicts
 * and fills the outcomes. It stops when the milter has seen none of those that
 * it submitted last. 0, or -1: ERR_TEMPORARY when another command does the
 * same; the lock lasts as long as this process. */
int held_waiting_submit(const struct call *call, const struct postfix_queue *queue,
	struct waiting *const *all, size_t n, struct err *err);

#endif
