/*
 * email_story: what became of an email, told to people and to programs.
 *
 * A story is what the store knows, and for what is still under way what
 * Postfix's queue and settings say. All text of remote servers is made visible.
 */
#ifndef POSTERN_CLI_EMAIL_STORY_H
#define POSTERN_CLI_EMAIL_STORY_H

#include "cli/cmd.h"
#include "core/base/buf.h"
#include "core/store/store_email.h"
#include "core/store/store_event.h"

struct email_story;

/* The email must live as long as the story. Whether Postfix is asked what comes
 * next is said by ask. */
int email_story_new(const struct call *call, const struct email *email,
	bool ask, struct email_story **story_r, struct err *err);
void email_story_free(struct email_story *story);
DEFINE_CLEANUP(email_story, email_story_free)

/* Whether it went out, in a sentence that begins with the answer. */
char *email_story_answer(const struct email_story *story);
/* Whether more is to come. */
bool email_story_is_open(const struct email_story *story);

/* Appends the recipients, with what happens next, and what happened, in order;
 * in lines of width columns. */
void email_story_print(
	const struct email_story *story, size_t width, struct buf *out);
/* The same as rows, for two columns of a report. */
void email_story_report(const struct email_story *story, struct report *report,
	size_t recipients, size_t events);

/* One event, with its email's id unless that is clear; as a row and as lines. */
extern const struct column email_event_columns[];
void email_event_report(const struct event *event, struct report *report);
void email_event_print(const struct event *event, bool with_email, size_t width,
	struct buf *out);

#endif
