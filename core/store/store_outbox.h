/*
 * store_outbox: the emails that are to be handed to Postfix.
 *
 * A row is added in the commit that stages its email, with the message
 * (store_message), and goes when Postfix is known to have the message, or when the
 * email has come to another end. What is in hand (due_us is 0) belongs to the
 * dispatcher of a running postern-httpd; everything else is taken by
 * store_outbox_take() when it is due.
 *
 * What taking an email does, by the state of its row; the first that fits decides:
 *
 *   email     besides                           is
 *   --------- --------------------------------- ----------------------------------
 *   refused   any                               removed from the outbox
 *   sent      not by SMTP, or a test            removed: the maildrop has kept it
 *                                               until its queue file was complete
 *   sent      the log told of it                removed: it was in the queue
 *   sent      all recipients are suppressed     removed: there is no message
 *   sent      recorded a moment ago             put off: cleanup may be at work
 *   sent      the queue was looked at, and the  staged again with a new ticket, to
 *             log was read beyond that          be submitted
 *   sent      the queue was looked at           put off, until the log is read
 *   sent      any                               to be looked for in the queue
 *   staged    the log told of its ticket        removed: Postfix has ended it
 *   staged    its company, domain or key is     put off, until that is resumed
 *             paused (store_pause)
 *   staged    its lifetime is over              failed
 *   staged    the ticket may have been used,    to be submitted with a new ticket
 *             or was for another way
 *   staged    any                               to be submitted
 */
#ifndef POSTERN_STORE_STORE_OUTBOX_H
#define POSTERN_STORE_STORE_OUTBOX_H

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/db/db.h"
#include "core/store/store_email.h"

/* In the transaction that has staged the email and added its message, of which
 * size is the length. due_us 0: the caller has it in hand, and is about to submit
 * it, unless it is paused. 0; 1 when it is paused, so not in hand; -1. */
int store_outbox_add(struct db *db, const char *id, int64_t size, int64_t due_us, struct err *err);

/* The same by whoever does not submit it: it is due now, and counted by
 * store_outbox_take(). */
int store_outbox_join(struct db *db, const char *id, int64_t size, int64_t now_us, struct err *err);

/* Whether the email is there: 1, 0, -1. */
int store_outbox_has(struct db *db, const char *id, struct err *err);
/* A message is written, with its text once more in the email's row, and both again when
 * SQLite copies them from its log. */
enum { OUTBOX_DISK_FACTOR = 4 };

/* Whether a company that has its own bytes in the outbox may have so many more. It gets more
 * while it has no more than is left then, of the outbox (all of max) and of the disk: what one
 * lets wait, perhaps for a month, shuts out nobody else. Pure. */
enum outbox_room {
	OUTBOX_ROOM,
	OUTBOX_FULL,
	OUTBOX_DISK_FULL,
	OUTBOX_SHARE_FULL /* it would fit, but for what the company has there */
};
/* What people are told of that. */
#define OUTBOX_SHARE_WORDS                                                                         \
	"The company has as many emails in the outbox as it may have now. Please try again."
enum outbox_room store_outbox_room(
	int64_t bytes, int64_t own, int64_t all, int64_t max, int64_t disk_room);

/* How many bytes of messages are there, and of these the company's: of all, which looks at each,
 * or of those that joined and were not taken yet, which are few. 0 or -1. */
int store_outbox_bytes(
	struct db *db, const char *company_id, int64_t *all_r, int64_t *own_r, struct err *err);
int store_outbox_joined_bytes(
	struct db *db, const char *company_id, int64_t *all_r, int64_t *own_r, struct err *err);

/* It leaves the outbox; its message stays for retention.messages: 1, 0 when it is not
 * there, -1. */
int store_outbox_remove(struct db *db, const char *id, int64_t now_us, struct err *err);

/* It is let out of hand, to be taken at due_us, which is over 0. 1, 0, -1. */
struct outbox_delay {
	int64_t due_us;
	bool ticket_used; /* a message with its ticket may be on its way to the milter */
	bool failed;      /* an attempt has */
	const char *reason;
};
int store_outbox_put_off(
	struct db *db, const char *id, const struct outbox_delay *delay, struct err *err);

/* What store_outbox_take() gave is let out of hand untouched; also when it was not committed:
 * then the row is as it was before, and stays so. 1, 0 when it is not in hand, -1. */
int store_outbox_give_back(
	struct db *db, const char *id, int64_t due_us, const char *reason, struct err *err);

