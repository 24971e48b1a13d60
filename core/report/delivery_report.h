/*
 * delivery_report: what became of an email, and what happens next.
 *
 * What is over the store knows. Of what Postfix still has, it tells when it was
 * tried last; when it is tried again follows from Postfix's settings and the
 * message's age, and postqueue(1) tells whether the message waits at all. Where
 * one of these cannot be asked, the report says less.
 */
#ifndef POSTERN_REPORT_DELIVERY_REPORT_H
#define POSTERN_REPORT_DELIVERY_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/mem.h"
#include "core/postfix/postfix_queue.h"
#include "core/store/store_email.h"
#include "core/store/store_event.h"

struct conf;

/* Where Postfix has the message for a recipient. */
struct delivery_queue_entry {
	char *queue; /* as `deferred`; NULL: in none that was seen */
	char *queue_id;
	char *reason; /* why it was not delivered yet; "": not told */
	int64_t arrival_s;
};

struct delivery_report {
	const struct email *email; /* the caller's */
	int64_t now_us;
	struct recipients recipients; /* of those in the envelope */
	struct event_list events;
	struct queue_messages messages;
	struct delivery_queue_entry *entries; /* one for each status */
	struct log_state log;                 /* what the store knows of recipients is as old */
	bool queue_seen;
	bool times_known;
	struct queue_times times;
};

/* Reads it; the email must live as long. With conf, Postfix is asked about an
 * email that is open: that runs programs of Postfix, and reads its whole queue.
 * What cannot be asked is no error. 0 or -1. */
int delivery_report_new(struct db *db, const struct conf *conf, const struct email *email,
	int64_t now_us, struct delivery_report **report_r, struct err *err);
void delivery_report_free(struct delivery_report *report);
DEFINE_CLEANUP(delivery_report, delivery_report_free)

/* Whether it went out, in a sentence that begins with the answer; of an email
 * that is open, where the news of the log are old, in a second one as of when;
 * a new string. */
char *delivery_report_answer(const struct delivery_report *report);
/* Whether more is to come. */
bool delivery_report_is_open(const struct delivery_report *report);
/* A test goes to nobody: it has no message. */
bool delivery_report_is_test(const struct delivery_report *report);
/* Postfix, or another milter, stopped it before postern-milter was asked. */
bool delivery_report_is_stopped(const struct delivery_report *report);

/* What happens next for a recipient that is open, in sentences; a new string,
 * NULL when nothing is known. */
char *delivery_report_next(const struct delivery_report *report, size_t i);
/* When Postfix tries the recipient again, and when it gives up; false when that
 * is not known. */
bool delivery_report_times(
	const struct delivery_report *report, size_t i, int64_t *retry_us_r, int64_t *end_us_r);

/* As `delivered`, `in Postfix's queue`. */
const char *delivery_report_status_words(enum delivery_status status);
/* The same of an event: as its status, or `taken by Postfix`. */
const char *delivery_report_event_words(enum event_kind kind);
/* How a message came to carry the email, as `requeued`. */
const char *delivery_report_message_words(enum message_how how);

#endif
