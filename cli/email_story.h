/*
 * email_story: what became of an email, as the command prints it. All text of
 * remote servers is made visible.
 */
#ifndef POSTERN_CLI_EMAIL_STORY_H
#define POSTERN_CLI_EMAIL_STORY_H

#include "cli/cmd.h"
#include "core/base/buf.h"
#include "core/story/story.h"

/* Appends the recipients, with what happens next, and what happened, in order;
 * in lines of width columns. */
void email_story_print(const struct story *story, size_t width, struct buf *out);
/* The same as rows, for two columns of a report. */
void email_story_report(
	const struct story *story, struct report *report, size_t recipients, size_t events);

/* One event, with its email's id unless that is clear; as a row and as lines. */
extern const struct column email_event_columns[]; /* of struct email_event */
void email_event_print(
	const struct email_event *event, bool with_email, size_t width, struct buf *out);

#endif
