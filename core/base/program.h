/*
 * program: runs other programs without a shell.
 */
#ifndef POSTERN_BASE_PROGRAM_H
#define POSTERN_BASE_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum {
	PROGRAM_OUTPUT_MAX = 1024 * 1024,
	PROGRAM_COMPLAINTS_MAX = 16 * 1024 * 1024,
};

/* Runs argv (ended by NULL; argv[0] is a path, or searched in PATH) without a shell and without
 * input, and appends its standard output to output_r. Blocks until it ends. Errors:
 * ERR_NOT_FOUND if it prints nothing and exits with status 1, as look-up programs do;
 * ERR_CONFIG if there is no such program or it exits with another status (the text has the last
 * line of its standard error; output may have been appended); ERR_TEMPORARY if it takes longer
 * than timeout_ms and is killed, or cannot be run now; ERR_TOO_LARGE if it prints more than
 * PROGRAM_OUTPUT_MAX. */
int program_output(char *const *argv, int64_t timeout_ms, struct buf *output_r, struct err *err);

/* Starts argv with these files as standard input, output and error; -1 stands for /dev/null. It
 * inherits no other descriptors, except those without FD_CLOEXEC. Returns 0 and the process id,
 * for which program_end() must be called, or -1 with the errors of program_output(). */
int program_start(char *const *argv, const int files[static 3], pid_t *pid_r, struct err *err);

/* Waits for a program to end. If it takes too long, it is killed: ERR_TEMPORARY. Returns 0 with
 * the status of waitpid(), or -1. */
int program_end(pid_t pid, const char *name, int64_t timeout_ms, int *status_r, struct err *err);

/* Creates a file in memory for the input or output of a program. The caller closes it. */
int program_file(const char *name, struct err *err);
/* The same for the standard error of a program. Writing more than PROGRAM_COMPLAINTS_MAX to it
 * fails. The written part ends at the file offset (SEEK_CUR). */
int program_complaints(struct err *err);
/* Returns the last line of it, which says why a program failed; "" if there is none. The caller
 * frees it. */
char *program_last_line(int complaints);

#endif