/* Both are told by an event of each recipient. */

/* The email will not be sent: unless the milter has refused it, it is refused, for
 * this reason, and leaves the outbox. A message of it that still comes to the
 * milter is thrown away. 1, 0 when there was nothing to do, -1. */
int store_outbox_fail(
	struct db *db, const char *id, const char *reason, int64_t now_us, struct err *err);

/* While an email is scheduled and its time has not come: another time. 1, 0 when it is not
 * (any more), -1. */
int store_outbox_schedule(
	struct db *db, const char *id, int64_t time_us, int64_t now_us, struct err *err);

/* The email will not be sent, unless the milter has decided about it. A message of it that
 * comes to the milter after this commit is thrown away. So it is with one that has left the
 * outbox and never came to the milter. The reason is for people; NULL: OUTBOX_CANCELED. 1; 0
 * when it is too late; -1. The dispatcher finds out, and has it leave the outbox. */
#define OUTBOX_CANCELED "The email was canceled."
int store_outbox_cancel(
	struct db *db, const char *id, const char *reason, int64_t now_us, struct err *err);

/* The same of all emails of a company, of its domain or of its key (NULL: of any), in steps:
 * each goes on behind the mark, 0 at first, and adds to the number. In the caller's
 * transaction. 1 done, STORE_MORE, -1. */
struct outbox_cancel {
	const char *company_id;
	const char *domain;
	const char *key_id;
	int64_t mark;
	int64_t canceled;
};
int store_outbox_cancel_some(
	struct db *db, struct outbox_cancel *cancel, int64_t now_us, struct err *err);

/* Postfix's queue was looked at: it has the message, which then leaves the outbox,
 * or it has not. 1, 0, -1. */
int store_outbox_looked(struct db *db, const char *id, bool found, int64_t now_us, struct err *err);

/* What was put off for an attempt that failed is due now, and so are turns of a clock that was
 * put back. How many emails, or -1. */
int store_outbox_hurry(struct db *db, int64_t now_us, struct err *err);

/* At the start of the dispatcher: what another one had in hand is due. How many,
 * or -1. */
int store_outbox_reopen(struct db *db, struct err *err);

enum outbox_task {
	OUTBOX_SUBMIT,
	OUTBOX_LOOK, /* for its message in Postfix's queue */
	OUTBOX_GONE, /* it has left the outbox */
};

/* An email that was taken. */
struct outbox_row {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char ticket[SECRET_TICKET_SIZE];
	char *sender;
	char *queue_id; /* of OUTBOX_LOOK */
	int64_t decided_us;
	int64_t composed_us;  /* which its message has as Date, unless its client chose one */
	int64_t scheduled_us; /* 0: it was not */
	int64_t size;
	unsigned attempts;
	bool utf8; /* a recipient is not all ASCII */
	enum outbox_task task;
};

/* One that was put there by store_outbox_join(), and was not counted yet. */
struct outbox_joined {
	char company_id[ID_SIZE];
	int64_t size;
};

struct outbox_taken {
	struct outbox_row *items;
	size_t n;
	struct outbox_joined *joined;
	size_t joined_n;
	size_t renewed; /* of the items: have a new ticket */
	size_t looked;  /* rows that were looked at */
};

struct outbox_terms {
	int64_t now_us;
	int64_t lifetime_us; /* of an email, from its creation */
	enum email_way way;  /* by which it will be submitted */
	int rows;            /* at most; */
	int rows_each;       /* of a company */
	int64_t bytes;       /* of messages, but for one row */
	const char *but;     /* the ids of companies that have no turn, behind each other */
};

/* Takes what is due, companies in turns: first those who wait longest, for their first email
 * or since their last turn. What it costs does not grow with how many others have emails that
 * wait. What is given back is in hand. In the caller's transaction. 0 or -1. */
int store_outbox_take(struct db *db, const struct outbox_terms *terms, struct outbox_taken *taken_r,
	struct err *err);
void store_outbox_taken_clear(struct outbox_taken *taken);

/* The first due_us that is over 0: 1, 0 none, -1. */
int store_outbox_next(struct db *db, int64_t *due_us_r, struct err *err);

/* What each company has in the outbox, and was counted: calls each for every email, since to
 * sort a million of them takes memory. 0 or -1. */
int store_outbox_sizes(struct db *db,
	void (*each)(void *arg, const char *company_id, int64_t bytes, int64_t emails), void *arg,
	struct err *err);

#endif
