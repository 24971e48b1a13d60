/*
 * queue_helper: a process of two halves. The one keeps the rights of root. It has postqueue(1)
 * list Postfix's queue, and does three things with messages that are on hold there: it reads a
 * header, it releases, it removes. The other one has the rights of an ordinary user, and does all
 * else: the database, the syntax of mail, the milter's answers. Whoever takes over that half has
 * no more than this.
 */
#ifndef POSTERN_POSTFIX_QUEUE_HELPER_H
#define POSTERN_POSTFIX_QUEUE_HELPER_H

#include "core/base/err.h"
#include "core/base/strv.h"
#include "core/postfix/postfix_queue.h"

struct conf;

/* Divides this process, which root runs. It returns in the half without rights, as the user who
 * owns the folder, with the socket at which the other half listens; that half ends the process
 * with the exit status of this one, to which it passes SIGTERM, SIGINT and SIGHUP on. 0 or -1:
 * the folder is not there, or the rights cannot be given up. */
int queue_helper_start(const struct conf *conf, const char *folder, int *helper_r, struct err *err);

/* As postfix_queue_list_start() and _end(): of all queues, since Postfix shows some configurations
 * to root alone. */
int queue_helper_list_start(int helper, int *lines_r, struct err *err);
int queue_helper_list_end(int helper, struct err *err);
/* As postfix_queue_read() of a header, and postfix_queue_change(), for messages on hold. */
int queue_helper_read(int helper, const char *id, int *file_r, struct err *err);
int queue_helper_change(int helper, enum queue_change change, const struct strv *ids,
	struct strv *done_r, struct err *err);

#endif
