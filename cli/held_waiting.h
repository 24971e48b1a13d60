/*
 * held_waiting: resubmits messages to TICKET@postern.invalid that wait in Postfix's queue because
 * Postfix accepted them without asking postern-milter.
 */
#ifndef POSTERN_CLI_HELD_WAITING_H
#define POSTERN_CLI_HELD_WAITING_H

#include "cli/cmd.h"
#include "core/base/secret.h"
#include "core/postfix/postfix_queue.h"

/* The outcome for a message. */
enum waiting_outcome {
	WAITING_FAILED,   /* it is still where it was; see `why` */
	WAITING_SENT,     /* the milter has accepted its email */
	WAITING_REFUSED,  /* the rules stopped it, now or earlier */
	WAITING_UNJUDGED, /* Postfix has the new message, but the milter has not seen it */
	WAITING_REMOVED,  /* removed as a duplicate: its email was sent already */
};

struct waiting {
	const struct queue_item *item;
	char ticket[SECRET_TICKET_SIZE];
	enum waiting_outcome outcome;
	struct err why; /* ERR_NONE: success */
	/* Only for held_waiting_submit(). */
	char email_id[ID_SIZE];
	char new_ticket[SECRET_TICKET_SIZE];
	int file;
	bool done; /* the old message in the queue is no longer needed */
};

/* Submits the messages in batches, waits a while for the milter's verdicts and sets the outcomes.
 * It stops if the milter has seen none of the last batch. Returns 0, or -1 with ERR_TEMPORARY if
 * another command does the same; the lock lasts as long as this process. */
int held_waiting_submit(const struct call *call, const struct postfix_queue *queue,
	struct waiting *const *all, size_t n, struct err *err);

#endif
