/*
 * prober: tests by itself whether emails go out.
 *
 * At intervals (submission.probe_interval) it submits a message to Postfix as
 * emails are submitted, to a ticket of no email (store_probe). The milter notes
 * that it was asked, and nobody gets the message. So a fault that stops emails,
 * or bypasses the rules, is noticed before a client meets it. A probe starts at
 * once when Postfix was started or reloaded, main.cf or master.cf were changed,
 * or the milter's socket was made anew.
 *
 *	look (pool)       does Postfix run, does the milter answer, what does
 *	                  main.cf say? If that shows the fault already, nothing
 *	                  is submitted, so that nothing waits in the maildrop
 *	add (committer)   the ticket
 *	submit            the message
 *	watch             until the milter was asked, or the deadline
 *	log, meanwhile    what postern-events has read of the message: that the
 *	                  queue manager has it, or how it was stopped
 *
 * One probe is under way at a time. probe_report.h says what the results mean.
 */
#ifndef POSTERN_HTTPD_SEND_PROBER_H
#define POSTERN_HTTPD_SEND_PROBER_H

#include <stdbool.h>

struct conf;
struct prober;
struct worker;

/* True if Postfix would send emails to another host without asking the milter. False if its
 * settings cannot be read. Blocks. Before there is a prober, which calls outbox_withhold() from
 * then on. */
bool prober_tickets_leave(const struct conf *conf);

/* Makes the prober of one worker. It runs on that worker's thread and submits
 * by its injector. */
struct prober *prober_new(struct worker *worker);
/* It must be idle. NULL is fine. */
void prober_free(struct prober *prober);

/* Call it often: starts a probe that is due, and follows the one under way. */
void prober_look(struct prober *prober);
/* True if no probe is under way; none starts while the worker drains. True for
 * NULL. */
bool prober_is_idle(const struct prober *prober);

#endif
