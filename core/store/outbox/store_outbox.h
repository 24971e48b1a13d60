/*
 * store_outbox: the emails that are waiting to be submitted to Postfix, or being submitted.
 *
 * The commit that stages an email adds its row, together with its message (store_message). The row
 * goes when Postfix is known to have the message, or when the email has come to another end. A row
 * that is in hand (due_us is 0) belongs to the dispatcher of the running postern-httpd. All others
 * are taken by store_outbox_take() when they are due.
 *
 * What taking an email does; the first line that fits decides:
 *
 *   email     condition                         what happens
 *   --------- --------------------------------- ----------------------------------
 *   refused   any                               removed from the outbox
 *   sent      not by SMTP, or a test            removed: the maildrop kept it until
 *                                               its queue file was complete
 *   sent      the log reports a recipient       removed: it was in the queue
 *   sent      all recipients are suppressed     removed: there is no message
 *   sent      another host has recorded it      that host's again
 *   sent      recorded a moment ago             put off: cleanup may be at work
 *   sent      the queue was listed without it,  staged again with a new ticket, and
 *             and the log was read beyond that  submitted
 *   sent      the queue was listed without it   put off until the log is read
 *   sent      any                               looked for in Postfix's queue
 *   staged    the log reports its ticket        removed: Postfix has ended it
 *   staged    its company, domain or key is     put off until that is resumed
 *             paused (store_pause)
 *   staged    its lifetime is over              failed
 *   staged    the ticket may have been used,    submitted with a new ticket
 *             or was for another way or host
 *   staged    any                               submitted
 */
#ifndef POSTERN_STORE_STORE_OUTBOX_H
#define POSTERN_STORE_STORE_OUTBOX_H

#include "core/base/id.h"
#include "core/base/secret.h"
#include "core/db/db.h"
#include "core/store/email/store_email.h"

/* Adds the row of the email with this seq, in the transaction that staged it and added its message;
 * size is the length of that. due_us 0: the caller has the email in hand and submits it, unless it
 * is paused. 0; 1 if it is paused, and so not in hand; -1. */
int store_outbox_add(struct db *db, int64_t email, int64_t size, int64_t due_us, struct err *err);

/* The same for a caller that does not submit emails: the email is due now, and
 * store_outbox_take() counts it. */
int store_outbox_join(struct db *db, int64_t email, int64_t size, int64_t now_us, struct err *err);

/* Returns 1 if the email is in the outbox, 0 if not, -1 on error. */
int store_outbox_has(struct db *db, const char *id, struct err *err);

/* How many times the size of its message an email takes of the disk: the text is in the email's
 * row as well, and SQLite writes both once more when it copies them from its log. */
enum { OUTBOX_DISK_FACTOR = 4 };

/* Decides if a company that has `own` bytes in the outbox may add some more. It may as long as it
 * has no more than what is free afterwards, of the outbox (`all` of `max` are used) and of the
 * disk. So what one company schedules, perhaps for a month, shuts out nobody else. Pure. */
enum outbox_room {
	OUTBOX_ROOM,
	OUTBOX_FULL,
	OUTBOX_DISK_FULL,
	OUTBOX_SHARE_FULL /* it would fit if the company had nothing in the outbox */
};
/* The text of the refusal for OUTBOX_SHARE_FULL. */
#define OUTBOX_SHARE_WORDS                                                                         \
	"The company has as many emails in the outbox as it may have now. Please try again."
enum outbox_room store_outbox_room(
	int64_t bytes, int64_t own, int64_t all, int64_t max, int64_t disk_room);

/* How many bytes of messages are in the outbox, and how many of them are the company's. The first
 * reads all rows; the second only those that joined and were not taken yet, which are few. 0 or
 * -1. */
int store_outbox_bytes(
	struct db *db, const char *company_id, int64_t *all_r, int64_t *own_r, struct err *err);
int store_outbox_joined_bytes(
	struct db *db, const char *company_id, int64_t *all_r, int64_t *own_r, struct err *err);

