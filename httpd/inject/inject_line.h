/*
 * inject_line: the submissions that wait for their turn.
 *
 * First come, first served. One that has waited until its deadline gets
 * INJECT_TEMPORARY.
 */
#ifndef POSTERN_HTTPD_INJECT_LINE_H
#define POSTERN_HTTPD_INJECT_LINE_H

#include "httpd/inject/inject.h"

struct event_base;
struct inject_line;

/* turn is called in a round of the event loop of its own after something was
 * added or the line was woken: then the owner takes what it can serve. */
struct inject_line *inject_line_new(
	struct event_base *base, void (*turn)(void *arg), void *arg);
/* Nothing waits any more. */
void inject_line_free(struct inject_line *line);

/* To its end, for at most so long until the submission is through. */
void inject_line_add(struct inject_line *line, struct submission *submission,
	int64_t timeout_ms);
/* Back to its head, with the deadline that it has. */
void inject_line_add_again(
	struct inject_line *line, struct submission *submission);

/* The next; NULL when nobody waits. */
struct submission *inject_line_next(const struct inject_line *line);
/* The same, which then waits no longer. */
struct submission *inject_line_take(struct inject_line *line);

/* There is room: turn will be called. */
void inject_line_wake(struct inject_line *line);

/* Whoever waits, or is added from now on, gets INJECT_TEMPORARY. */
void inject_line_stop(struct inject_line *line);

/* How much of its time is left; at least 1. */
int64_t inject_line_left_ms(const struct submission *submission);

/* Ends a submission because the server is stopping. */
void inject_line_give_up(
	struct submission *submission, enum inject_result result);

#endif
