/*
 * store_probe: tickets that belong to no email. With them postern-httpd and postfix-conf/check find
 * out whether Postfix asks the milter: the milter notes if it sees the probe message. Also stores
 * what Postfix's log says about such a message, and about Postfix.
 */
#ifndef POSTERN_STORE_STORE_PROBE_H
#define POSTERN_STORE_STORE_PROBE_H

#include <stdbool.h>

#include "core/base/secret.h"
#include "core/db/db.h"
#include "core/store/email/store_email.h"

enum { STORE_PROBE_KEEP_S = 24 * 3600 };

/* How the message had changed when it reached the milter. */
enum probe_change {
	PROBE_SAME,
	PROBE_OTHER_ID,   /* with a different Message-ID */
	PROBE_OTHER_FROM, /* with a different From */
};

struct probe {
	char ticket[SECRET_TICKET_SIZE];
	char nonce[SECRET_TICKET_SIZE]; /* in its message, as that of an email; "": from before */
	int64_t created_us;
	int64_t seen_us; /* 0: not yet */
	char *queue_id;  /* of the message; "" before it is known */
	/* The way of the probe message. If somebody who has seen the ticket submits a message by
	 * another way, it does not count. */
	enum email_way way;
	/* True: the message passes through all milters, and has no recipient afterwards. False: our
	 * milter discards it. */
	bool through;
	int64_t changed;   /* enum probe_change, as seen by the milter */
	int64_t logged_us; /* when Postfix's log mentioned it; 0: not yet */
	int64_t taken_us;  /* when the queue manager took it; 0: not yet */
	char *refusal;     /* how it was stopped, as logged; "": it was not */
};

/* What the message of a new probe must carry: it is submitted to the ticket, and has the nonce in
 * its field (TICKET_NONCE_FIELD). */
struct probe_secrets {
	char ticket[SECRET_TICKET_SIZE];
	char nonce[SECRET_TICKET_SIZE];
};

/* Adds a probe, and removes those older than STORE_PROBE_KEEP_S. Returns 0 or -1. */
int store_probe_add(struct db *db, int64_t now_us, enum email_way way, bool through,
	struct probe_secrets *secrets_r, struct err *err);

/* Returns 1, 0 if there is none with this ticket, -1 on error. */
int store_probe_get(struct db *db, const char *ticket, struct probe *probe_r, struct err *err);
void store_probe_clear(struct probe *probe);
/* Reads the latest creation time. Returns 1, 0 if there is none, -1 on error. */
int store_probe_newest(struct db *db, int64_t *created_us_r, struct err *err);

/* Records that the milter was asked about the message. Only the first time counts. Returns 1, 0
 * if there is no probe with this ticket that was not seen yet, -1 on error. */
int store_probe_see(struct db *db, const char *ticket, const char *queue_id,
	enum probe_change changed, int64_t now_us, struct err *err);

/* Record what Postfix's log says about the message. Return 1, 0 if there is no such ticket, -1 on
 * error. If our own milter discards the probe, that is not recorded as a refusal. */
int store_probe_logged(struct db *db, const char *ticket, int64_t now_us, struct err *err);
int store_probe_taken(struct db *db, const char *ticket, int64_t now_us, struct err *err);
int store_probe_refused(struct db *db, const char *ticket, const char *refusal, struct err *err);

/* What the log says about Postfix itself; 0: nothing yet. */
struct postfix_notes {
	int64_t reloaded_us; /* when it was reloaded or started */
	int64_t taken_us;    /* when the queue manager last took any message */
};
int store_postfix_notes_get(struct db *db, struct postfix_notes *notes_r, struct err *err);
int store_postfix_notes_set(struct db *db, const struct postfix_notes *notes, struct err *err);

#endif
