/*
 * postfix_run: tells one run of Postfix, from its start to its end, from
 * another.
 *
 * What Postfix had accepted, but not yet put into its queue, is lost with the
 * run; within one, it only is when a process of Postfix is killed. By SMTP the
 * milter's record comes before the queue file. So until Postfix has said 250,
 * the row of an email whose request may come again names the run in which it
 * was submitted, and counts as sent in that run alone.
 */
#ifndef POSTERN_POSTFIX_POSTFIX_RUN_H
#define POSTERN_POSTFIX_POSTFIX_RUN_H

#include <stdbool.h>

enum { POSTFIX_RUN_SIZE = 80 };

/* Threads: any, for all functions but new and free. */
struct postfix_run *postfix_run_new(void);
void postfix_run_free(struct postfix_run *run);

/* Where Postfix's queue is, for all later questions. */
void postfix_run_watch(struct postfix_run *run, const char *queue_directory);

/* The name of the present run: when the system was booted and when Postfix was
 * started. "", which equals no run, when Postfix is stopped, or its queue
 * cannot be seen. */
void postfix_run_name(struct postfix_run *run, char name_r[static POSTFIX_RUN_SIZE]);

/* Whether Postfix is surely stopped; not so where that cannot be seen. */
bool postfix_run_is_over(struct postfix_run *run);

#endif
