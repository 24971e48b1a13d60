/*
 * reader: reads a source and stores what its lines say in one transaction with the read
 * position. If the process is killed, nothing is lost or stored twice.
 *
 * Threads: one.
 */
#ifndef POSTERN_EVENTS_READER_H
#define POSTERN_EVENTS_READER_H

#include "core/base/log.h"
#include "core/db/db.h"
#include "events/source.h"
#include "events/tracker.h"

struct reader;

struct reader_setup {
	struct db *db; /* DB_WRITE */
	struct log *log;
	const struct source_location *location;
	const char *config_dir;               /* of Postfix; "" for the default */
	struct suppression_terms suppression; /* its codes must outlive the reader */
};

int reader_new(const struct reader_setup *setup, struct reader **reader_r, struct err *err);
void reader_free(struct reader *reader);
DEFINE_CLEANUP(reader, reader_free)

/* Reads and stores a batch. Returns 1 if there may be more, 0 at the end, -1 on error; the next
 * call continues from the stored position. */
int reader_round(struct reader *reader, struct err *err);

/* The number of lines that the last round read. */
size_t reader_lines(const struct reader *reader);

/* True if lines may have been lost since the last call. */
bool reader_had_gap(struct reader *reader);

const struct tracker_counts *reader_counts(const struct reader *reader);

#endif
