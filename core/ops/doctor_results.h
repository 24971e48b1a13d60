/*
 * doctor_results: what `postern doctor` found last, in a file beside the database.
 *
 * Only root sees all that it looks at, so root's runs write the file, and httpd, which
 * never is root, shows it.
 */
#ifndef POSTERN_OPS_DOCTOR_RESULTS_H
#define POSTERN_OPS_DOCTOR_RESULTS_H

#include <jansson.h>
#include <stdint.h>

#include "core/base/err.h"

/* Puts the results in the place of the last ones, all at once: an array of objects
 * with check, result, text and safe, and where they have them means and mend. The
 * file is root's, and the group of the database's folder may read it. The array is
 * taken over. */
int doctor_results_write(const char *database, int64_t now_us, json_t *results, struct err *err);

/* An object with `looked_at`, a time as in all answers, or null when nobody has looked
 * yet, and `results`, the array. A file that is damaged counts as none. */
json_t *doctor_results_read(const char *database);

#endif
