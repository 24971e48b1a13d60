/*
 * doctor_results: the results of the last `postern doctor`, in a file beside the database.
 *
 * Only root can see everything that doctor checks. So runs by root write the file, and httpd, which
 * never runs as root, shows it.
 */
#ifndef POSTERN_OPS_DOCTOR_RESULTS_H
#define POSTERN_OPS_DOCTOR_RESULTS_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/err.h"

/* Replaces the previous results atomically. results is an array of objects with check, result, text
 * and safe, and optionally means and mend; the function takes ownership. root owns the file, and
 * the group of the database's folder may read it. Returns 0 or -1. */
int doctor_results_write(const char *database, int64_t now_us, json_t *results, struct err *err);

/* Returns an object with `looked_at`, a time as in all answers, or null if doctor has never run,
 * and `results`, the array. A damaged file counts as none. */
json_t *doctor_results_read(const char *database);

#endif
