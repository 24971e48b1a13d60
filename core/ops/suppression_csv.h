/*
 * suppression_csv: suppression lists as CSV files (RFC 4180): a row of column names, then a row for
 * each entry.
 */
#ifndef POSTERN_OPS_SUPPRESSION_CSV_H
#define POSTERN_OPS_SUPPRESSION_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/strv.h"
#include "core/ops/op_suppression.h"
#include "core/store/company/store_suppression.h"

struct suppression_csv {
	struct op_suppression *items; /* members whose cell is missing or empty are NULL */
	size_t n;
	struct strv texts; /* the texts that the items point to */
};

/* The columns are address (or email), reason (or origin), domain, code, error (or text, message),
 * tags, created_at; others are ignored. domains: an address may be a domain, also in the column
 * domain. ERR_INVALID names the line. The caller clears csv_r. */
int suppression_csv_read(
	const char *text, size_t len, bool domains, struct suppression_csv *csv_r, struct err *err);
void suppression_csv_clear(struct suppression_csv *csv);

/* Returns when an entry was made, in microseconds since 1970, from a date of ISO 8601 or RFC 5322;
 * 0 for NULL and whatever else. */
int64_t suppression_created(const char *text);

/* Append the line of column names, and the line of an entry. */
void suppression_csv_head(struct buf *out);
void suppression_csv_add(struct buf *out, const struct suppression *suppression);

#endif
