/*
 * prober: tries by itself whether emails go out.
 *
 * Now and then (submission.probe_interval) a message goes into Postfix by the
 * way that emails go, to a ticket of no email (store_probe). The milter notes
 * that it was asked, and nobody gets the message. So a fault that stops emails,
 * or takes the rules out of force, is known before a client meets it. A probe
 * is sent at once when Postfix was started or reloaded, main.cf or master.cf
 * were changed, or the milter's socket was made anew.
 *
 *	look (pool)       does Postfix run, does the milter answer, what does
 *	                  main.cf say? Where that says enough nothing is
 *	                  submitted, so that nothing waits in the maildrop
 *	add (committer)   the ticket
 *	submit            the message
 *	watch             until the milter was asked, or the time is up
 *	log, meanwhile    what postern-events has read of the message: that the
 *	                  queue manager has it, or how it was stopped
 *
 * One probe is under way at a time. What it means is in probe_report.h.
 */
#ifndef POSTERN_HTTPD_SEND_PROBER_H
#define POSTERN_HTTPD_SEND_PROBER_H

#include <stdbool.h>

struct prober;
struct worker;

/* Of one worker, by whose injector it submits; on its thread. */
struct prober *prober_new(struct worker *worker);
/* It is idle. NULL is fine. */
void prober_free(struct prober *prober);

/* To be called often: begins what is due, and looks at what is under way. */
void prober_look(struct prober *prober);
/* Nothing is under way, nor will be begun once the worker drains. NULL is. */
bool prober_is_idle(const struct prober *prober);

#endif
