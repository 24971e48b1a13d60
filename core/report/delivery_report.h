/*
 * delivery_report: what became of an email, and what happens next.
 *
 * The store knows what is over, and when Postfix last tried what it still has. The time of the
 * next attempt follows from Postfix's settings and the age of the message, and postqueue(1)
 * says if the message is still in the queue. If one of these is unavailable, the report says
 * less.
 */
#ifndef POSTERN_REPORT_DELIVERY_REPORT_H
#define POSTERN_REPORT_DELIVERY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/mem.h"
#include "core/postfix/postfix_queue.h"
#include "core/store/email/store_email.h"
#include "core/store/event/store_event.h"
#include "core/store/host/store_log.h"
#include "core/store/delivery/store_queue_message.h"

struct conf;

/* A recipient's entry in Postfix's queue. */
struct delivery_queue_entry {
	char *queue; /* such as `deferred`; NULL: not in the queue, or unknown */
	char *queue_id;
	char *reason; /* why it is not delivered yet; "" if unknown */
	int64_t arrival_s;
};

struct delivery_report {
	const struct email *email; /* owned by the caller */
	int64_t now_us;
	struct recipients recipients; /* the recipients in the envelope */
	struct event_list events;
	struct queue_messages messages;
	struct delivery_queue_entry *entries; /* one for each recipient */
	struct log_state log;                 /* how far the log is read: the store's statuses
					       * are as old */
	bool elsewhere; /* another host has its message, whose queue cannot be asked from here */
	bool queue_seen;
	bool times_known;
	struct queue_times times;
};

/* Reads the report. email must outlive it. With conf, Postfix is asked about an email that is
 * not finished: that runs Postfix's programs and reads the whole queue. It is no error if
 * Postfix cannot be asked. Returns 0, or -1 on error. */
int delivery_report_new(struct db *db, const struct conf *conf, const struct email *email,
	int64_t now_us, struct delivery_report **report_r, struct err *err);
void delivery_report_free(struct delivery_report *report);
DEFINE_CLEANUP(delivery_report, delivery_report_free)

/* Returns one sentence that begins with the answer to "was it delivered?". If the email is not
 * finished and the log was not read recently, a second sentence says when that was. The caller
 * frees it. */
char *delivery_report_answer(const struct delivery_report *report);
/* True if more is to come. */
bool delivery_report_is_open(const struct delivery_report *report);
/* True for a test, which has no message and goes to nobody. */
bool delivery_report_is_test(const struct delivery_report *report);
/* True if Postfix or another milter stopped it before postern-milter was asked. */
bool delivery_report_is_stopped(const struct delivery_report *report);

/* Returns what happens next for an open recipient, in sentences; NULL if unknown. The caller
 * frees it. */
char *delivery_report_next(const struct delivery_report *report, size_t i);
/* When Postfix tries the recipient again, and when it gives up. False if unknown. */
bool delivery_report_times(
	const struct delivery_report *report, size_t i, int64_t *retry_us_r, int64_t *end_us_r);

/* Such as `delivered` or `in Postfix's queue`. */
const char *delivery_report_status_words(enum delivery_status status);
/* Returns the words for an event: its status, or words such as `taken by Postfix`. */
const char *delivery_report_event_words(enum event_kind kind);
/* How a message came to carry the email, such as `requeued`. */
const char *delivery_report_message_words(enum message_how how);

#endif
