/*
 * reader: reads a source, and stores what its lines say together with how far
 * it came, in one transaction: a reader that is killed loses and doubles
 * nothing.
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
	const char *config_dir;               /* of Postfix; "" for its default */
	struct suppression_terms suppression; /* its codes live as long as the reader */
};

int reader_new(const struct reader_setup *setup, struct reader **reader_r, struct err *err);
void reader_free(struct reader *reader);
DEFINE_CLEANUP(reader, reader_free)

/* Reads and stores a batch: 1 and there may be more, 0 when all was read, -1:
 * the next call goes on from what was stored. */
int reader_round(struct reader *reader, struct err *err);

/* How many lines the last round read. */
size_t reader_lines(const struct reader *reader);

/* Whether lines may have been lost since this was asked last. */
bool reader_had_gap(struct reader *reader);

const struct tracker_counts *reader_counts(const struct reader *reader);

#endif
