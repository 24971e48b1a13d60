/*
 * postfix_run: tells one run of the system, and of Postfix on it, from another.
 *
 * What Postfix had accepted, but not yet put into its queue, is gone in the
 * next run; within one, it only is when a part of Postfix is killed.
 */
#ifndef POSTERN_POSTFIX_POSTFIX_RUN_H
#define POSTERN_POSTFIX_POSTFIX_RUN_H

enum { POSTFIX_RUN_SIZE = 80 };

struct postfix_run *postfix_run_new(void);
void postfix_run_free(struct postfix_run *run);

/* Where Postfix's queue is, for what is asked from now on. */
void postfix_run_watch(struct postfix_run *run, const char *queue_directory);

/* The name of the present run: the boot, and which process Postfix's master is.
 * "" when none is alive, or none can be seen: equals no run. */
void postfix_run_name(
	struct postfix_run *run, char name_r[static POSTFIX_RUN_SIZE]);

#endif
