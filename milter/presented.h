/*
 * presented: emails by sendmail(1) whose message Postfix presents again after the record.
 *
 * Either cleanup(8) died before its queue file was complete, and the message is needed, or
 * pickup(8) died behind that, and it would be delivered twice. Postfix's log tells which, but
 * postern-events reads it a moment later. So the message waits for a while. The maildrop keeps it,
 * and pickup(8) presents it once a minute, more often while other messages arrive.
 *
 * The table is in memory only: after a restart of the milter the wait begins anew.
 */
#ifndef POSTERN_MILTER_PRESENTED_H
#define POSTERN_MILTER_PRESENTED_H

#include <stdbool.h>
#include <stdint.h>

struct presented;

enum {
	PRESENTED_WAIT_S = 10,
	PRESENTED_FORGET_S = 600, /* a message that comes after this is new again */
	PRESENTED_MAX = 256,      /* emails; beyond it the oldest is forgotten */
};

/* The caller frees it with presented_free(). */
struct presented *presented_new(void);
void presented_free(struct presented *presented);

/* True if the message has to wait: its email is not in the table, or was first presented again less
 * than PRESENTED_WAIT_S ago. now_us is of a monotonic clock. Thread-safe. */
bool presented_again(struct presented *presented, const char *email_id, int64_t now_us);

#endif
