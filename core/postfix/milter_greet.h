/*
 * milter_greet: whether postern-milter answers, as Postfix would ask it.
 */
#ifndef POSTERN_POSTFIX_MILTER_GREET_H
#define POSTERN_POSTFIX_MILTER_GREET_H

/* Opens a session on the Unix-domain socket, agrees on the options of the
 * milter protocol, and leaves. Blocks for timeout_ms at most, more or less.
 * Returns 0, or an errno: that of connecting, ETIMEDOUT when nothing is
 * answered in time, EPROTO when what answers is no milter. */
int milter_greet(const char *path, int timeout_ms);

#endif
