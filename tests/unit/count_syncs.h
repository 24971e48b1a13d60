/*
 * count_syncs: how often the program has asked the disk to keep a file.
 */
#ifndef POSTERN_TESTS_COUNT_SYNCS_H
#define POSTERN_TESTS_COUNT_SYNCS_H

#include <stdbool.h>
#include <stdint.h>

/* Calls of fdatasync() so far, of all threads. */
int count_syncs(void);

/* The size of the write-ahead log of SQLite when it was last synced: what is left of it after a
 * power loss, unless the log has started over since. */
int64_t count_syncs_log_size(void);

/* From now on they fail with EIO. */
void count_syncs_fail(bool fail);

#endif
