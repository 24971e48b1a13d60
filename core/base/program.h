/*
 * program: runs another program and collects what it prints.
 */
#ifndef POSTERN_BASE_PROGRAM_H
#define POSTERN_BASE_PROGRAM_H

#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum { PROGRAM_OUTPUT_MAX = 1024 * 1024 };

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
int program_output(char *const *argv, int64_t timeout_ms, struct buf *output_r,
	struct err *err);

#endif
