/*
 * store_probe: tickets of no email, by which postern-httpd and
 * postfix-conf/check find out whether Postfix asks the milter: a message that
 * is for one was seen by the milter, or it was not. And what Postfix's log told
 * of such a message, and of Postfix.
 */
#ifndef POSTERN_STORE_STORE_PROBE_H
#define POSTERN_STORE_STORE_PROBE_H

#include <stdbool.h>

#include "core/base/secret.h"
#include "core/db/db.h"
#include "core/store/store_email.h"

enum { STORE_PROBE_KEEP_S = 24 * 3600 };

/* How a message came to the milter. */
enum probe_change {
	PROBE_SAME,
	PROBE_OTHER_ID,   /* with another Message-ID than it had */
	PROBE_OTHER_FROM, /* with another From */
};

struct probe {
	char *ticket;
	int64_t created_us;
	int64_t seen_us; /* 0: not yet */
	char *queue_id;  /* of the message; "" before */
	/* By which its message goes: what somebody hands in another way, who has seen the
	 * ticket, tells nothing of this one. */
	enum email_way way;
	/* The milters behind ours get the message too, to its end; then it has
	 * no recipient. Else ours discards it. */
	bool through;
	int64_t changed;   /* enum probe_change, as the milter saw it */
	int64_t logged_us; /* when Postfix's log told of it; 0: not yet; */
	int64_t taken_us;  /* and that the queue manager has it */
	char *refusal;     /* how it was stopped, in the log's words; "" */
};

/* A new one; those that are older than STORE_PROBE_KEEP_S go. 0 or -1. */
int store_probe_add(struct db *db, int64_t now_us, enum email_way way, bool through,
	char ticket_r[static SECRET_TICKET_SIZE], struct err *err);

/* 1, 0 when there is none with this ticket, -1. */
int store_probe_get(struct db *db, const char *ticket, struct probe *probe_r, struct err *err);
void store_probe_clear(struct probe *probe);
/* The latest time at which one was made: 1, 0 when there is none, -1. */
int store_probe_newest(struct db *db, int64_t *created_us_r, struct err *err);

/* The milter was asked about the message. Only the first one counts: others can read the
 * ticket in Postfix's log, and send messages of their own to it. 1, 0 when there is no
 * probe with this ticket that was not seen yet, -1. */
int store_probe_see(struct db *db, const char *ticket, const char *queue_id,
	enum probe_change changed, int64_t now_us, struct err *err);

/* What Postfix's log tells of the message: 1, 0 when there is no such ticket,
 * -1. That one which does not go through is stopped behind our milter is its
 * own doing, and not noted. */
int store_probe_logged(struct db *db, const char *ticket, int64_t now_us, struct err *err);
int store_probe_taken(struct db *db, const char *ticket, int64_t now_us, struct err *err);
int store_probe_refused(struct db *db, const char *ticket, const char *refusal, struct err *err);

/* What the log told of Postfix itself; 0: not yet. */
struct postfix_notes {
	int64_t reloaded_us; /* it was reloaded, or started */
	int64_t taken_us;    /* the queue manager took a message, whichever */
};
int store_postfix_notes_get(struct db *db, struct postfix_notes *notes_r, struct err *err);
int store_postfix_notes_set(struct db *db, const struct postfix_notes *notes, struct err *err);

#endif
