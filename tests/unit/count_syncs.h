/*
 * count_syncs: how often the program has asked the disk to keep a file.
 */
#ifndef POSTERN_TESTS_COUNT_SYNCS_H
#define POSTERN_TESTS_COUNT_SYNCS_H

#include <stdbool.h>

/* Calls of fdatasync() so far, of all threads. */
int count_syncs(void);

/* From now on they fail with EIO. */
void count_syncs_fail(bool fail);

#endif
