/*
 * story: what became of an email, and what happens next.
 *
 * What is over the store knows. Of what Postfix still has, it tells when it was
 * tried last; when it is tried again follows from Postfix's settings and the
 * message's age, and postqueue(1) tells whether the message waits at all. Where
 * one of these cannot be asked, the story says less.
 */
#ifndef POSTERN_STORY_STORY_H
#define POSTERN_STORY_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/mem.h"
#include "core/postfix/postfix_queue.h"
#include "core/store/store_email.h"
#include "core/store/store_event.h"

struct conf;

/* Where Postfix has the message for a recipient. */
struct story_queue_entry {
	char *queue; /* as `deferred`; NULL: in none that was seen */
	char *queue_id;
	char *reason; /* why it was not delivered yet; "": not told */
	int64_t arrival_s;
};

struct story {
	const struct email *email; /* the caller's */
	int64_t now_us;
	struct recipients recipients; /* of those in the envelope */
	struct event_list events;
	struct queue_messages messages;
	struct story_queue_entry *entries; /* one for each status */
	struct log_state log;              /* what the store knows of recipients is as old */
	bool queue_seen;
	bool times_known;
	struct queue_times times;
};

/* Reads it; the email must live as long. With conf, Postfix is asked about an
 * email that is open: that runs programs of Postfix, and reads its whole queue.
 * What cannot be asked is no error. 0 or -1. */
int story_new(struct db *db, const struct conf *conf, const struct email *email, int64_t now_us,
	struct story **story_r, struct err *err);
void story_free(struct story *story);
DEFINE_CLEANUP(story, story_free)

/* Whether it went out, in a sentence that begins with the answer; of an email
 * that is open, where the news of the log are old, in a second one as of when;
 * a new string. */
char *story_answer(const struct story *story);
/* Whether more is to come. */
bool story_is_open(const struct story *story);
/* A test goes to nobody: it has no message. */
bool story_is_test(const struct story *story);
/* Postfix, or another milter, stopped it before postern-milter was asked. */
bool story_is_stopped(const struct story *story);

/* What happens next for a recipient that is open, in sentences; a new string,
 * NULL when nothing is known. */
char *story_next(const struct story *story, size_t i);
/* When Postfix tries the recipient again, and when it gives up; false when that
 * is not known. */
bool story_times(const struct story *story, size_t i, int64_t *retry_us_r, int64_t *end_us_r);

/* As `delivered`, `in Postfix's queue`. */
const char *story_status_words(enum delivery_status status);
/* The same of an event: as its status, or `taken by Postfix`. */
const char *story_event_words(enum event_kind kind);
/* How a message came to carry the email, as `requeued`. */
const char *story_message_words(enum message_how how);

#endif
