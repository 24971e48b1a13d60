/*
 * program: runs another program, without a shell.
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

/* Runs argv (ended by NULL; argv[0] is a path, or searched in PATH) without a
 * shell and without input, and appends its standard output to output_r. Blocks
 * until its end. Fails with
 * ERR_NOT_FOUND when it ends with status 1 without a word, as programs do that
 * look something up;
 * ERR_CONFIG when there is no such program, or it ends with another status; the
 * text has the last line of its standard error (output may have been added);
 * ERR_TEMPORARY when it takes longer than the time and is killed, or cannot be
 * run now;
 * ERR_TOO_LARGE when it prints more than PROGRAM_OUTPUT_MAX. */
int program_output(char *const *argv, int64_t timeout_ms, struct buf *output_r, struct err *err);

/* Starts argv with these files as its standard input, output and error; -1
 * stands for /dev/null. It inherits nothing else but what has no FD_CLOEXEC. 0
 * with its process id, which program_end() has to wait for, or -1 with the
 * errors of program_output(). */
int program_start(char *const *argv, const int files[static 3], pid_t *pid_r, struct err *err);

/* Waits for the end of a program; one that takes longer is killed, and then
 * ERR_TEMPORARY. 0 and the status as waitpid() has it, or -1. */
int program_end(pid_t pid, const char *name, int64_t timeout_ms, int *status_r, struct err *err);

/* A file in memory, for what a program reads or prints. The caller closes it. */
int program_file(const char *name, struct err *err);
/* The same for the standard error of a program: writing more than
 * PROGRAM_COMPLAINTS_MAX to it fails. What was written ends where the program
 * is in it (SEEK_CUR). */
int program_complaints(struct err *err);
/* The last line of them, which says why a program failed; "" for none. A new
 * string. */
char *program_last_line(int complaints);

#endif
