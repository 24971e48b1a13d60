/*
 * store_queue_message: the messages in Postfix's queue that carry emails.
 *
 * delivery_writer stores what the log says of them. schema/README.md describes the tables.
 */
#ifndef POSTERN_STORE_STORE_QUEUE_MESSAGE_H
#define POSTERN_STORE_STORE_QUEUE_MESSAGE_H

#include "core/db/db.h"
#include "core/store/event/delivery_status.h"

/* How a queue message came to carry an email. */
enum message_how {
	MESSAGE_RECORDED,   /* the milter recorded it */
	MESSAGE_FORWARDED,  /* local(8) created it, for an alias */
	MESSAGE_QUEUED_AS,  /* a content filter returned it by SMTP */
	MESSAGE_REQUEUED,   /* requeued by an admin (postsuper -r) */
	MESSAGE_GIVEN_BACK, /* it has the email's Message-ID: returned by a pipe filter */
};

enum { EVENT_ANY_RECIPIENT = -1 };

struct queue_message {
	char *queue_id;
	int64_t since_us;
	int64_t email; /* its seq */
	int64_t n;     /* its only recipient, or EVENT_ANY_RECIPIENT */
	char *parent;  /* queue id; NULL */
	/* Number of addresses it is delivered to; 0: as many as the email has recipients, or
	 * unknown. */
	int64_t recipients;
	enum message_how how;
	int64_t closed_us; /* when it left the queue, 0: not yet */
	bool has_end;
	/* With has_end, the end of all open deliveries: expired, removed, discarded. */
	enum delivery_status ended;
	int64_t ended_us;
	bool is_new; /* the milter recorded it, and it has no row yet */
};
void queue_message_clear(struct queue_message *message);

/* Finds the message that had the queue id at that time; Postfix reuses queue ids. If there is none,
 * one that was recorded up to ahead_us later is accepted, in case a clock was set back. Returns 1,
 * 0 if there is none, -1 on error. _ahead announces that (db_read_ahead()). */
void store_queue_message_find_ahead(struct db *db, const char *queue_id, int64_t time_us);
int store_queue_message_find(struct db *db, const char *queue_id, int64_t time_us, int64_t ahead_us,
	struct queue_message *message_r, struct err *err);
struct queue_messages {
	struct queue_message *items;
	size_t n;
};
void queue_messages_free(struct queue_messages *list);
/* Adds messages, or corrects which recipient and parent they have and how they came to carry the
 * email. Returns 0 or -1. */
int store_queue_messages_add(struct db *db, const struct queue_messages *list, struct err *err);
int store_queue_message_add(struct db *db, const struct queue_message *message, struct err *err);
/* Stores closed_us of messages that have left the queue. Returns 0 or -1. */
int store_queue_messages_close(struct db *db, const struct queue_messages *list, struct err *err);
/* Stores the end of all open deliveries. Returns 0 or -1. */
int store_queue_message_end(struct db *db, const struct queue_message *message,
	enum delivery_status ended, int64_t time_us, struct err *err);
/* Stores the number of addresses that it is delivered to. Returns 0 or -1. */
int store_queue_message_expect(struct db *db, const struct queue_message *message, struct err *err);
/* Lists the emails with this Message-ID, newest first, up to MESSAGE_EMAILS_MAX, except those that
 * Postfix has had for longer than a message may stay in its queue. Returns their number, or -1. */
enum { MESSAGE_EMAILS_MAX = 4 };
int store_queue_message_emails(struct db *db, const char *message_id, int64_t time_us,
	int64_t ahead_us, int64_t emails_r[static MESSAGE_EMAILS_MAX], struct err *err);

/* Adds a queue message that is known by its ticket, because Postfix has not asked the milter about
 * it. */
int store_ticket_message_add(
	struct db *db, const char *queue_id, int64_t since_us, int64_t email, struct err *err);
/* Records that it left the queue under its ticket, or that it expired there. */
int store_ticket_message_end(
	struct db *db, const char *queue_id, int64_t time_us, bool left, struct err *err);
/* Counts the emails of a company (NULL: of all) whose message has left the queue under its ticket,
 * or has expired there, since since_us. Returns 0 or -1. */
struct ticket_ends {
	int64_t left;
	int64_t expired;
};
int store_ticket_ends(struct db *db, const char *company_id, int64_t since_us,
	struct ticket_ends *ends_r, struct err *err);
/* Finds the ticket of the email of a queue message; the caller frees it. Returns 1, 0 if there is
 * none, -1 on error. */
int store_ticket_message_find(
	struct db *db, const char *queue_id, int64_t time_us, char **ticket_r, struct err *err);

/* Reads all messages of an email, oldest first. */
int store_queue_message_list(
	struct db *db, int64_t email, struct queue_messages *list_r, struct err *err);
const char *message_how_name(enum message_how how);

#endif