/* The email leaves the outbox; its message stays for retention.messages. 1, 0 if it is not there,
 * -1. */
int store_outbox_remove(struct db *db, const char *id, int64_t now_us, struct err *err);
/* Removes several, in the caller's transaction, with one round trip to a server. Adds to
 * elsewhere_r the ids of those that another host has taken over, which stay. Returns 0 or -1. */
int store_outbox_remove_all(struct db *db, const struct strv *ids, int64_t now_us,
	struct strv *elsewhere_r, struct err *err);

/* The email is not in hand any more, and is due at due_us, which is over 0. 1, 0, -1. */
struct outbox_delay {
	int64_t due_us;
	bool ticket_used; /* a message with its ticket may still reach the milter */
	bool failed;      /* an attempt was made, and failed */
	const char *reason;
};
int store_outbox_put_off(
	struct db *db, const char *id, const struct outbox_delay *delay, struct err *err);

/* The same without an attempt, if the email is in hand. It is not if the transaction that took it
 * was not committed: then the row stays as it is. 1, 0 if it is not in hand, -1. */
int store_outbox_give_back(
	struct db *db, const char *id, int64_t due_us, const char *reason, struct err *err);

/* To fail, and to cancel, adds an event for each recipient. */

/* The email will not be sent: it is refused for this reason, unless the milter has refused it
 * already, and leaves the outbox. The milter discards a message of it that still arrives. 1, 0 if
 * there was nothing to do, -1. */
int store_outbox_fail(
	struct db *db, const char *id, const char *reason, int64_t now_us, struct err *err);

/* Gives a scheduled email another time while its time has not come. 1, 0 if it is not scheduled
 * (any more), -1. */
int store_outbox_schedule(
	struct db *db, const char *id, int64_t time_us, int64_t now_us, struct err *err);

/* Cancels an email about which the milter has not decided, in the outbox or, if it never reached
 * the milter, outside. The milter discards a message of it that arrives after this commit. The
 * dispatcher removes it from the outbox. The reason is for people; NULL: OUTBOX_CANCELED. 1, 0 if
 * it is too late, -1. */
#define OUTBOX_CANCELED "The email was canceled."
int store_outbox_cancel(
	struct db *db, const char *id, const char *reason, int64_t now_us, struct err *err);

/* The same for all emails of a company, or of its domain or key (NULL: of any), in steps. Each step
 * goes on after the mark, which starts at 0, and adds to the number. In the caller's transaction. 1
 * when done, STORE_MORE, -1. */
struct outbox_cancel {
	const char *company_id;
	const char *domain;
	const char *key_id;
	int64_t mark;
	int64_t canceled;
};
int store_outbox_cancel_some(
	struct db *db, struct outbox_cancel *cancel, int64_t now_us, struct err *err);

/* Postfix's queue was listed. If it has the message, the email leaves the outbox. 1, 0, -1. */
int store_outbox_looked(struct db *db, const char *id, bool found, int64_t now_us, struct err *err);

/* Emails that were put off after a failed attempt are due now, and so are turns that lie in the
 * future because the clock was put back. How many emails, or -1. */
int store_outbox_hurry(struct db *db, int64_t now_us, struct err *err);

/* An email that is counted from now on. */
struct outbox_joined {
	char company_id[ID_SIZE];
	int64_t size;
};

/*
 * Several hosts: each row belongs to one of them (outbox.host), and only its dispatcher takes it,
 * puts it off and removes it. The functions above change no row of another host.
 */

/* True if another host has taken the email over. 1, 0, -1. */
int store_outbox_is_elsewhere(struct db *db, const char *id, struct err *err);

/* Lists the other hosts that have emails in the outbox. 0 or -1. */
int store_outbox_hosts(struct db *db, struct strv *hosts_r, struct err *err);

