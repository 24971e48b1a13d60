/*
 * child: a program that is run with some bytes as its standard input.
 *
 * No shell, nothing inherited but standard input, output and error; a process
 * group of its own, so that a signal to ours does not end it. Reaped from the
 * event loop, by way of a pidfd.
 */
#ifndef POSTERN_HTTPD_INJECT_CHILD_H
#define POSTERN_HTTPD_INJECT_CHILD_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct child;
struct event_base;

struct child_spec {
	char *const *argv;       /* ended by NULL; argv[0] is a path */
	const struct buf *input; /* read by child_start() alone */
	int64_t timeout_ms;      /* then it is killed */
	/* The end: status as waitpid() has it; errors is the beginning of what
	 * it wrote to standard error, and lives for the call. Frees the child
	 * when it returns. */
	void (*done)(void *arg, int status, const char *errors);
	void *arg;
};

/* 0, or -1 when the program was not run, or 1 when it was and had to be killed
 * at once: nobody knows what it has done. err tells why in both cases, and done
 * is not called. */
int child_start(struct event_base *base, const struct child_spec *spec,
	struct child **child_r, struct err *err);

/* Kills and reaps it; done is not called. */
void child_kill(struct child *child);

#endif
