/*
 * postfix_run: identifies a run of Postfix, from its start to its end.
 *
 * A message that Postfix has accepted but not yet put into its queue is lost when the run ends;
 * during a run it is lost only if a process of Postfix is killed. With SMTP, the milter's
 * record comes before the queue file. So until Postfix has replied 250, the row of an email
 * whose request may be repeated names the run of its submission, and counts as sent only during
 * that run.
 */
#ifndef POSTERN_POSTFIX_POSTFIX_RUN_H
#define POSTERN_POSTFIX_POSTFIX_RUN_H

#include <stdbool.h>

enum { POSTFIX_RUN_SIZE = 80 };

/* Thread-safe, except for new and free. */
struct postfix_run *postfix_run_new(void);
void postfix_run_free(struct postfix_run *run);

/* Sets Postfix's queue directory for all later calls. */
void postfix_run_watch(struct postfix_run *run, const char *queue_directory);

/* Writes the name of the current run: the boot id and the time when Postfix was started. "",
 * which matches no run, if Postfix is stopped or its queue directory is inaccessible. */
void postfix_run_name(struct postfix_run *run, char name_r[static POSTFIX_RUN_SIZE]);

/* True if Postfix is certainly stopped; false if that is unknown. */
bool postfix_run_is_over(struct postfix_run *run);

#endif
