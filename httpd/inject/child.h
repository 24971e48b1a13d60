/*
 * child: a program that httpd talks to over its standard input and output.
 *
 * It is run without a shell, and inherits no descriptor but these and standard
 * error. It has a process group of its own, so a signal to ours does not end
 * it.
 */
#ifndef POSTERN_HTTPD_INJECT_CHILD_H
#define POSTERN_HTTPD_INJECT_CHILD_H

#include "core/base/err.h"

struct child;

/* Runs argv, which ends with NULL; argv[0] is a path. Its standard input and
 * output are one socket. *fd_r is our end, non-blocking; the caller closes it.
 * ERR_CONFIG if there is no such program, or this user may not run it. */
int child_start(char *const *argv, int *fd_r, struct child **child_r, struct err *err);

/* The last 512 bytes at most of what it wrote to standard error since the
 * previous call, on one line. A new string, or NULL if it wrote nothing. */
char *child_said(struct child *child);

/* Kills its process group and reaps it. A program may have exited before, when
 * either side closed the socket. NULL is fine. */
void child_end(struct child *child);

#endif
