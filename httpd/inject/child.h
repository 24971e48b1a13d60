/*
 * child: a program that is spoken with over its standard input and output.
 *
 * No shell, nothing inherited but these and standard error; a process group of
 * its own, so that a signal to ours does not end it.
 */
#ifndef POSTERN_HTTPD_INJECT_CHILD_H
#define POSTERN_HTTPD_INJECT_CHILD_H

#include "core/base/err.h"

struct child;

/* Runs argv, which ends with NULL and whose first one is a path. Its standard
 * input and output are one socket, of which *fd_r is our end: it does not
 * block, and the caller closes it. ERR_CONFIG when there is no such program, or
 * this user may not run it. */
int child_start(char *const *argv, int *fd_r, struct child **child_r, struct err *err);

/* The end of what it has written to standard error since it was last asked, on
 * one line; a new string, NULL when there is nothing. */
char *child_said(struct child *child);

/* Kills it, with what it has started, and reaps it. One that has seen its
 * socket closed, or has closed it, may have ended by itself. NULL is fine. */
void child_end(struct child *child);

#endif
