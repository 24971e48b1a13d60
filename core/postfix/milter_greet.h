/*
 * milter_greet: checks if postern-milter answers, as Postfix would ask it.
 */
#ifndef POSTERN_POSTFIX_MILTER_GREET_H
#define POSTERN_POSTFIX_MILTER_GREET_H

/* Opens a milter session on the Unix-domain socket, negotiates options and quits. Blocks for
 * about timeout_ms at most. Returns 0, or an errno: that of connecting, ETIMEDOUT if there is
 * no answer in time, EPROTO if the peer is not a milter. */
int milter_greet(const char *path, int timeout_ms);

#endif