/* Takes over what is in the outbox of a host that is lost, in steps. What its milter has recorded
 * and its Postfix may have stays there, unless the host is known no more (store_host). An email
 * that was taken over gets a new ticket before it is submitted, so a message that the lost host
 * still has is discarded. In the caller's transaction. Returns STORE_MORE, 1 when all is taken
 * over, 0 if the host has shown up, -1 on error. */
struct outbox_takeover {
	const char *host;
	int64_t beat; /* the last that was seen of it (struct host_part) */
	int64_t mark; /* 0 at first */
	int64_t moved;
	/* Those that the host had counted, for the caller to count. */
	struct outbox_joined *counted;
	size_t counted_n;
};
int store_outbox_take_over(
	struct db *db, struct outbox_takeover *takeover, int max, struct err *err);
void store_outbox_takeover_clear(struct outbox_takeover *takeover);

/* The longest pause after a failed attempt. */
#define OUTBOX_PAUSE_MOST_US INT64_C(600000000)

/* When the dispatcher starts: emails that an earlier process had in hand are due. So are those that
 * were put off for longer than any pause: the clock was put back meanwhile. How many were in hand,
 * or -1. */
int store_outbox_reopen(struct db *db, int64_t now_us, struct err *err);

enum outbox_task {
	OUTBOX_SUBMIT,
	OUTBOX_LOOK, /* look for its message in Postfix's queue */
	OUTBOX_GONE, /* it has left the outbox */
};

/* The reason with which an email without its message is given back. */
#define OUTBOX_MISSING "its message is missing"

/* An email that was taken. */
struct outbox_row {
	char id[ID_SIZE];
	char company_id[ID_SIZE];
	char ticket[SECRET_TICKET_SIZE];
	char *sender;
	char *queue_id; /* of OUTBOX_LOOK */
	int64_t decided_us;
	int64_t composed_us;  /* the Date of its message, unless the client chose one */
	int64_t scheduled_us; /* 0: it was not scheduled */
	int64_t size;
	unsigned attempts;
	bool utf8;    /* a recipient is not all ASCII */
	bool missing; /* it was given back with the reason OUTBOX_MISSING */
	enum outbox_task task;
};

struct outbox_taken {
	struct outbox_row *items;
	size_t n;
	struct outbox_joined *joined;
	size_t joined_n;
	size_t renewed; /* items that have a new ticket */
	size_t looked;  /* rows that were due, including those that were put off again */
};

struct outbox_terms {
	int64_t now_us;
	/* The lifetime of an email, from the latest of its creation, its scheduled time and the end
	 * of its pause. */
	int64_t lifetime_us;
	enum email_way way; /* by which emails are submitted */
	int rows;           /* at most; 0: nothing is due, or has a turn */
	int rows_each;      /* of a company, at most */
	int64_t bytes;      /* of messages, at most; one message may be larger */
	const char *but;    /* the ids of companies that have no turn, one after the other */
	/* Also remove emails that were put off and that the milter has recorded since, though their
	 * time has not come and whoever has a turn: OUTBOX_RECORDED_MAX of them at most. Not those
	 * submitted by SMTP, which have to be looked for. */
	bool recorded;
};
enum { OUTBOX_RECORDED_MAX = 256 };

/* Takes emails that are due, by turns of the companies: first those that have waited longest, for
 * their first email or since their last turn. The cost does not depend on how many other companies
 * have waiting emails. What is given is in hand. In the caller's transaction. 0 or -1. */
int store_outbox_take(struct db *db, const struct outbox_terms *terms, struct outbox_taken *taken_r,
	struct err *err);
void store_outbox_taken_clear(struct outbox_taken *taken);

/* When the first email that is not in hand is due: 1, 0 if there is none, -1. */
int store_outbox_next(struct db *db, int64_t *due_us_r, struct err *err);

/* Calls each for every email in the outbox that was counted; a sum by company would have to sort a
 * million rows in memory. 0 or -1. */
int store_outbox_sizes(struct db *db,
	void (*each)(void *arg, const char *company_id, int64_t bytes, int64_t emails), void *arg,
	struct err *err);

#endif
