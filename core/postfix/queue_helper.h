/*
 * queue_helper: privilege separation for work on Postfix's queue. The process forks. The parent
 * keeps root's rights: it has postqueue(1) list the queue, and reads the header of, releases or
 * removes messages in the hold queue. The child runs as an ordinary user and does everything else:
 * database, mail syntax, the milter's replies. An intruder in the child can request only these
 * four operations.
 */
#ifndef POSTERN_POSTFIX_QUEUE_HELPER_H
#define POSTERN_POSTFIX_QUEUE_HELPER_H

#include <stdbool.h>

#include "core/base/err.h"
#include "core/base/strv.h"
#include "core/postfix/postfix_queue.h"

struct conf;

/* Forks this process, which must run as root. Returns only in the child, which has become the user
 * who owns the folder, with the socket to the parent. The parent passes SIGTERM and SIGINT on
 * to the child as SIGTERM, and exits with the child's exit status. Without the right to send the
 * child a signal it exits at once, which the child sees (queue_helper_has_ended()). Both ignore
 * SIGHUP. Returns 0, or -1 if the folder does not exist or the child cannot drop its rights. */
int queue_helper_start(const struct conf *conf, const char *folder, int *helper_r, struct err *err);

/* True if the process with root's rights has ended. The other one ends as well then. */
bool queue_helper_has_ended(int helper);

/* Like postfix_queue_list_start() and _end(), for all queues. Some configurations of Postfix show
 * the queue to root alone. */
int queue_helper_list_start(int helper, int *lines_r, struct err *err);
int queue_helper_list_end(int helper, struct err *err);
/* Like postfix_queue_read() of a header, and postfix_queue_change(), for messages in the hold
 * queue. */
int queue_helper_read(int helper, const char *id, int *file_r, struct err *err);
int queue_helper_change(int helper, enum queue_change change, const struct strv *ids,
	struct strv *done_r, struct err *err);

#endif
